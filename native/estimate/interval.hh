// Intervals that cover: quantiles of past errors, at a level that follows how often they missed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <vector>

namespace gnomon::estimate {

// The error that is exceeded, upwards or downwards, in half of the misses. With too few errors to
// have a quantile that far out, their largest is doubled.
inline double quantile(const std::vector<double>& sorted, double level, bool downwards) {
    const size_t count = sorted.size();
    if (count == 0) return 1;
    const double rank = std::ceil((1 - level / 2) * static_cast<double>(count + 1));
    const auto at = [&](size_t i) { return downwards ? -sorted[count - 1 - i] : sorted[i]; };
    if (rank > static_cast<double>(count)) return 2 * std::max(at(count - 1), 0.0);
    return std::max(at(static_cast<size_t>(rank) - 1), 0.0);
}

constexpr double kMiss = 0.1;  // how often the truth may be outside

// How far errors reach, and how large they are: signed, in units of what was thought to be their
// size.
struct Reach {
    double low, high, deviation;

    static Reach of(const std::vector<double>& sorted, double level = kMiss) {
        double squares = 0;
        for (double each : sorted) squares += each * each;
        const double count = static_cast<double>(sorted.size());
        return {-quantile(sorted, level, true), quantile(sorted, level, false),
                sorted.empty() ? 1 : std::sqrt(squares / count)};
    }
};

class Interval {
  public:
    void learn(double error) {
        const bool missed = !sorted_.empty() && (error < -quantile(sorted_, level_, true) ||
                                                 error > quantile(sorted_, level_, false));
        level_ = std::clamp(level_ + kStep * (kMiss - missed), 0.005, 0.5);
        recent_.push_back(error);
        sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), error), error);
        if (recent_.size() > kMemory) {
            sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), recent_.front()));
            recent_.pop_front();
        }
    }

    Reach reach() const { return Reach::of(sorted_, level_); }

  private:
    static constexpr double kStep = 0.01;
    static constexpr size_t kMemory = 200;

    double level_ = kMiss;
    std::deque<double> recent_;
    std::vector<double> sorted_;
};

}  // namespace gnomon::estimate
