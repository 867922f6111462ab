#include "kalman/adaptive.hh"

#include <limits>

namespace gnomon::kalman {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double jitter = 0.0028;  // of the interval, as it was measured in the thesis

}  // namespace

std::vector<double> on_scale(Scale scale, const Clock& clock, const double* seconds,
                             const double* counts, size_t ticks, size_t columns,
                             std::vector<double>& lengths) {
    std::vector<double> read(ticks * columns);
    lengths.resize(ticks);
    for (size_t t = 0; t < ticks; ++t) {
        Clock own = clock;
        const bool valid = own.advance(seconds[t]);
        lengths[t] = own.length();
        for (size_t i = 0; i < columns; ++i) {
            const double count = counts[t * columns + i];
            read[t * columns + i] =
                valid && is_count(count) ? forward(scale, count / lengths[t]) : nan;
        }
    }
    return read;
}

AdaptiveBlock::AdaptiveBlock(size_t count, const Options& options)
    : options_(options), block_(options.kind, count, {}), counters_(count) {}

void AdaptiveBlock::give(size_t i, double mean, double sigma, double beta, double noise) {
    State& s = counters_[i];
    s.given = true;
    s.given_mean = mean, s.given_sigma = sigma, s.given_beta = beta;
    s.given_noise = noise;
}

void AdaptiveBlock::push(double seconds, const double* counts) {
    const bool valid = clock_.advance(seconds);
    const double dt = clock_.length();
    block_.predict(dt);
    for (size_t i = 0; i < size(); ++i) {
        counters_[i].since += dt;
        if (std::isnan(counts[i])) continue;
        if (valid && is_count(counts[i]))
            take(i, forward(options_.scale, counts[i] / dt));
        else
            ++refused_;
    }
}

void AdaptiveBlock::take(size_t i, double value) {
    State& s = counters_[i];
    if (!s.known) {
        s.known = true;
        s.increments.begin(value);
        const double square = s.increments.square();
        block_.describe(i, {value, std::sqrt(square), 0, 0});
        block_.place(i, value, square, 0, square);
    } else {
        const double error = value - block_.value(i), variance = block_.variance(i) + s.noise;
        const double width = options_.gate.width;
        s.width.learn(error, variance);
        if (width > 0 && error * error > width * width * variance) {
            if (s.streak < options_.gate.patience) {
                ++s.streak;
                ++tally_.refused;
                return;
            }
            // The counter has changed its course, which says nothing of how it usually moves.
            ++tally_.reopened;
            block_.place(i, value, error * error, 0, error * error);
        } else {
            s.increments.add(value - s.value, s.since, options_.memory);
        }
        s.streak = 0;
    }
    s.moments.add(value, options_.memory);
    s.value = value;
    s.since = 0;
    describe(i);
    const auto which = static_cast<int64_t>(i);
    block_.correct(&which, &value, 1);
}

void AdaptiveBlock::describe(size_t i) {
    State& s = counters_[i];
    const double gap = s.increments.gap(clock_.length()), square = s.increments.square();
    const double noise = s.increments.noise();
    Counter c{s.value, std::sqrt(square), 0, noise};
    if (s.given || options_.as_published) {
        c.mean = s.given ? s.given_mean : s.moments.mean;
        c.scale = s.given ? s.given_sigma : std::sqrt(s.moments.variance());
        c.beta = s.given ? s.given_beta : -std::log(s.moments.correlation()) / gap;
        // R was not published: jitter and rounding.
        c.noise = jitter * jitter * c.mean * c.mean + 1 / (12 * clock_.length() * clock_.length());
        c.noise += s.given_noise * s.given_noise;
    } else if (options_.kind == Kind::gauss_markov) {
        const double variance = s.moments.variance();
        c = {s.moments.mean, std::sqrt(variance), -std::log(s.moments.correlation()) / gap,
             1e-6 * variance};
    } else if (options_.kind == Kind::random_walk) {
        c.beta = (1 - 2 * noise / square) / gap;
    } else {
        // A slope that lasts as long as a rotation, of a size that explains the increments.
        c.beta = 1 / gap;
        c.scale = std::sqrt((square - 2 * noise) / (2 * std::exp(-1.0))) / gap;
    }
    block_.describe(i, c);
    s.noise = c.noise;
}

void AdaptiveBlock::forecast(double dt, double* values, double* variances) const {
    block_.forecast(dt, values, variances);
    for (size_t i = 0; i < size(); ++i) variances[i] += counters_[i].noise;
}

double AdaptiveBlock::value_after(size_t i, double dt) const { return block_.value_after(i, dt); }

void AdaptiveBlock::widths(double* factors) const {
    for (size_t i = 0; i < size(); ++i) factors[i] = counters_[i].width.factor;
}

void AdaptiveBlock::known(double* flags) const {
    for (size_t i = 0; i < size(); ++i) flags[i] = counters_[i].known;
}

void AdaptiveBlock::smooth(const AdaptiveBlock& now, const double* seconds, const double* counts,
                           size_t ticks, double* values, double* variances) const {
    BlockFilter block(block_);
    for (size_t i = 0; i < size(); ++i) {
        const State& s = now.counters_[i];
        block.describe(i, now.block_.counter(i));
        if (s.known && !counters_[i].known) {  // nothing was known of it at that time
            const double wide = std::max(100 * s.increments.square(), s.value * s.value);
            block.place(i, s.value, wide, 0, wide);
        }
    }
    std::vector<double> lengths;
    const auto read = on_scale(options_.scale, now.clock_, seconds, counts, ticks, size(), lengths);
    block.smooth(lengths.data(), read.data(), ticks, values, variances);
    for (size_t t = 0; t < ticks; ++t)
        for (size_t i = 0; i < size(); ++i)
            variances[t * size() + i] += now.counters_[i].noise;
}

}  // namespace gnomon::kalman
