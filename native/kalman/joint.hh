// A Kalman filter of counters that move together: a full covariance, a diagonal transition.
//
// A reading of one counter corrects all others. Readings are taken one after the other, as
// scalars, and the covariance is written once for time and readings together; only its lower
// half is kept, so it is symmetric by construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::kalman {

class JointFilter {
  public:
    // Random walks, or processes that forget at the rates `beta`, all above zero.
    JointFilter(size_t count, bool walks);

    size_t size() const { return count_; }
    bool walks() const { return walks_; }
    // `spread` (count x count) is the covariance of what drives them, per second.
    void describe(const double* beta, const double* spread, const double* noise);
    void place(const double* values, const double* covariance);
    // Let dt pass and take in readings. False, and time stands still, when dt is not above zero.
    bool step(double dt, const int64_t* which, const double* values, size_t count);
    // Begin anew with a counter, whatever was known about it.
    void reopen(size_t i, double value, double variance);
    void show(double* values, double* variances) const;
    void forecast(double dt, double* values, double* variances) const;
    void covariance(double* full) const;
    // What is predicted for a counter after dt, against which a reading can be tested.
    void expect(double dt, size_t i, double* value, double* variance) const;
    uint64_t invalid() const { return invalid_; }

    // Smoothed values and variances of a run that begins in the present state, which is kept.
    // Needs room for ticks * count^2 numbers.
    void smooth(const double* dt, const double* read, size_t ticks, double* values,
                double* variances) const;

  private:
    void age(double dt);
    void predicted_column(bool moves, double dt, size_t i, double* column) const;

    size_t count_;
    bool walks_;
    uint64_t invalid_ = 0;
    std::vector<double> beta_, spread_, noise_, state_, p_;
    std::vector<double> forgot_, kept_, gains_, sums_;
};

}  // namespace gnomon::kalman
