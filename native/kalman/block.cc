#include "kalman/block.hh"

#include <algorithm>
#include <cmath>

#include "kalman/transition.hh"

namespace gnomon::kalman {

namespace {

GNOMON_VECTOR void walk(const double* beta, double* p11, size_t n, double dt) {
    for (size_t i = 0; i < n; ++i) p11[i] += beta[i] * dt;
}

GNOMON_VECTOR void decay(const double* beta, double* level, double* p11, size_t n, double dt) {
    for (size_t i = 0; i < n; ++i) {
        const double u = forgotten(beta[i] * dt), e = 1.0 - u;
        level[i] *= e;
        p11[i] = e * e * p11[i] + u * (2.0 - u);
    }
}

GNOMON_VECTOR void drift(const double* __restrict beta, double* __restrict level,
                         double* __restrict slope, double* __restrict p11,
                         double* __restrict p12, double* __restrict p22, size_t n, double dt) {
    for (size_t i = 0; i < n; ++i) {
        const Integrated f = integrated(beta[i], dt);
        const double t = p12[i] + f.a * p22[i];
        level[i] += f.a * slope[i];
        slope[i] *= f.e;
        p11[i] += f.a * (p12[i] + t) + f.q11;
        p12[i] = f.e * t + f.q12;
        p22[i] = f.e * f.e * p22[i] + f.q22;
    }
}

bool valid(double dt) { return std::isfinite(dt) && dt > 0; }

}  // namespace

BlockFilter::BlockFilter(Kind kind, size_t count, Gate gate)
    : kind_(kind), gate_(gate), counters_(count), beta_(count), level_(count), p11_(count, 1.0),
      streak_(count) {
    if (kind == Kind::integrated) {
        slope_.assign(count, 0.0);
        p12_.assign(count, 0.0);
        p22_.assign(count, 1.0);
    }
}

BlockFilter::Block BlockFilter::at(size_t i) const {
    if (kind_ != Kind::integrated) return {level_[i], 0, p11_[i], 0, 0};
    return {level_[i], slope_[i], p11_[i], p12_[i], p22_[i]};
}

void BlockFilter::block(size_t i, double out[5]) const {
    const Block b = at(i);
    out[0] = b.level, out[1] = b.slope, out[2] = b.p11, out[3] = b.p12, out[4] = b.p22;
}

void BlockFilter::describe(size_t i, const Counter& counter) {
    const Counter& old = counters_[i];
    const double ratio = old.scale / counter.scale;
    level_[i] = (old.mean - counter.mean) / counter.scale + level_[i] * ratio;
    p11_[i] *= ratio * ratio;
    if (kind_ == Kind::integrated) {
        slope_[i] *= ratio;
        p12_[i] *= ratio * ratio;
        p22_[i] *= ratio * ratio;
    }
    counters_[i] = counter;
    beta_[i] = counter.beta;
}

void BlockFilter::place(size_t i, double value, double variance, double slope,
                        double slope_variance) {
    const Counter& c = counters_[i];
    const double unit = c.scale * c.scale;
    level_[i] = (value - c.mean) / c.scale;
    p11_[i] = variance / unit;
    streak_[i] = 0;
    if (kind_ != Kind::integrated) return;
    slope_[i] = slope / c.scale;
    p12_[i] = 0;
    p22_[i] = slope_variance / unit;
}

bool BlockFilter::predict(double dt) {
    if (!valid(dt)) return false;
    const size_t n = size();
    switch (kind_) {
        case Kind::random_walk: walk(beta_.data(), p11_.data(), n, dt); break;
        case Kind::gauss_markov: decay(beta_.data(), level_.data(), p11_.data(), n, dt); break;
        case Kind::integrated:
            drift(beta_.data(), level_.data(), slope_.data(), p11_.data(), p12_.data(),
                  p22_.data(), n, dt);
    }
    return true;
}

// Correct a block by an innovation; false when the gate refuses it. The variances are written
// as quotients of positive numbers, so that rounding cannot make them negative.
bool BlockFilter::admit(Block& b, double v, double noise, uint8_t& streak, Tally& tally) const {
    double s = b.p11 + noise;
    if (!(s > 0)) {  // an exact value that is read again, exactly
        b.level += v;
        return true;
    }
    if (gate_.width > 0 && v * v > gate_.width * gate_.width * s) {
        if (streak < gate_.patience) {
            ++streak;
            ++tally.refused;
            return false;
        }
        // The counter has changed its course: forget what was known, but for its scale.
        b.p11 = v * v;
        b.p12 = 0;
        b.p22 = std::max(b.p22, 1.0);
        s = b.p11 + noise;
        ++tally.reopened;
    }
    streak = 0;
    const double det = std::max(b.p11 * b.p22 - b.p12 * b.p12, 0.0);
    b.level += b.p11 / s * v;
    b.slope += b.p12 / s * v;
    b.p22 = (b.p22 * noise + det) / s;
    b.p12 *= noise / s;
    b.p11 *= noise / s;
    return true;
}

void BlockFilter::correct(const int64_t* which, const double* values, size_t count) {
    for (size_t k = 0; k < count; ++k) {
        const auto i = static_cast<size_t>(which[k]);
        const Counter& c = counters_[i];
        const double v = (values[k] - c.mean) / c.scale - level_[i];
        if (!std::isfinite(v)) {
            ++tally_.invalid;
            continue;
        }
        Block b = at(i);
        if (!admit(b, v, c.noise / (c.scale * c.scale), streak_[i], tally_)) continue;
        level_[i] = b.level;
        p11_[i] = b.p11;
        if (kind_ != Kind::integrated) continue;
        slope_[i] = b.slope;
        p12_[i] = b.p12;
        p22_[i] = b.p22;
    }
}

void BlockFilter::show(double* values, double* variances) const {
    for (size_t i = 0; i < size(); ++i) {
        const Counter& c = counters_[i];
        values[i] = c.mean + c.scale * level_[i];
        variances[i] = c.scale * c.scale * p11_[i];
    }
}

BlockFilter::Block BlockFilter::moved(const Block& b, double beta, double dt) const {
    if (kind_ == Kind::random_walk) return {b.level, 0, b.p11 + beta * dt, 0, 0};
    if (kind_ == Kind::gauss_markov) {
        const double u = forgotten(beta * dt), e = 1.0 - u;
        return {b.level * e, 0, e * e * b.p11 + u * (2.0 - u), 0, 0};
    }
    const Integrated f = integrated(beta, dt);
    const double t = b.p12 + f.a * b.p22;
    return {b.level + f.a * b.slope, b.slope * f.e, b.p11 + f.a * (b.p12 + t) + f.q11,
            f.e * t + f.q12, f.e * f.e * b.p22 + f.q22};
}

void BlockFilter::forecast(double dt, double* values, double* variances) const {
    const bool moves = valid(dt);
    for (size_t i = 0; i < size(); ++i) {
        const Counter& c = counters_[i];
        const Block b = moves ? moved(at(i), c.beta, dt) : at(i);
        values[i] = c.mean + c.scale * b.level;
        variances[i] = c.scale * c.scale * b.p11;
    }
}

double BlockFilter::value_after(size_t i, double dt) const {
    const Counter& c = counters_[i];
    return c.mean + c.scale * (valid(dt) ? moved(at(i), c.beta, dt).level : level_[i]);
}

void BlockFilter::smooth(const double* dt, const double* read, size_t ticks, double* values,
                         double* variances) const {
    const size_t n = size();
    std::vector<Block> before(ticks), after(ticks);
    Tally ignored;
    for (size_t i = 0; i < n; ++i) {
        const Counter& c = counters_[i];
        const double noise = c.noise / (c.scale * c.scale);
        Block b = at(i);
        uint8_t streak = 0;
        for (size_t t = 0; t < ticks; ++t) {
            if (valid(dt[t])) b = moved(b, c.beta, dt[t]);
            before[t] = b;
            const double v = (read[t * n + i] - c.mean) / c.scale - b.level;
            if (std::isfinite(v)) admit(b, v, noise, streak, ignored);
            after[t] = b;
        }
        // Rauch, Tung and Striebel: from the end backwards.
        for (size_t t = ticks; t-- > 0;) {
            if (t + 1 < ticks && valid(dt[t + 1])) {
                const Block &f = after[t], &p = before[t + 1], &s = b;
                double g11, g12 = 0, g21 = 0, g22 = 0;
                if (kind_ != Kind::integrated) {
                    const double e =
                        kind_ == Kind::random_walk ? 1.0 : 1.0 - forgotten(c.beta * dt[t + 1]);
                    g11 = p.p11 > 0 ? f.p11 * e / p.p11 : 0;
                } else {
                    const Integrated m = integrated(c.beta, dt[t + 1]);
                    const double det = p.p11 * p.p22 - p.p12 * p.p12;
                    const double c11 = f.p11 + m.a * f.p12, c12 = m.e * f.p12;
                    const double c21 = f.p12 + m.a * f.p22, c22 = m.e * f.p22;
                    const bool regular = det > 1e-14 * p.p11 * p.p22;
                    g11 = regular ? (c11 * p.p22 - c12 * p.p12) / det : 0;
                    g12 = regular ? (c12 * p.p11 - c11 * p.p12) / det : 0;
                    g21 = regular ? (c21 * p.p22 - c22 * p.p12) / det : 0;
                    g22 = regular ? (c22 * p.p11 - c21 * p.p12) / det : 0;
                }
                const double dx1 = s.level - p.level, dx2 = s.slope - p.slope;
                const double d11 = s.p11 - p.p11, d12 = s.p12 - p.p12, d22 = s.p22 - p.p22;
                b = {f.level + g11 * dx1 + g12 * dx2, f.slope + g21 * dx1 + g22 * dx2,
                     f.p11 + g11 * g11 * d11 + 2 * g11 * g12 * d12 + g12 * g12 * d22,
                     f.p12 + g11 * g21 * d11 + (g11 * g22 + g12 * g21) * d12 + g12 * g22 * d22,
                     f.p22 + g21 * g21 * d11 + 2 * g21 * g22 * d12 + g22 * g22 * d22};
                b.p11 = std::max(b.p11, 0.0);
                b.p22 = std::max(b.p22, 0.0);
            } else {
                b = after[t];
            }
            values[t * n + i] = c.mean + c.scale * b.level;
            variances[t * n + i] = c.scale * c.scale * b.p11;
        }
    }
}

}  // namespace gnomon::kalman
