#include "kalman/joint.hh"

#include <algorithm>
#include <cmath>

#include "kalman/transition.hh"

namespace gnomon::kalman {

namespace {

// A row of the covariance after time has passed; u and e are those of the row's counter.
GNOMON_VECTOR void age_row(double* __restrict p, const double* __restrict spread,
                           const double* __restrict forgot, const double* __restrict kept,
                           double u, double e, size_t n) {
    // 1 - e_i e_j without cancellation.
    for (size_t j = 0; j < n; ++j) p[j] = e * kept[j] * p[j] + spread[j] * (u + e * forgot[j]);
}

GNOMON_VECTOR void walk_row(double* __restrict p, const double* __restrict spread, double dt,
                            size_t n) {
    for (size_t j = 0; j < n; ++j) p[j] += dt * spread[j];
}

GNOMON_VECTOR void subtract(double* __restrict row, const double* __restrict gain, double factor,
                            size_t n) {
    for (size_t j = 0; j < n; ++j) row[j] -= factor * gain[j];
}

// The same for several gains, `stride` apart, which share the way through the row.
GNOMON_VECTOR void subtract_all(double* __restrict row, const double* __restrict gains,
                                const double* __restrict sums, size_t count, size_t stride,
                                size_t i, size_t n) {
    size_t l = 0;
    for (; l + 4 <= count; l += 4) {
        const double *g0 = gains + l * stride, *g1 = g0 + stride, *g2 = g1 + stride,
                     *g3 = g2 + stride;
        const double f0 = g0[i] / sums[l], f1 = g1[i] / sums[l + 1], f2 = g2[i] / sums[l + 2],
                     f3 = g3[i] / sums[l + 3];
        for (size_t j = 0; j < n; ++j)
            row[j] -= f0 * g0[j] + f1 * g1[j] + f2 * g2[j] + f3 * g3[j];
    }
    for (; l < count; ++l) {
        const double* g = gains + l * stride;
        const double factor = g[i] / sums[l];
        for (size_t j = 0; j < n; ++j) row[j] -= factor * g[j];
    }
}

bool valid(double dt) { return std::isfinite(dt) && dt > 0; }

}  // namespace

JointFilter::JointFilter(size_t count, bool walks)
    : count_(count), walks_(walks), beta_(count), spread_(count * count), noise_(count),
      state_(count), p_(count * count), forgot_(count), kept_(count, 1.0) {}

void JointFilter::describe(const double* beta, const double* spread, const double* noise) {
    beta_.assign(beta, beta + count_);
    spread_.assign(spread, spread + count_ * count_);
    // Kept as the covariance in the long run, which is positive whatever the rates are.
    for (size_t i = 0; i < count_ && !walks_; ++i)
        for (size_t j = 0; j < count_; ++j) spread_[i * count_ + j] /= beta[i] + beta[j];
    noise_.assign(noise, noise + count_);
}

void JointFilter::place(const double* values, const double* covariance) {
    state_.assign(values, values + count_);
    p_.assign(covariance, covariance + count_ * count_);
}

void JointFilter::age(double dt) {
    if (walks_) return;
    for (size_t i = 0; i < count_; ++i) {
        forgot_[i] = forgotten(beta_[i] * dt);
        kept_[i] = 1.0 - forgot_[i];
        state_[i] *= kept_[i];
    }
}

// A column of the covariance as it will be when dt has passed.
void JointFilter::predicted_column(bool moves, double dt, size_t i, double* column) const {
    const size_t n = count_;
    const double* spread = spread_.data() + i * n;
    std::copy_n(p_.data() + i * n, i + 1, column);
    for (size_t j = i + 1; j < n; ++j) column[j] = p_[j * n + i];
    if (moves && walks_) walk_row(column, spread, dt, n);
    if (moves && !walks_)
        age_row(column, spread, forgot_.data(), kept_.data(), forgot_[i], kept_[i], n);
}

bool JointFilter::step(double dt, const int64_t* which, const double* values, size_t count) {
    const size_t n = count_;
    const bool moves = valid(dt);
    if (moves) age(dt);
    gains_.clear();
    sums_.clear();
    for (size_t k = 0; k < count; ++k) {
        const auto i = static_cast<size_t>(which[k]);
        const double v = values[k] - state_[i];
        if (!std::isfinite(v)) {
            ++invalid_;
            continue;
        }
        const size_t at = gains_.size();
        gains_.resize(at + n);
        double* gain = gains_.data() + at;
        predicted_column(moves, dt, i, gain);
        for (size_t l = 0; l < sums_.size(); ++l) {
            const double* earlier = gains_.data() + l * n;
            subtract(gain, earlier, earlier[i] / sums_[l], n);
        }
        gain[i] = std::max(gain[i], 0.0);
        const double sum = gain[i] + noise_[i];
        if (!(sum > 0)) {  // known exactly already
            gains_.resize(at);
            state_[i] += v;
            continue;
        }
        for (size_t j = 0; j < n; ++j) state_[j] += gain[j] * (v / sum);
        sums_.push_back(sum);
    }
    for (size_t i = 0; i < n; ++i) {
        double* row = p_.data() + i * n;
        if (moves && walks_) walk_row(row, spread_.data() + i * n, dt, i + 1);
        if (moves && !walks_)
            age_row(row, spread_.data() + i * n, forgot_.data(), kept_.data(), forgot_[i],
                    kept_[i], i + 1);
        const double prior = row[i];
        subtract_all(row, gains_.data(), sums_.data(), sums_.size(), n, i, i + 1);
        // Rounding may take all that is left of a variance; a trace of it must stay.
        row[i] = std::max(row[i], prior * 1e-13);
    }
    return moves;
}

void JointFilter::reopen(size_t i, double value, double variance) {
    for (size_t j = 0; j < i; ++j) p_[i * count_ + j] = 0;
    for (size_t j = i + 1; j < count_; ++j) p_[j * count_ + i] = 0;
    state_[i] = value;
    p_[i * count_ + i] = variance;
}

void JointFilter::show(double* values, double* variances) const {
    for (size_t i = 0; i < count_; ++i) {
        values[i] = state_[i];
        variances[i] = p_[i * count_ + i];
    }
}

void JointFilter::expect(double dt, size_t i, double* value, double* variance) const {
    const double u = walks_ || !valid(dt) ? 0.0 : forgotten(beta_[i] * dt), e = 1.0 - u;
    const double spread = spread_[i * count_ + i];
    *value = e * state_[i];
    *variance = e * e * p_[i * count_ + i];
    if (valid(dt)) *variance += walks_ ? dt * spread : spread * u * (2.0 - u);
}

void JointFilter::forecast(double dt, double* values, double* variances) const {
    for (size_t i = 0; i < count_; ++i) expect(dt, i, values + i, variances + i);
}

void JointFilter::covariance(double* full) const {
    for (size_t i = 0; i < count_; ++i)
        for (size_t j = 0; j <= i; ++j)
            full[i * count_ + j] = full[j * count_ + i] = p_[i * count_ + j];
}

void JointFilter::smooth(const double* dt, const double* read, size_t ticks, double* values,
                         double* variances) const {
    // Bryson and Frazier: what later readings say travels backwards as a gradient and its
    // covariance, so that no covariance has to be inverted.
    const size_t n = count_;
    JointFilter forward(*this);
    std::vector<double> states(ticks * n), covariances(ticks * n * n);
    std::vector<int64_t> which(n);
    std::vector<double> seen(n);
    for (size_t t = 0; t < ticks; ++t) {
        // The prediction alone is kept; readings are taken in a second step of no time.
        forward.step(dt[t], which.data(), seen.data(), 0);
        std::copy(forward.state_.begin(), forward.state_.end(), states.begin() + t * n);
        forward.covariance(covariances.data() + t * n * n);
        size_t count = 0;
        for (size_t i = 0; i < n; ++i)
            if (std::isfinite(read[t * n + i])) {
                which[count] = static_cast<int64_t>(i);
                seen[count++] = read[t * n + i];
            }
        forward.step(0.0, which.data(), seen.data(), count);
    }
    std::vector<double> gradient(n), inner(n * n), product(n), kept(n);
    std::vector<double> x(n), p(n * n);
    struct Taken {
        size_t i;
        double innovation, sum;
        std::vector<double> gain;
    };
    for (size_t t = ticks; t-- > 0;) {
        // Back over the readings of this tick, last first.
        std::copy_n(states.begin() + t * n, n, x.begin());
        std::copy_n(covariances.begin() + t * n * n, n * n, p.begin());
        std::vector<Taken> taken;
        for (size_t i = 0; i < n; ++i) {
            if (!std::isfinite(read[t * n + i])) continue;
            const double sum = std::max(p[i * n + i], 0.0) + noise_[i];
            if (!(sum > 0)) continue;
            Taken one{i, read[t * n + i] - x[i], sum, {}};
            one.gain.assign(p.begin() + i * n, p.begin() + (i + 1) * n);
            for (size_t j = 0; j < n; ++j) x[j] += one.gain[j] * (one.innovation / sum);
            for (size_t j = 0; j < n; ++j)
                subtract(p.data() + j * n, one.gain.data(), one.gain[j] / sum, n);
            taken.push_back(std::move(one));
        }
        for (size_t k = taken.size(); k-- > 0;) {
            const Taken& one = taken[k];
            // L' = C^T L C + H^T H / S with C = I - K H: only row and column i change.
            const size_t i = one.i;
            double dot = 0, square = 0;
            for (size_t j = 0; j < n; ++j) dot += one.gain[j] / one.sum * gradient[j];
            for (size_t a = 0; a < n; ++a) {
                product[a] = 0;
                for (size_t j = 0; j < n; ++j)
                    product[a] += inner[a * n + j] * one.gain[j] / one.sum;
            }
            for (size_t j = 0; j < n; ++j) square += one.gain[j] / one.sum * product[j];
            gradient[i] -= dot + one.innovation / one.sum;
            for (size_t j = 0; j < n; ++j) {
                if (j == i) continue;
                inner[i * n + j] -= product[j];
                inner[j * n + i] -= product[j];
            }
            inner[i * n + i] += square - 2 * product[i] + 1.0 / one.sum;
        }
        const double* prior = covariances.data() + t * n * n;
        for (size_t i = 0; i < n; ++i) {
            double shift = 0, less = 0;
            for (size_t a = 0; a < n; ++a) {
                double sum = 0;
                for (size_t b = 0; b < n; ++b) sum += inner[a * n + b] * prior[i * n + b];
                less += prior[i * n + a] * sum;
                shift += prior[i * n + a] * gradient[a];
            }
            values[t * n + i] = states[t * n + i] - shift;
            variances[t * n + i] = std::max(prior[i * n + i] - less, 0.0);
        }
        if (walks_ || !valid(dt[t])) continue;
        for (size_t i = 0; i < n; ++i) kept[i] = 1.0 - forgotten(beta_[i] * dt[t]);
        for (size_t i = 0; i < n; ++i) {
            gradient[i] *= kept[i];
            for (size_t j = 0; j < n; ++j) inner[i * n + j] *= kept[i] * kept[j];
        }
    }
}

}  // namespace gnomon::kalman
