// Regressions of an event on the fixed counters, which forget.
#pragma once

#include <cstddef>
#include <vector>

#include "estimate/rows.hh"

namespace gnomon::estimate {

// Weighted mean and covariance of vectors, the older of which weigh less.
class Moments {
  public:
    explicit Moments(size_t width) : mean_(width, 0.0), squares_(width * width, 0.0) {}

    void add(const double* values);
    void fade(double by);
    void join(const Moments& other);

    // The weights of a ridge regression of the last value on the first `count` ones, then what is
    // added to them. The penalty is chosen by how much a first fit explains.
    void fit(size_t count, double* weights) const;

    double weight = 0;

  private:
    size_t width() const { return mean_.size(); }

    std::vector<double> mean_;
    std::vector<double> squares_;  // the lower triangle of a square matrix
};

// Kinds of a regression: the count on counts of the row; roots on roots; the rate on rates, where
// rates are per sum of the fixed counters; the count on counts of the row and its neighbours.
enum Kind : size_t { kLinear, kRoots, kRates, kAroundRow, kKinds };
constexpr double kForgetting[] = {0.9, 0.97, 0.995};
constexpr size_t kForgettings = 3;
constexpr size_t kRegressions = kForgettings * kKinds;
constexpr size_t kLine = 1 * kKinds + kLinear;  // the one along which readings are carried
constexpr size_t kMostTelling = 4;              // fixed counters that take part

inline size_t telling(size_t fixed) { return fixed < kMostTelling ? fixed : kMostTelling; }

// All regressions of one event.
class Regressions {
  public:
    explicit Regressions(size_t fixed);

    void add(const Place& place, double value);
    void fade();  // as much as a reading does, without one
    void join(const Regressions& other);
    void fit(std::vector<double>& weights) const;

    // What a regression says of a place.
    static double guess(size_t regression, const std::vector<double>& weights, const Place& place);
    // How much less the line says of a reading's row than of a place.
    static double slope(const std::vector<double>& weights, size_t f) {
        return weights[kLine * (3 * kMostTelling + 1) + f];
    }

  private:
    static constexpr size_t kStride = 3 * kMostTelling + 1;

    size_t telling_;
    std::vector<Moments> around_, roots_, rates_;  // one for each forgetting
};

}  // namespace gnomon::estimate
