#include "kalman/adaptive_joint.hh"

#include <limits>
#include <type_traits>

#include "kalman/joint.hh"
#include "kalman/lowrank.hh"

namespace gnomon::kalman {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double ridge = 0.01, doubt = 1.0;  // of coefficients, lasting and at first
constexpr double discount = 0.95;
constexpr double must_gain = 0.97, least_tests = 4;  // before fixed counters are trusted
constexpr double exact = 1e-9;

// Solve a small symmetric positive system in place; false when it is singular.
bool solve(std::vector<double>& a, std::vector<double>& b, size_t n) {
    for (size_t k = 0; k < n; ++k) {
        if (!(a[k * n + k] > 0)) return false;
        for (size_t i = k + 1; i < n; ++i) {
            const double factor = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
    return true;
}

// The lower triangular root of a covariance, zero where it has none.
std::vector<double> root(const std::vector<double>& a, size_t n) {
    std::vector<double> l(n * n);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j <= i; ++j) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
            if (i == j)
                l[i * n + i] = std::sqrt(std::max(sum, 0.0));
            else
                l[i * n + j] = l[j * n + j] > 0 ? sum / l[j * n + j] : 0.0;
        }
    }
    return l;
}

template <typename Engine>
Engine made(size_t fixed, size_t count) {
    if constexpr (std::is_same_v<Engine, JointFilter>)
        return JointFilter(fixed + count, true);
    else
        return LowRankFilter(fixed + count, std::max<size_t>(fixed, 1), 4 * fixed + 4, 0.0);
}

}  // namespace

template <typename Engine>
AdaptiveJoint<Engine>::AdaptiveJoint(size_t fixed, size_t count, Scale scale, double memory)
    : fixed_(fixed), count_(count), scale_(scale), memory_(memory),
      alone_(count, {Kind::random_walk, scale, memory, {}, false}),
      returning_(count, {Kind::gauss_markov, scale, memory, {}, false}),
      engine_(made<Engine>(fixed, count)), counters_(count), spread_(fixed * fixed),
      before_(fixed, nan), at_(count * fixed, nan), inner_(count * fixed * fixed),
      outer_(count * fixed), coefficients_(count * fixed), values_(fixed + count),
      variances_(fixed + count) {
    for (size_t f = 0; f < fixed; ++f) spread_[f * fixed + f] = 1.0;
}

template <typename Engine>
bool AdaptiveJoint<Engine>::is_trusted(size_t i) const {
    const State& s = counters_[i];
    return s.errors[1] < must_gain * s.errors[0] && s.tests >= least_tests;
}

template <typename Engine>
void AdaptiveJoint<Engine>::trusted(double* flags) const {
    for (size_t i = 0; i < count_; ++i) flags[i] = is_trusted(i);
}

template <typename Engine>
void AdaptiveJoint<Engine>::widths(double* factors) const {
    alone_.widths(factors);
    for (size_t i = 0; i < count_; ++i)
        if (is_trusted(i)) factors[i] = counters_[i].width.factor;
}

template <typename Engine>
void AdaptiveJoint<Engine>::shares(double* walk) const {
    for (size_t i = 0; i < count_; ++i) {
        const double one = counters_[i].squares[0], other = counters_[i].squares[1];
        const double floor = exact * (one + other) + 1e-300;
        walk[i] = (1 / (one + floor)) / (1 / (one + floor) + 1 / (other + floor));
    }
}

template <typename Engine>
void AdaptiveJoint<Engine>::push(double seconds, const double* fixed, const double* counts) {
    const bool valid = clock_.advance(seconds);
    const double dt = clock_.length();
    std::vector<double> alone(count_, nan);
    for (size_t i = 0; i < count_; ++i) {
        counters_[i].since += dt;
        if (!valid || !is_count(counts[i]) || !counters_[i].known) continue;
        alone[i] = alone_.value_after(i, dt);
        learn_ahead(i, counts[i] / dt, dt);
    }
    alone_.push(seconds, counts);
    returning_.push(seconds, counts);
    std::vector<double> now(fixed_, nan);
    std::vector<int64_t> which;
    std::vector<double> read;
    for (size_t f = 0; f < fixed_; ++f) {
        if (!valid || !is_count(fixed[f])) continue;
        now[f] = forward(scale_, fixed[f] / dt);
        which.push_back(static_cast<int64_t>(f));
        read.push_back(now[f]);
    }
    learn_fixed(now, dt);
    engine_.step(dt, which.data(), read.data(), which.size());
    bool shown = false;
    for (size_t i = 0; i < count_; ++i) {
        if (!valid || !is_count(counts[i])) continue;
        if (!shown) engine_.show(values_.data(), variances_.data());
        shown = true;
        take(i, forward(scale_, counts[i] / dt), alone[i], now);
    }
    if (!shown) return;
    // Parameters change slowly: with many counters they are passed on only now and then.
    if (++stale_ > count_ / 8) {
        describe(engine_);
        stale_ = 0;
    }
    which.clear();
    read.clear();
    for (size_t i = 0; i < count_; ++i)
        if (valid && is_count(counts[i])) {
            which.push_back(static_cast<int64_t>(fixed_ + i));
            read.push_back(counters_[i].value);
        }
    engine_.step(0.0, which.data(), read.data(), which.size());
}

template <typename Engine>
void AdaptiveJoint<Engine>::learn_ahead(size_t i, double rate, double dt) {
    const AdaptiveBlock* both[2] = {&alone_, &returning_};
    for (int k = 0; k < 2; ++k) {
        const double error = back(scale_, both[k]->value_after(i, dt)) - rate;
        double& square = counters_[i].squares[k];
        square = discount * square + (1 - discount) * error * error;
    }
}

template <typename Engine>
void AdaptiveJoint<Engine>::learn_fixed(const std::vector<double>& now, double dt) {
    bool complete = fixed_ > 0;
    std::vector<double> steps(fixed_);
    for (size_t f = 0; f < fixed_; ++f) {
        if (std::isnan(now[f])) {
            complete = false;
            continue;
        }
        if (std::isnan(before_[f])) engine_.reopen(f, now[f], 0.0);
        steps[f] = now[f] - before_[f];
        complete = complete && std::isfinite(steps[f]);
        before_[f] = now[f];
    }
    if (!complete) return;
    const double share = weight(++ticks_, memory_);
    for (size_t a = 0; a < fixed_; ++a)
        for (size_t b = 0; b < fixed_; ++b) {
            double& cell = spread_[a * fixed_ + b];
            cell += share * (steps[a] * steps[b] / dt - cell);
        }
}

template <typename Engine>
void AdaptiveJoint<Engine>::take(size_t i, double value, double alone,
                                 const std::vector<double>& fixed) {
    State& s = counters_[i];
    double* at = at_.data() + i * fixed_;
    if (!s.known) {
        s.known = true;
        s.increments.begin(value);
        engine_.reopen(fixed_ + i, value, s.increments.square());
        stale_ = count_;
    } else {
        const double expected = values_[fixed_ + i], truth = back(scale_, value);
        const double apart[2] = {std::abs(back(scale_, alone) - truth),
                                 std::abs(back(scale_, expected) - truth)};
        for (int k = 0; k < 2; ++k)
            s.errors[k] = discount * s.errors[k] + (1 - discount) * apart[k];
        ++s.tests;
        s.width.learn(value - expected, variances_[fixed_ + i] + s.noise);
        std::vector<double> moved(fixed_);
        for (size_t f = 0; f < fixed_; ++f) {
            const double step = fixed[f] - at[f];
            moved[f] = std::isfinite(step) ? step : 0.0;
        }
        const double step = value - s.value;
        regress(i, step, moved.data());
        double explained = 0;
        for (size_t f = 0; f < fixed_; ++f) explained += coefficients_[i * fixed_ + f] * moved[f];
        s.increments.add(step - explained, s.since, memory_);
    }
    s.peak.add(value);
    s.value = value;
    s.since = 0;
    s.noise = s.increments.noise();
    std::copy(fixed.begin(), fixed.end(), at);
}

template <typename Engine>
void AdaptiveJoint<Engine>::regress(size_t i, double step, const double* moved) {
    const size_t n = fixed_;
    double *inner = inner_.data() + i * n * n, *outer = outer_.data() + i * n;
    const double share = weight(++counters_[i].regressed, memory_);
    double trace = 0;
    for (size_t a = 0; a < n; ++a) {
        outer[a] += share * (step * moved[a] - outer[a]);
        for (size_t b = 0; b < n; ++b)
            inner[a * n + b] += share * (moved[a] * moved[b] - inner[a * n + b]);
        trace += inner[a * n + a];
    }
    // The fixed counters tell almost the same: without a ridge, noise decides between them.
    std::vector<double> system(inner, inner + n * n), solved(outer, outer + n);
    const double pull = ridge + doubt / counters_[i].regressed;
    for (size_t a = 0; a < n; ++a)
        system[a * n + a] += pull * inner[a * n + a] + 1e-12 * trace + 1e-300;
    const bool found = solve(system, solved, n);
    for (size_t a = 0; a < n; ++a)
        coefficients_[i * n + a] = found && std::isfinite(solved[a]) ? solved[a] : 0.0;
}

template <typename Engine>
void AdaptiveJoint<Engine>::describe(Engine& engine) const {
    const size_t f = fixed_, size = f + count_;
    std::vector<double> own(size), noise(size), shared(spread_);
    for (size_t a = 0; a < f; ++a) {
        const double variance = spread_[a * f + a];
        shared[a * f + a] += exact * variance + 1e-300;
        noise[a] = exact * variance + 1e-300;
    }
    for (size_t i = 0; i < count_; ++i) {
        const State& s = counters_[i];
        const double square = s.increments.square();
        const double walk = std::max(square - 2 * s.noise, 1e-6 * square);
        own[f + i] = walk / s.increments.gap(clock_.length());
        noise[f + i] = s.noise;
    }
    if constexpr (std::is_same_v<Engine, JointFilter>) {
        std::vector<double> spread(size * size);
        for (size_t a = 0; a < f; ++a)
            for (size_t b = 0; b < f; ++b) spread[a * size + b] = shared[a * f + b];
        for (size_t i = 0; i < count_; ++i) {
            double* row = spread.data() + (f + i) * size;
            const double* own_row = coefficients_.data() + i * f;
            for (size_t a = 0; a < f; ++a) {
                double sum = 0;
                for (size_t b = 0; b < f; ++b) sum += own_row[b] * shared[b * f + a];
                row[a] = spread[a * size + f + i] = sum;
            }
            for (size_t j = 0; j <= i; ++j) {
                double sum = 0;
                for (size_t a = 0; a < f; ++a) sum += row[a] * coefficients_[j * f + a];
                row[f + j] = spread[(f + j) * size + f + i] = sum;
            }
            row[f + i] += own[f + i];
        }
        const std::vector<double> rates(size);
        engine.describe(rates.data(), spread.data(), noise.data());
    } else {
        const size_t factors = std::max<size_t>(f, 1);
        std::vector<double> loadings(size * factors);
        const auto half = root(shared, f);
        for (size_t a = 0; a < f; ++a)
            for (size_t k = 0; k < f; ++k) loadings[a * factors + k] = half[a * f + k];
        for (size_t i = 0; i < count_; ++i)
            for (size_t k = 0; k < f; ++k) {
                double sum = 0;
                for (size_t a = 0; a < f; ++a) sum += coefficients_[i * f + a] * half[a * f + k];
                loadings[(f + i) * factors + k] = sum;
            }
        engine.describe(loadings.data(), own.data(), noise.data());
    }
}

template <typename Engine>
void AdaptiveJoint<Engine>::smooth(const AdaptiveJoint& now, const double* seconds,
                                   const double* fixed, const double* counts, size_t ticks,
                                   double* values, double* variances) const {
    alone_.smooth(now.alone_, seconds, counts, ticks, values, variances);
    bool any = false;
    for (size_t i = 0; i < count_; ++i) any = any || now.is_trusted(i);
    if (!any) return;
    const size_t size = fixed_ + count_;
    std::vector<double> rows(ticks * size), lengths;
    for (size_t t = 0; t < ticks; ++t) {
        std::copy_n(fixed + t * fixed_, fixed_, rows.begin() + t * size);
        std::copy_n(counts + t * count_, count_, rows.begin() + t * size + fixed_);
    }
    const auto read = on_scale(scale_, now.clock_, seconds, rows.data(), ticks, size, lengths);
    Engine engine(engine_);
    now.describe(engine);
    for (size_t f = 0; f < fixed_; ++f) {
        if (!std::isnan(before_[f])) continue;
        for (size_t t = 0; t < ticks; ++t)
            if (std::isfinite(read[t * size + f])) {
                engine.reopen(f, read[t * size + f], read[t * size + f] * read[t * size + f]);
                break;
            }
    }
    for (size_t i = 0; i < count_; ++i) {
        const State& s = now.counters_[i];
        if (s.known && !counters_[i].known)
            engine.reopen(fixed_ + i, s.value,
                          std::max(100 * s.increments.square(), s.value * s.value));
    }
    std::vector<double> joint(ticks * size), spread(ticks * size);
    engine.smooth(lengths.data(), read.data(), ticks, joint.data(), spread.data());
    for (size_t i = 0; i < count_; ++i) {
        if (!now.is_trusted(i)) continue;
        // Beyond all that was read, coefficients are not to be believed.
        double most = now.counters_[i].peak.value();
        for (size_t t = 0; t < ticks; ++t)
            if (read[t * size + fixed_ + i] > most) most = read[t * size + fixed_ + i];
        for (size_t t = 0; t < ticks; ++t) {
            const size_t from = t * size + fixed_ + i, to = t * count_ + i;
            values[to] = std::min(joint[from], most);
            variances[to] = spread[from] + now.counters_[i].noise;
        }
    }
}

template class AdaptiveJoint<JointFilter>;
template class AdaptiveJoint<LowRankFilter>;

}  // namespace gnomon::kalman
