// A Kalman filter of very many counters that share a few causes.
//
// The covariance is U M U^T + D, with few columns in U and a diagonal D. A scalar reading
// keeps that form exactly; time adds the columns of the increments' covariance L L^T, and the
// directions of least variance then go to D, so that every variance stays exact and only
// covariances are cut. A tick costs count * rank^2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::kalman {

class LowRankFilter {
  public:
    // All counters forget at the one rate `beta`; 0 makes random walks.
    LowRankFilter(size_t count, size_t factors, size_t rank, double beta);

    size_t size() const { return count_; }
    size_t factors() const { return factors_; }
    // loadings: count x factors. Increments (per second for walks, else of the stationary
    // process) have the covariance loadings * loadings^T + diag(own).
    void describe(const double* loadings, const double* own, const double* noise);
    void place(const double* values, const double* variances);
    bool step(double dt, const int64_t* which, const double* values, size_t count);
    void reopen(size_t i, double value, double variance);
    void show(double* values, double* variances) const;
    void forecast(double dt, double* values, double* variances) const;
    void covariance(double* full) const;
    uint64_t invalid() const { return invalid_; }
    // What was known in each tick of a run, when it was over: later readings are not carried
    // back, which would need the covariances of all ticks.
    void smooth(const double* dt, const double* read, size_t ticks, double* values,
                double* variances) const;

  private:
    double row_variance(size_t i) const;
    void compress(double share);

    size_t count_, factors_, rank_;
    double beta_;
    uint64_t invalid_ = 0;
    std::vector<double> state_, own_, u_, m_;              // own_ is D
    std::vector<double> loadings_, own_increment_, noise_;
};

}  // namespace gnomon::kalman
