// Simple guesses of an unread count from the readings of its event: the experts of the mixture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "estimate/neighbours.hh"
#include "estimate/regression.hh"
#include "estimate/sightings.hh"

namespace gnomon::estimate {

struct Guess {
    double value;
    double weight;
};

// What half of the weight is below, and half above: the mean of the middle half of the weight.
double middle(std::vector<Guess>& guesses);

// The guesses of one way to carry a reading to another row.
enum Manner : size_t {
    kNearest, kBetween, kGaussMarkov, kForgetFast, kForget, kForgetSlow, kMedianInTime,
    kBegunMean, kBegunMedian, kAroundMean, kAroundMedian, kAroundMany, kWideMean, kWideMedian,
    kRatioMean, kRatioMedian, kKriged, kManners
};

// All experts, in an order that does not change: the manners of each way, then zero, then the
// regressions. Ways are: as it is, per count of a fixed counter, along the line of a regression.
class Experts {
  public:
    // `blind` when the fixed counters tell nothing of the state.
    explicit Experts(size_t fixed, bool blind);

    size_t count() const { return count_; }
    // Whether what an expert says grows old as readings do.
    bool by_time(size_t expert) const { return by_time_[expert] != 0; }
    // Its weight before there is a test, and the logarithm of what it gains as tests are made.
    double prior(size_t expert) const { return prior_[expert]; }
    double favour(size_t expert) const { return favour_[expert]; }
    // What has to be searched for these.
    Wanted wanted(size_t expert) const { return wanted_[expert]; }

    // The guesses of some experts, in the order of their numbers; the others are left as they are.
    void guess(const Sightings& sightings, const Neighbours& near, const Place& place,
               const std::vector<double>& values, const std::vector<double>& line,
               const std::vector<uint8_t>& asked, double* guesses);

    // No estimate is larger.
    static double cap(const Neighbours& near, const std::vector<double>& values);

  private:
    void ways(const Sightings&, const Neighbours&, const Place&, const std::vector<double>& values,
              const std::vector<double>& line, size_t way, const uint8_t* asked, double* guesses);

    size_t ways_, count_;
    std::vector<uint8_t> by_time_;
    std::vector<double> prior_, favour_;
    std::vector<Wanted> wanted_;
    std::vector<Guess> sorting_;
};

}  // namespace gnomon::estimate
