// Rows of a run as the fixed counters tell them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gnomon::estimate {

// A row is known with the two rows before it and, when they have come, the two after it.
constexpr size_t kContexts = 5;
enum Context : size_t { kBefore2 = 0, kBefore = 1, kHere = 2, kAfter = 3, kAfter2 = 4 };

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

inline bool is_count(double value) { return std::isfinite(value) && value >= 0; }

// A row whose value is wanted, or was read.
struct Place {
    int64_t row = 0;
    int64_t rotation = 0;
    std::vector<double> counts;  // kContexts x fixed counters, NaN where not known
    std::vector<float> logs;     // their logarithms

    bool knows(size_t context) const { return !std::isnan(logs[context * width()]); }
    size_t width() const { return logs.size() / kContexts; }
    // The count in a context, or in the row itself where that is not known.
    double count(size_t context, size_t f) const {
        const double value = counts[context * width() + f];
        return std::isnan(value) ? counts[kHere * width() + f] : value;
    }
    void learn(size_t context, const Place& other) {
        for (size_t f = 0; f < width(); ++f) {
            counts[context * width() + f] = other.counts[kHere * width() + f];
            logs[context * width() + f] = other.logs[kHere * width() + f];
        }
    }
};

// The rows so far: what the fixed counters said, how much their logarithms usually vary, and how
// far apart they usually are in rows so many apart.
class Rows {
  public:
    explicit Rows(size_t fixed);

    // The next row; the rows after it come later. What is no count is as it was before.
    Place add(const double* fixed, bool ends_rotation);
    Place next() const;  // the row to come, of which nothing is known
    std::vector<float> spread() const;
    size_t fixed() const { return mean_.size(); }
    int64_t count() const { return row_; }

    // How far rows `gap` apart are from each other, in units of rows `usual` apart; at most 1.
    double apart(int64_t gap, int64_t usual) const;

    // The logarithms of a row, null when it is too long ago or not there yet.
    const float* logs(int64_t row) const;

    static constexpr int64_t kMostApart = 256;
    static constexpr int64_t kKept = 16384;

  private:
    std::vector<double> mean_, spread_, last_;
    std::vector<double> apart_;   // sums, by the rows between
    std::vector<float> history_;  // the last kKept rows, in a ring
    int64_t row_ = 0, rotation_ = 0;
};

}  // namespace gnomon::estimate
