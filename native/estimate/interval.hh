// Intervals that cover: quantiles of past errors, at a level that follows how often they missed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <vector>

namespace gnomon::estimate {

class Interval {
  public:
    // Errors are signed and in units of what was thought to be their size.
    void learn(double error) {
        const bool missed = !recent_.empty() && (error < low() || error > high());
        level_ = std::clamp(level_ + kStep * (kMiss - missed), 0.005, 0.5);
        recent_.push_back(error);
        sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), error), error);
        if (recent_.size() > kMemory) {
            sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), recent_.front()));
            recent_.pop_front();
        }
    }

    double low() const { return -quantile(true); }
    double high() const { return quantile(false); }

    // The mean square of past errors, which needs no quantile.
    double deviation() const {
        if (sorted_.empty()) return 1;
        double sum = 0;
        for (double each : sorted_) sum += each * each;
        return std::sqrt(sum / sorted_.size());
    }

  private:
    // The error that is exceeded, upwards or downwards, in half of the misses. With too few errors
    // to have a quantile that far out, their largest is doubled.
    double quantile(bool downwards) const {
        const size_t count = sorted_.size();
        if (count == 0) return 1;
        const double rank = std::ceil((1 - level_ / 2) * (count + 1));
        const auto at = [&](size_t i) { return downwards ? -sorted_[count - 1 - i] : sorted_[i]; };
        if (rank > count) return 2 * std::max(at(count - 1), 0.0);
        return std::max(at(static_cast<size_t>(rank) - 1), 0.0);
    }

    static constexpr double kMiss = 0.1;
    static constexpr double kStep = 0.01;
    static constexpr size_t kMemory = 200;

    double level_ = kMiss;
    std::deque<double> recent_;
    std::vector<double> sorted_;
};

}  // namespace gnomon::estimate
