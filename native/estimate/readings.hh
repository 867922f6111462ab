// The readings of one event, each with what the fixed counters said around it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gnomon::estimate {

// Rows of context kept with a reading: two before, one before, its own, one after.
constexpr size_t kContext = 4;
enum Context : size_t { kBeforeLast = 0, kBefore = 1, kHere = 2, kAfter = 3 };

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A row whose value is wanted, or was read.
struct Place {
    int64_t row = 0;
    int64_t rotation = 0;
    int64_t rotation_rows = 0;  // how many rows the rotation before had, 0 if it is the first
    std::vector<double> fixed;  // counts of the fixed counters in the row
    std::vector<double> logs;   // kContext x fixed counters, logarithms, NaN where not known
};

// What was read, a column a property, so that searches run along columns.
struct Readings {
    explicit Readings(size_t fixed_count)
        : fixed_count(fixed_count), fixed(fixed_count), logs(kContext * fixed_count) {}

    size_t size() const { return rows.size(); }

    void add(const Place& place, double value) {
        rows.push_back(place.row);
        rotations.push_back(place.rotation);
        rotation_rows.push_back(place.rotation_rows);
        values.push_back(value);
        surprises.push_back(0);
        shares.push_back(0);
        for (size_t f = 0; f < fixed.size(); ++f) fixed[f].push_back(place.fixed[f]);
        for (size_t c = 0; c < logs.size(); ++c) logs[c].push_back(place.logs[c]);
    }

    // How far the newest reading is from the one before it; there must be both.
    double last_change() const { return std::abs(values.back() - values[size() - 2]); }

    // What the fixed counters said one row after the newest reading, if that is `row`.
    void learn_after(int64_t row, const double* next) {
        if (rows.empty() || rows.back() != row - 1) return;
        for (size_t f = 0; f < fixed_count; ++f) logs[kAfter * fixed_count + f].back() = next[f];
    }

    // Forget the oldest; at most twice as many are kept, so that moving them costs little.
    void keep_newest(size_t count) {
        if (size() < 2 * count) return;
        const size_t drop = size() - count;
        const auto shorten = [drop](auto& column) {
            column.erase(column.begin(), column.begin() + drop);
        };
        shorten(rows);
        shorten(rotations);
        shorten(rotation_rows);
        shorten(values);
        shorten(surprises);
        shorten(shares);
        for (auto& column : fixed) shorten(column);
        for (auto& column : logs) shorten(column);
    }

    Place place(size_t i) const {
        Place place{rows[i], rotations[i], rotation_rows[i], {}, {}};
        for (const auto& column : fixed) place.fixed.push_back(column[i]);
        for (const auto& column : logs) place.logs.push_back(column[i]);
        return place;
    }

    size_t fixed_count;
    std::vector<int64_t> rows;
    std::vector<int64_t> rotations;
    std::vector<int64_t> rotation_rows;
    std::vector<double> values;
    std::vector<double> surprises;  // from 0, as foreseen, to 1, unlike anything before
    std::vector<double> shares;     // of linear scaling in estimates of the reading's rotation
    std::vector<std::vector<double>> fixed;
    std::vector<std::vector<double>> logs;  // kContext x fixed counters
};

// Which readings may be used for an estimate: from `first` to before `last`, but not those from
// `hidden` to before `shown`. Guesses by time look at every `stride`-th before `until` only.
struct Allowed {
    size_t first;
    size_t last;
    size_t hidden = SIZE_MAX;
    size_t shown = SIZE_MAX;
    size_t until = SIZE_MAX;
    size_t stride = 1;

    bool hides(size_t i) const { return i >= hidden && i < shown; }
};

}  // namespace gnomon::estimate
