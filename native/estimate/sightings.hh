// When a set of events was read, and what the fixed counters said around each reading.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "estimate/rows.hh"

namespace gnomon::estimate {

// A column a property, so that searches run along columns. Events that were always read together
// share them, and all that is found by searching.
class Sightings {
  public:
    explicit Sightings(size_t fixed) : fixed(fixed), counts_(3 * fixed), logs_(kContexts * fixed) {}

    size_t size() const { return rows.size(); }

    void add(const Place& place) {
        if (!rows.empty()) {
            const double gap = static_cast<double>(place.row - rows.back());
            usual_gap = usual_gap == 0 ? gap : usual_gap + kFollowing * (gap - usual_gap);
        }
        ++seen;
        rows.push_back(place.row);
        rotations.push_back(place.rotation);
        for (size_t c = 0; c < counts_.size(); ++c) counts_[c].push_back(place.counts[c + fixed]);
        for (size_t c = 0; c < logs_.size(); ++c) logs_[c].push_back(place.logs[c]);
    }

    // What the fixed counters said in the row that has come.
    void learn_after(const Place& place) {
        for (size_t back = 1; back <= std::min<size_t>(2, size()); ++back) {
            const size_t at = size() - back;
            const int64_t gap = place.row - rows[at];
            if (gap != 1 && gap != 2) continue;
            for (size_t f = 0; f < fixed; ++f) {
                const size_t here = kHere * fixed + f;
                logs_[(kHere + gap) * fixed + f][at] = place.logs[here];
                if (gap == 1) counts_[2 * fixed + f][at] = place.counts[here];
            }
        }
    }

    // Forget the oldest; at most twice as many are kept, so that moving them costs little.
    size_t surplus(size_t wanted) const { return size() < 2 * wanted ? 0 : size() - wanted; }
    void forget(size_t oldest) {
        const auto shorten = [oldest](auto& column) {
            column.erase(column.begin(), column.begin() + oldest);
        };
        shorten(rows);
        shorten(rotations);
        for (auto& column : counts_) shorten(column);
        for (auto& column : logs_) shorten(column);
    }

    Place place(size_t i) const {
        Place place{rows[i], rotations[i], std::vector<double>(kContexts * fixed, kUnknown), {}};
        for (size_t c = 0; c < counts_.size(); ++c) place.counts[c + fixed] = counts_[c][i];
        for (const auto& column : logs_) place.logs.push_back(column[i]);
        return place;
    }

    // A fixed counter in the row of a reading, and the logarithms in a context of all of them.
    double count(size_t i, size_t f) const { return counts_[fixed + f][i]; }
    const double* counts(size_t f) const { return counts_[fixed + f].data(); }
    const float* logs(size_t context, size_t f) const { return logs_[context * fixed + f].data(); }
    bool knows(size_t context, size_t i) const {
        return fixed > 0 && !std::isnan(logs_[context * fixed][i]);
    }

    int64_t gap() const { return std::max<int64_t>(1, std::lround(usual_gap)); }

    size_t fixed;
    double usual_gap = 0;  // rows from one reading to the next
    size_t seen = 0;       // readings, those that were forgotten too
    std::vector<int64_t> rows;
    std::vector<int64_t> rotations;

  private:
    static constexpr double kFollowing = 0.05;

    std::vector<std::vector<double>> counts_;  // before, here and after, x fixed counters
    std::vector<std::vector<float>> logs_;     // kContexts x fixed counters
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
