// Parameters learned while readings come in: how fast a counter moves, and how noisily.
//
// All of it is moments of consecutive readings, which forget: what is older than `memory`
// readings loses its weight, and the first ones count in full.
#pragma once

#include <algorithm>
#include <cmath>

namespace gnomon::kalman {

// Scales on which rates are followed, so that changes are about alike, large or small.
enum class Scale { none, square_root, logarithm };

inline double forward(Scale scale, double rate) {
    if (scale == Scale::square_root) return std::sqrt(rate);
    return scale == Scale::logarithm ? std::log1p(rate) : rate;
}

// The rate that a value stands for, never negative.
inline double back(Scale scale, double value) {
    if (scale == Scale::logarithm) return std::max(std::expm1(std::min(value, 600.0)), 0.0);
    const double positive = std::max(value, 0.0);
    return scale == Scale::square_root ? positive * positive : positive;
}

constexpr double tiny = 1e-12;
constexpr double first_jump = 0.3;  // of the value: a usual increment, before any was seen

inline double weight(double seen, double memory) { return std::max(1 / seen, 1 / memory); }

// A random walk in white noise: noise makes neighbouring increments pull against each other,
// so that the mean of their products is minus its variance. The rest of the mean square of
// increments is the walk.
struct Increments {
    double seen = 0, mean_square = 0, product = 0, last = 0, mean_gap = 0;

    void begin(double value) { mean_square = std::max(first_jump * first_jump * value * value, tiny); }

    void add(double step, double gap, double memory) {
        ++seen;
        mean_square += weight(seen + 1, memory) * (step * step - mean_square);
        if (seen > 1) product += weight(seen - 1, memory) * (step * last - product);
        last = step;
        mean_gap += weight(seen, memory) * (gap - mean_gap);
    }

    double square() const { return std::max(mean_square, tiny); }
    double gap(double otherwise) const { return mean_gap > 0 ? mean_gap : otherwise; }

    // At first a quarter of the mean square, as if for four readings; then as it shows.
    double noise() const {
        const double guess = (product * seen - square()) / (seen + 4);
        return std::clamp(-guess, 1e-6 * square(), 0.49 * square());
    }
};

// A Gauss-Markov process: mean, variance, and how far a reading tells the next.
struct Moments {
    double seen = 0, mean = 0, mean_square = 0, product = 0, last = 0;

    void add(double value, double memory) {
        ++seen;
        const double before = value - mean;
        mean += weight(seen, memory) * before;
        mean_square += weight(seen, memory) * (before * (value - mean) - mean_square);
        if (seen > 1) product += weight(seen - 1, memory) * (before * (last - mean) - product);
        last = value;
    }

    double variance() const {
        const double first = first_jump * first_jump * mean * mean;
        const double found = (mean_square * seen + first * 2) / (seen + 2);
        return std::max({found, tiny, 1e-12 * mean * mean});
    }

    double correlation() const {
        const double found = product / std::max(mean_square, tiny);
        return std::clamp((found * seen + 0.7 * 3) / (seen + 3), 0.01, 0.999);
    }
};

// A factor of standard deviations, adapted so that nine of ten readings are inside.
struct Width {
    double factor = 1;

    void learn(double error, double variance) {
        constexpr double normal = 1.6448536269514722, adapt = 0.08;
        const bool outside = std::abs(error) > normal * factor * std::sqrt(variance);
        factor = std::clamp(factor * std::exp(adapt * ((outside ? 1.0 : 0.0) - 0.1)), 0.05, 20.0);
    }
};

// The largest of the last 32 to 64 values.
struct Peak {
    double now = 0, before = 0;
    int seen = 0;

    void add(double value) {
        if (++seen > 32) {
            before = now;
            now = value;
            seen = 1;
        }
        now = std::max(now, value);
    }
    double value() const { return std::max(now, before); }
};

// A tick as it may be used: without a length it has the usual one and nothing was read in it.
struct Clock {
    double usual = 0;

    bool advance(double seconds) {
        const bool valid = std::isfinite(seconds) && seconds > 0;
        if (valid) usual = seconds;
        return valid;
    }
    double length() const { return usual > 0 ? usual : 1.0; }
};

inline bool is_count(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace gnomon::kalman
