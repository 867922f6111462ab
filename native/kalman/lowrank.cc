#include "kalman/lowrank.hh"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kalman/transition.hh"

namespace gnomon::kalman {

namespace {

// Eigenvectors of a symmetric matrix by Jacobi's rotations: exact to rounding, and quick for
// the few columns there are. `a` becomes diagonal, `v` has the vectors as columns.
void diagonalise(std::vector<double>& a, std::vector<double>& v, size_t n) {
    v.assign(n * n, 0.0);
    for (size_t i = 0; i < n; ++i) v[i * n + i] = 1.0;
    for (int sweep = 0; sweep < 60; ++sweep) {
        double off = 0, trace = 0;
        for (size_t i = 0; i < n; ++i) {
            trace += a[i * n + i] * a[i * n + i];
            for (size_t j = 0; j < i; ++j) off += a[i * n + j] * a[i * n + j];
        }
        if (off <= 1e-30 * trace) return;
        for (size_t p = 0; p < n; ++p) {
            for (size_t q = p + 1; q < n; ++q) {
                const double apq = a[p * n + q];
                if (apq == 0) continue;
                const double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
                const double t =
                    (theta >= 0 ? 1.0 : -1.0) / (std::abs(theta) + std::hypot(theta, 1.0));
                const double c = 1 / std::hypot(t, 1.0), s = t * c;
                for (size_t k = 0; k < n; ++k) {
                    const double akp = a[k * n + p], akq = a[k * n + q];
                    a[k * n + p] = c * akp - s * akq;
                    a[k * n + q] = s * akp + c * akq;
                }
                for (size_t k = 0; k < n; ++k) {
                    const double apk = a[p * n + k], aqk = a[q * n + k];
                    a[p * n + k] = c * apk - s * aqk;
                    a[q * n + k] = s * apk + c * aqk;
                    const double vkp = v[k * n + p], vkq = v[k * n + q];
                    v[k * n + p] = c * vkp - s * vkq;
                    v[k * n + q] = s * vkp + c * vkq;
                }
            }
        }
    }
}

bool valid(double dt) { return std::isfinite(dt) && dt > 0; }

// columns^T columns of `rows` rows of `wide` numbers.
GNOMON_VECTOR void gram(const double* rows, size_t count, size_t wide, double* out) {
    std::fill_n(out, wide * wide, 0.0);
    for (size_t i = 0; i < count; ++i) {
        const double* row = rows + i * wide;
        for (size_t a = 0; a < wide; ++a)
            for (size_t b = 0; b < wide; ++b) out[a * wide + b] += row[a] * row[b];
    }
}

}  // namespace

LowRankFilter::LowRankFilter(size_t count, size_t factors, size_t rank, double beta)
    : count_(count), factors_(factors), rank_(rank), beta_(beta), state_(count), own_(count),
      u_(count * rank), m_(rank * rank), loadings_(count * factors), own_increment_(count),
      noise_(count) {
    for (size_t k = 0; k < rank; ++k) m_[k * rank + k] = 1.0;
}

void LowRankFilter::describe(const double* loadings, const double* own, const double* noise) {
    loadings_.assign(loadings, loadings + count_ * factors_);
    own_increment_.assign(own, own + count_);
    noise_.assign(noise, noise + count_);
}

void LowRankFilter::place(const double* values, const double* variances) {
    state_.assign(values, values + count_);
    own_.assign(variances, variances + count_);
    std::fill(u_.begin(), u_.end(), 0.0);
}

double LowRankFilter::row_variance(size_t i) const {
    const double* u = u_.data() + i * rank_;
    double sum = 0;
    for (size_t a = 0; a < rank_; ++a) {
        double inner = 0;
        for (size_t b = 0; b < rank_; ++b) inner += m_[a * rank_ + b] * u[b];
        sum += u[a] * inner;
    }
    return std::max(sum, 0.0);
}

// [U sqrt(M), sqrt(share) L] has more columns than there is room for: turn it so that the
// columns are orthogonal, keep the largest, and leave what the others explain to D.
void LowRankFilter::compress(double share) {
    const size_t r = rank_, wide = r + factors_;
    std::vector<double> root(m_), vectors;
    diagonalise(root, vectors, r);
    std::vector<double> half(r * r);
    for (size_t a = 0; a < r; ++a)
        for (size_t b = 0; b < r; ++b)
            half[a * r + b] = vectors[a * r + b] * std::sqrt(std::max(root[b * r + b], 0.0));
    std::vector<double> rows(count_ * wide);
    const double weight = std::sqrt(share);
    for (size_t i = 0; i < count_; ++i) {
        const double* u = u_.data() + i * r;
        double* row = rows.data() + i * wide;
        for (size_t a = 0; a < r; ++a)
            for (size_t b = 0; b < r; ++b) row[b] += u[a] * half[a * r + b];
        for (size_t k = 0; k < factors_; ++k) row[r + k] = weight * loadings_[i * factors_ + k];
    }
    std::vector<double> square(wide * wide);
    gram(rows.data(), count_, wide, square.data());
    diagonalise(square, vectors, wide);
    std::vector<size_t> order(wide);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return square[a * wide + a] > square[b * wide + b]; });
    for (size_t i = 0; i < count_; ++i) {
        const double* row = rows.data() + i * wide;
        for (size_t k = 0; k < wide; ++k) {
            double value = 0;
            for (size_t a = 0; a < wide; ++a) value += row[a] * vectors[a * wide + order[k]];
            if (k < r)
                u_[i * r + k] = value;
            else
                own_[i] += value * value;
        }
    }
    std::fill(m_.begin(), m_.end(), 0.0);
    for (size_t k = 0; k < r; ++k) m_[k * r + k] = 1.0;
}

bool LowRankFilter::step(double dt, const int64_t* which, const double* values, size_t count) {
    const bool moves = valid(dt);
    if (moves) {
        const double lost = forgotten(beta_ * dt), kept = 1.0 - lost;
        const double share = beta_ > 0 ? lost * (2.0 - lost) : dt;
        for (double& each : m_) each *= kept * kept;
        for (size_t i = 0; i < count_; ++i) {
            state_[i] *= kept;
            own_[i] = kept * kept * own_[i] + share * own_increment_[i];
        }
        compress(share);
    }
    const size_t r = rank_;
    std::vector<double> towards(r);
    for (size_t k = 0; k < count; ++k) {
        const auto i = static_cast<size_t>(which[k]);
        const double v = values[k] - state_[i];
        if (!std::isfinite(v)) {
            ++invalid_;
            continue;
        }
        double* u = u_.data() + i * r;
        double shared = 0;
        for (size_t a = 0; a < r; ++a) {
            towards[a] = 0;
            for (size_t b = 0; b < r; ++b) towards[a] += m_[a * r + b] * u[b];
            shared += u[a] * towards[a];
        }
        const double alone = own_[i] + noise_[i], sum = std::max(shared, 0.0) + alone;
        if (!(sum > 0)) {
            state_[i] += v;
            continue;
        }
        for (size_t j = 0; j < count_; ++j) {
            const double* uj = u_.data() + j * r;
            double gain = 0;
            for (size_t a = 0; a < r; ++a) gain += uj[a] * towards[a];
            state_[j] += gain * (v / sum);
        }
        state_[i] += own_[i] * (v / sum);
        for (size_t a = 0; a < r; ++a)
            for (size_t b = 0; b < r; ++b) m_[a * r + b] -= towards[a] * towards[b] / sum;
        // Given the shared causes, a reading says something about this counter alone.
        const double left = alone > 0 ? noise_[i] / alone : 0.0;
        for (size_t a = 0; a < r; ++a) u[a] *= left;
        own_[i] *= left;
    }
    return moves;
}

void LowRankFilter::reopen(size_t i, double value, double variance) {
    std::fill_n(u_.begin() + static_cast<std::ptrdiff_t>(i * rank_), rank_, 0.0);
    state_[i] = value;
    own_[i] = variance;
}

void LowRankFilter::smooth(const double* dt, const double* read, size_t ticks, double* values,
                           double* variances) const {
    LowRankFilter forward(*this);
    std::vector<int64_t> which;
    std::vector<double> seen;
    for (size_t t = 0; t < ticks; ++t) {
        which.clear();
        seen.clear();
        for (size_t i = 0; i < count_; ++i)
            if (std::isfinite(read[t * count_ + i])) {
                which.push_back(static_cast<int64_t>(i));
                seen.push_back(read[t * count_ + i]);
            }
        forward.step(dt[t], which.data(), seen.data(), which.size());
        forward.show(values + t * count_, variances + t * count_);
    }
}

void LowRankFilter::show(double* values, double* variances) const {
    for (size_t i = 0; i < count_; ++i) {
        values[i] = state_[i];
        variances[i] = own_[i] + row_variance(i);
    }
}

void LowRankFilter::forecast(double dt, double* values, double* variances) const {
    const bool moves = valid(dt);
    const double lost = moves ? forgotten(beta_ * dt) : 0.0, kept = 1.0 - lost;
    const double share = !moves ? 0.0 : beta_ > 0 ? lost * (2.0 - lost) : dt;
    for (size_t i = 0; i < count_; ++i) {
        double increment = own_increment_[i];
        for (size_t k = 0; k < factors_; ++k) {
            const double load = loadings_[i * factors_ + k];
            increment += load * load;
        }
        values[i] = kept * state_[i];
        variances[i] = kept * kept * (own_[i] + row_variance(i)) + share * increment;
    }
}

void LowRankFilter::covariance(double* full) const {
    const size_t r = rank_;
    std::vector<double> turned(r);
    for (size_t i = 0; i < count_; ++i) {
        for (size_t a = 0; a < r; ++a) {
            turned[a] = 0;
            for (size_t b = 0; b < r; ++b) turned[a] += m_[a * r + b] * u_[i * r + b];
        }
        for (size_t j = 0; j <= i; ++j) {
            double sum = i == j ? own_[i] : 0.0;
            for (size_t a = 0; a < r; ++a) sum += turned[a] * u_[j * r + a];
            full[i * count_ + j] = full[j * count_ + i] = sum;
        }
    }
}

}  // namespace gnomon::kalman
