// Block filters that learn their parameters from the readings they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kalman/block.hh"
#include "kalman/learning.hh"

namespace gnomon::kalman {

class AdaptiveBlock {
  public:
    struct Options {
        Kind kind = Kind::random_walk;
        Scale scale = Scale::square_root;
        double memory = 60;
        Gate gate;
        // Sigma and beta of readings drive their derivative, as in the thesis.
        bool as_published = false;
    };

    AdaptiveBlock(size_t count, const Options& options);

    size_t size() const { return block_.size(); }
    // A process that is known beforehand is not learned: rates, and 1/s.
    void give(size_t i, double mean, double sigma, double beta, double noise = 0);
    // Let a tick pass; counts are NaN where nothing was read.
    void push(double seconds, const double* counts);
    // Values and variances on the scale of the filter, noise included, after some time.
    void forecast(double dt, double* values, double* variances) const;
    double value_after(size_t i, double dt) const;
    void widths(double* factors) const;
    void known(double* flags) const;
    bool is_known(size_t i) const { return counters_[i].known; }
    uint64_t refused() const { return refused_; }
    const Tally& tally() const { return tally_; }
    const Clock& clock() const { return clock_; }

    // The ticks of a run that begins in this state, with the parameters that `now` has.
    void smooth(const AdaptiveBlock& now, const double* seconds, const double* counts,
                size_t ticks, double* values, double* variances) const;

  private:
    struct State {
        Increments increments;
        Moments moments;
        Width width;
        double value = 0, since = 0, noise = 0;
        double given_mean = 0, given_sigma = 0, given_beta = 0, given_noise = 0;
        bool known = false, given = false;
        unsigned streak = 0;
    };
    void take(size_t i, double value);
    void describe(size_t i);

    Options options_;
    BlockFilter block_;
    Clock clock_;
    std::vector<State> counters_;
    uint64_t refused_ = 0;
    Tally tally_;
};

// Counts as rates on a scale, NaN where they are none.
std::vector<double> on_scale(Scale scale, const Clock& clock, const double* seconds,
                             const double* counts, size_t ticks, size_t columns,
                             std::vector<double>& lengths);

}  // namespace gnomon::kalman
