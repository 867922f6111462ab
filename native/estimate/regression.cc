#include "estimate/regression.hh"

#include <algorithm>
#include <cmath>

#include "estimate/solve.hh"

namespace gnomon::estimate {

namespace {

constexpr double kLeastUnexplained = 0.01;
constexpr double kLeastPenalty = 1e-6;
constexpr double kSame = 1e-12;  // what varies by less, in units of its square, does not vary

double sum_of(const Place& place, size_t telling) {
    double sum = 0;
    for (size_t f = 0; f < telling; ++f) sum += place.count(kHere, f);
    return sum;
}

}  // namespace

void Moments::fade(double by) {
    weight *= by;
    for (double& each : squares_) each *= by;
}

void Moments::add(const double* values) {
    weight += 1;
    const double rate = 1 / weight;
    double away[3 * kMostTelling + 1];
    for (size_t i = 0; i < width(); ++i) away[i] = values[i] - mean_[i];
    for (size_t i = 0; i < width(); ++i) {
        for (size_t j = 0; j <= i; ++j) squares_[i * width() + j] += (1 - rate) * away[i] * away[j];
        mean_[i] += rate * away[i];
    }
}

void Moments::join(const Moments& other) {
    const double all = weight + other.weight;
    if (all <= 0) return;
    const double factor = weight * other.weight / all;
    for (size_t i = 0; i < width(); ++i)
        for (size_t j = 0; j <= i; ++j)
            squares_[i * width() + j] += other.squares_[i * width() + j] +
                factor * (other.mean_[i] - mean_[i]) * (other.mean_[j] - mean_[j]);
    for (size_t i = 0; i < width(); ++i)
        mean_[i] += other.weight / all * (other.mean_[i] - mean_[i]);
    weight = all;
}

void Moments::fit(size_t count, double* weights) const {
    std::fill(weights, weights + count + 1, 0.0);
    if (weight <= 0) return;
    const size_t last = width() - 1;
    double scale[3 * kMostTelling], like[9 * kMostTelling * kMostTelling],
        factor[9 * kMostTelling * kMostTelling], right[3 * kMostTelling], first[3 * kMostTelling];
    for (size_t i = 0; i < count; ++i) {
        const double variance = squares_[i * width() + i] / weight;
        scale[i] = variance > kSame * mean_[i] * mean_[i] ? 1 / std::sqrt(variance) : 0;
        right[i] = squares_[last * width() + i] / weight * scale[i];
        for (size_t j = 0; j <= i; ++j)
            like[i * count + j] = squares_[i * width() + j] / weight * scale[i] * scale[j];
        if (scale[i] == 0) like[i * count + i] = 1;
    }
    const auto solve_with = [&](double penalty, double* solution) {
        std::copy(like, like + count * count, factor);
        for (size_t i = 0; i < count; ++i) factor[i * count + i] += penalty;
        std::copy(right, right + count, solution);
        factorise(factor, count);
        solve(factor, count, solution);
    };
    const double size = std::max(weight, 1.0);
    const double variance = squares_[last * width() + last] / weight;
    double penalty = 1 / size;
    if (variance > 0) {
        solve_with(penalty, first);
        double explained = 0;
        for (size_t i = 0; i < count; ++i) explained += first[i] * right[i];
        explained = std::clamp(explained / variance, 0.0, 0.99);
        penalty = std::max(1 - explained, kLeastUnexplained) / size;
    }
    solve_with(penalty + kLeastPenalty, first);
    weights[count] = mean_[last];
    for (size_t i = 0; i < count; ++i) {
        weights[i] = first[i] * scale[i];
        weights[count] -= weights[i] * mean_[i];
    }
}

Regressions::Regressions(size_t fixed) : telling_(telling(fixed)) {
    for (size_t i = 0; i < kForgettings; ++i) {
        around_.emplace_back(3 * telling_ + 1);
        roots_.emplace_back(telling_ + 1);
        rates_.emplace_back(telling_ + 1);
    }
}

void Regressions::fade() {
    for (auto* each : {&around_, &roots_, &rates_})
        for (size_t i = 0; i < kForgettings; ++i) (*each)[i].fade(kForgetting[i]);
}

void Regressions::add(const Place& place, double value) {
    double around[kStride], roots[kMostTelling + 1], rates[kMostTelling + 1];
    const double sum = sum_of(place, telling_);
    for (size_t f = 0; f < telling_; ++f) {
        around[f] = place.count(kHere, f);
        around[telling_ + f] = place.count(kBefore, f);
        around[2 * telling_ + f] = place.count(kAfter, f);
        roots[f] = std::sqrt(around[f]);
        rates[f] = around[f] / sum;
    }
    around[3 * telling_] = value;
    roots[telling_] = std::sqrt(value);
    rates[telling_] = value / sum;
    fade();
    for (size_t i = 0; i < kForgettings; ++i) {
        around_[i].add(around);
        roots_[i].add(roots);
        if (sum > 0) rates_[i].add(rates);
    }
}

void Regressions::join(const Regressions& other) {
    for (size_t i = 0; i < kForgettings; ++i) {
        around_[i].join(other.around_[i]);
        roots_[i].join(other.roots_[i]);
        rates_[i].join(other.rates_[i]);
    }
}

void Regressions::fit(std::vector<double>& weights) const {
    weights.assign(kRegressions * kStride, 0.0);
    for (size_t i = 0; i < kForgettings; ++i) {
        double* own = weights.data() + i * kKinds * kStride;
        around_[i].fit(telling_, own + kLinear * kStride);
        roots_[i].fit(telling_, own + kRoots * kStride);
        rates_[i].fit(telling_, own + kRates * kStride);
        around_[i].fit(3 * telling_, own + kAroundRow * kStride);
    }
}

double Regressions::guess(size_t regression, const std::vector<double>& weights,
                          const Place& place) {
    const double* own = weights.data() + regression * kStride;
    const size_t count = telling(place.width()), kind = regression % kKinds;
    if (kind == kRates) {
        const double sum = sum_of(place, count);
        if (sum <= 0) return 0;
        double rate = own[count];
        for (size_t f = 0; f < count; ++f) rate += own[f] * place.count(kHere, f) / sum;
        return std::max(rate * sum, 0.0);
    }
    if (kind == kRoots) {
        double root = own[count];
        for (size_t f = 0; f < count; ++f) root += own[f] * std::sqrt(place.count(kHere, f));
        return root > 0 ? root * root : 0;
    }
    double value = own[kind == kLinear ? count : 3 * count];
    for (size_t f = 0; f < count; ++f) {
        value += own[f] * place.count(kHere, f);
        if (kind != kAroundRow) continue;
        value += own[count + f] * place.count(kBefore, f);
        value += own[2 * count + f] * place.count(kAfter, f);
    }
    return std::max(value, 0.0);
}

}  // namespace gnomon::estimate
