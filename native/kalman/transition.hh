// What time does to a Gauss-Markov process and to its integral, in closed form.
//
// With x = beta * dt and u = 1 - exp(-x), every entry of Phi and Q is a product of u and of
// series in u: nothing is a difference of nearly equal numbers, however short the interval.
// States are in units of sigma, so that sigma does not occur.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

// Loops over counters are compiled twice: for processors with 256-bit vectors, and for all.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define GNOMON_VECTOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define GNOMON_VECTOR
#endif

namespace gnomon::kalman {

// 1 - exp(-x) for x >= 0, to about 2e-16 of its value. Without calls and branches, so that
// loops of it are vectorised; std::expm1 is not.
inline double forgotten(double x) {
    constexpr double magic = 0x1.8p52, per_ln2 = 1.44269504088896340736;
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    x = x < 700.0 ? x : 700.0;
    const double shifted = x * per_ln2 + magic;
    const double whole = shifted - magic;
    const double r = (x - whole * ln2_high) - whole * ln2_low;  // within ln 2 / 2 of zero
    double p = 1.0 / 87178291200.0;                             // of (1 - exp(-r)) / r
    p = 1.0 / 6227020800.0 - r * p;
    p = 1.0 / 479001600.0 - r * p;
    p = 1.0 / 39916800.0 - r * p;
    p = 1.0 / 3628800.0 - r * p;
    p = 1.0 / 362880.0 - r * p;
    p = 1.0 / 40320.0 - r * p;
    p = 1.0 / 5040.0 - r * p;
    p = 1.0 / 720.0 - r * p;
    p = 1.0 / 120.0 - r * p;
    p = 1.0 / 24.0 - r * p;
    p = 1.0 / 6.0 - r * p;
    p = 0.5 - r * p;
    p = 1.0 - r * p;
    const auto steps = std::bit_cast<int64_t>(shifted) - std::bit_cast<int64_t>(magic);
    const double half = std::bit_cast<double>((int64_t{1023} - steps) << 52);  // 2^-steps
    return (1.0 - half) + half * (r * p);
}

struct Integrated {
    double a, e, q11, q12, q22;
};

// The integral of a Gauss-Markov process of unit variance: Manzke 5.17 and 5.21 to 5.23, the
// sign of 5.22 and the factor of 5.23 corrected (docs/explanation/kalman.md).
inline Integrated integrated(double beta, double dt) {
    const double x = beta * dt;
    const double u = forgotten(x);
    const double inverse = 1.0 / x;  // before any choice: a loop of it is then vectorised
    const double quotient = u * inverse;
    const double ratio = x > 1e-290 ? quotient : 1.0;
    // x - u - u^2/2 is the tail u^3/3 + u^4/4 + ... of -ln(1 - u).
    double tail = 1.0 / 15.0;
    tail = 1.0 / 14.0 + u * tail;
    tail = 1.0 / 13.0 + u * tail;
    tail = 1.0 / 12.0 + u * tail;
    tail = 1.0 / 11.0 + u * tail;
    tail = 1.0 / 10.0 + u * tail;
    tail = 1.0 / 9.0 + u * tail;
    tail = 1.0 / 8.0 + u * tail;
    tail = 1.0 / 7.0 + u * tail;
    tail = 1.0 / 6.0 + u * tail;
    tail = 1.0 / 5.0 + u * tail;
    tail = 1.0 / 4.0 + u * tail;
    tail = 1.0 / 3.0 + u * tail;
    const double near = u * ratio * ratio * tail;
    const double far = (x - u - 0.5 * u * u) * inverse * inverse;
    const double a = dt * ratio;
    return {a, 1.0 - u, 2.0 * dt * dt * (u < 0.07 ? near : far), a * u, u * (2.0 - u)};
}

}  // namespace gnomon::kalman
