// A least-squares fit that grows by one point at a time.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "segments/segments.hh"

namespace gnomon::segments {

// Means, moments and residual sum of squares of the points so far, over all series. What is
// known of a `single` series fits into registers.
template <Shape shape, bool single>
class Fit {
  public:
    explicit Fit(const Centred& data) : data_(data) {
        if constexpr (!single) {
            mean_y_.resize(data.series());
            sxy_.resize(data.series());
        }
        clear();
    }

    void clear() {
        count_ = mean_x_ = sxx_ = cost_ = 0;
        for (double& value : mean_y_) value = 0;
        for (double& value : sxy_) value = 0;
    }

    void add(size_t point) {
        const double share = 1 / (count_ + 1);
        const double weight = count_ * share;
        double dx = 0, inverse = 0, wider = 0;
        if constexpr (shape == Shape::line) {
            dx = data_.x()[point] - mean_x_;
            wider = sxx_ + weight * dx * dx;
            // With a single point before, both the dividend and the divisor below are zero.
            inverse = weight / (sxx_ * wider + tiny);
            mean_x_ += share * dx;
        }
        const double* y = data_.y() + point;
        for (size_t s = 0; s < mean_y_.size(); ++s, y += data_.count()) {
            const double dy = *y - mean_y_[s];
            if constexpr (shape == Shape::line) {
                const double off = dy * sxx_ - sxy_[s] * dx;  // residual x sxx
                cost_ += off * off * inverse;
                sxy_[s] += weight * dx * dy;
            } else {
                cost_ += weight * dy * dy;
            }
            mean_y_[s] += share * dy;
        }
        sxx_ = wider;
        count_ += 1;
    }

    double cost() const { return cost_; }
    double count() const { return count_; }
    double mean_x() const { return mean_x_; }
    double sxx() const { return sxx_; }
    double mean_y(size_t s) const { return mean_y_[s]; }
    double slope(size_t s) const { return sxx_ > 0 ? sxy_[s] / sxx_ : 0; }

  private:
    static constexpr double tiny = 1e-290;
    const Centred& data_;
    double count_, mean_x_, sxx_, cost_;
    std::conditional_t<single, std::array<double, 1>, std::vector<double>> mean_y_, sxy_;
};

// Calls work.template operator()<shape, single>() with what these data need.
template <typename Work>
auto fitted(const Centred& data, Shape shape, Work work) {
    const bool line = shape == Shape::line;
    if (data.series() == 1)
        return line ? work.template operator()<Shape::line, true>()
                    : work.template operator()<Shape::level, true>();
    return line ? work.template operator()<Shape::line, false>()
                : work.template operator()<Shape::level, false>();
}

}  // namespace gnomon::segments
