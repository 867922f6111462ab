// Kalman filters of independent counters: a block of one or two states each.
//
// The blocks are stored as columns, and no matrix is ever made: what the dense filter does
// in n^3 steps takes n here, with the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::kalman {

// random_walk: the variance grows by beta (per second) in units of scale squared.
// gauss_markov: a value that forgets its distance from the mean at the rate beta.
// integrated: the value is the integral of a Gauss-Markov process.
enum class Kind { random_walk, gauss_markov, integrated };

// What is known about a counter. Values are mean + scale * state; noise is a variance.
struct Counter {
    double mean = 0, scale = 1, beta = 0, noise = 0;
};

struct Gate {
    double width = 0;      // in standard deviations of the innovation; 0 takes every reading
    unsigned patience = 1;  // how many in a row are refused before the covariance is opened
};

struct Tally {
    uint64_t refused = 0, reopened = 0, invalid = 0;
};

class BlockFilter {
  public:
    BlockFilter(Kind kind, size_t count, Gate gate);

    size_t size() const { return level_.size(); }
    Kind kind() const { return kind_; }
    const Tally& tally() const { return tally_; }
    const Counter& counter(size_t i) const { return counters_[i]; }

    // Give a counter other parameters; its value and its variance stay what they are.
    void describe(size_t i, const Counter& counter);
    // Set the value of a counter and its variance, and those of the derivative if it has one.
    void place(size_t i, double value, double variance, double slope, double slope_variance);

    // Let time pass for all counters. False, and no change, unless dt is finite and above zero.
    bool predict(double dt);
    // Take in readings of some counters. What is not finite counts as not read.
    void correct(const int64_t* which, const double* values, size_t count);
    // Values and variances as they are, or as they will be after some time.
    void show(double* values, double* variances) const;
    void forecast(double dt, double* values, double* variances) const;
    double value(size_t i) const { return counters_[i].mean + counters_[i].scale * level_[i]; }
    double variance(size_t i) const {
        return counters_[i].scale * counters_[i].scale * p11_[i];
    }
    double value_after(size_t i, double dt) const;
    // The block of a counter in units of its scale: level, slope, p11, p12, p22.
    void block(size_t i, double out[5]) const;

    // The smoothed values and variances of a run that begins in the present state, which is
    // kept: row t has what was read at the end of dt[t], NaN where nothing was.
    void smooth(const double* dt, const double* read, size_t ticks, double* values,
                double* variances) const;

  private:
    struct Block {
        double level, slope, p11, p12, p22;
    };
    Block at(size_t i) const;
    Block moved(const Block& from, double beta, double dt) const;
    bool admit(Block& block, double innovation, double noise, uint8_t& streak, Tally& tally) const;

    Kind kind_;
    Gate gate_;
    Tally tally_;
    std::vector<Counter> counters_;
    std::vector<double> beta_, level_, slope_, p11_, p12_, p22_;
    std::vector<uint8_t> streak_;
};

}  // namespace gnomon::kalman
