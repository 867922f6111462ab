// Guesses of rows to come: what was read as many rows after states like the present one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "estimate/interval.hh"
#include "estimate/losses.hh"
#include "estimate/neighbours.hh"
#include "estimate/rows.hh"
#include "estimate/sightings.hh"

namespace gnomon::estimate {

constexpr int64_t kHorizons[] = {1, 2, 4, 8, 16, 32};  // rows ahead at which guesses are tested
constexpr size_t kHorizonCount = 6;

constexpr size_t kPasts = 3;  // notions of a state: the last row; the one before as well; ...
constexpr size_t kNearAhead[] = {5, 12, 30};
constexpr size_t kForetellers = 4 + kPasts * 3;

struct Forecast {
    double value;
    double size;
};

// What one event has lost, and how far it was off, at each horizon.
struct Foresight {
    Foresight() : losses(kHorizonCount, Losses(kForetellers)), intervals(kHorizonCount) {}

    std::vector<Losses> losses;
    std::vector<Interval> intervals;
};

// What was found of the state in a row: readings so many rows after others like it.
class Searcher {
  public:
    // Looks at readings up to a row; whether there are any.
    bool find(const Rows& rows, const Sightings& sightings, size_t memory, int64_t from,
              int64_t horizon, const std::vector<float>& spread);
    // The guess of each teller, and what they add up to.
    Forecast foretell(const std::vector<double>& values, const Losses& losses, double sharpness,
                      double enough);

    // The largest reading that was looked at.
    double largest(const std::vector<double>& values) const;

    std::vector<double> guesses;

  private:
    std::vector<Near> near_[kPasts];
    std::vector<float> distance_, first_;
    size_t first_reading_ = 0, last_reading_ = 0;
    std::vector<double> weights_;
};

// The last horizon that was tested and is not beyond so many rows.
size_t horizon_below(const Foresight& foresight, int64_t rows);

}  // namespace gnomon::estimate
