// Counters that move with others which are always read: coefficients learned on the way.
//
// Increments of each counter are regressed on those of the fixed ones over the same time.
// The covariance of increments is then B F B^T + D: F of the fixed counters, B the
// coefficients, D what they leave unexplained. Each counter has two filters of its own beside
// it: one to fall back on, and both to predict with, when the fixed counters are not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kalman/adaptive.hh"

namespace gnomon::kalman {

// Engine: JointFilter, or LowRankFilter for very many counters.
template <typename Engine>
class AdaptiveJoint {
  public:
    AdaptiveJoint(size_t fixed, size_t count, Scale scale, double memory);

    size_t size() const { return count_; }
    size_t fixed() const { return fixed_; }
    void push(double seconds, const double* fixed, const double* counts);
    // Flags of counters of which the fixed ones tell more than their own past.
    void trusted(double* flags) const;
    void widths(double* factors) const;
    void known(double* flags) const { alone_.known(flags); }
    uint64_t refused() const { return alone_.refused(); }
    // The shares of the walk in predictions; the rest returns to the mean.
    void shares(double* walk) const;
    const AdaptiveBlock& alone() const { return alone_; }
    const AdaptiveBlock& returning() const { return returning_; }

    // As of AdaptiveBlock, each counter by what is trusted of it. Rows have fixed and counts.
    void smooth(const AdaptiveJoint& now, const double* seconds, const double* fixed,
                const double* counts, size_t ticks, double* values, double* variances) const;

  private:
    struct State {
        Increments increments;
        Width width;
        Peak peak;
        double value = 0, since = 0, noise = 0, tests = 0, regressed = 0;
        double errors[2] = {0, 0}, squares[2] = {0, 0};  // alone, joint; walk, return
        bool known = false;
    };
    void learn_fixed(const std::vector<double>& fixed, double dt);
    void learn_ahead(size_t i, double rate, double dt);
    void take(size_t i, double value, double alone, const std::vector<double>& fixed);
    void regress(size_t i, double step, const double* moved);
    void describe(Engine& engine) const;
    bool is_trusted(size_t i) const;

    size_t fixed_, count_;
    Scale scale_;
    double memory_;
    Clock clock_;
    AdaptiveBlock alone_, returning_;
    Engine engine_;
    std::vector<State> counters_;
    std::vector<double> spread_, before_, at_;         // F; fixed before; fixed when last read
    std::vector<double> inner_, outer_, coefficients_;  // of the regressions
    std::vector<double> values_, variances_;
    double ticks_ = 0;
    size_t stale_ = 0;
};

}  // namespace gnomon::kalman
