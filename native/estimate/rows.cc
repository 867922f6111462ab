#include "estimate/rows.hh"

#include <algorithm>

#include "estimate/vector.hh"

namespace gnomon::estimate {

namespace {

constexpr double kLeastSpread = 1e-4;
constexpr double kSlowest = 1e-3;  // how fast the spread of the fixed counters may follow them
constexpr double kNothing = 1e-12;

GNOMON_VECTOR void add_differences(const float* rows, size_t count, size_t width, const float* here,
                                   double* sums) {
    for (size_t i = 0; i < count; ++i)
        for (size_t f = 0; f < width; ++f)
            sums[i] += std::abs(static_cast<double>(here[f]) - rows[i * width + f]);
}

}  // namespace

Rows::Rows(size_t fixed)
    : mean_(fixed, 0.0), spread_(fixed, 0.0), last_(fixed, 0.0), apart_(kMostApart + 1, 0.0) {}

Place Rows::next() const {
    const size_t width = fixed();
    Place place{row_, rotation_, std::vector<double>(kContexts * width, kUnknown),
                std::vector<float>(kContexts * width, static_cast<float>(kUnknown))};
    for (int64_t back = 1; back <= std::min<int64_t>(2, row_); ++back) {
        const size_t context = kHere - back;
        const float* logs = this->logs(row_ - back);
        for (size_t f = 0; f < width; ++f) place.logs[context * width + f] = logs[f];
    }
    if (row_ > 0) std::copy(last_.begin(), last_.end(), place.counts.begin() + kBefore * width);
    return place;
}

Place Rows::add(const double* fixed, bool ends_rotation) {
    const size_t width = this->fixed();
    Place place = next();
    const double rate = std::max(1.0 / static_cast<double>(row_ + 1), kSlowest);
    for (size_t f = 0; f < width; ++f) {
        if (is_count(fixed[f])) last_[f] = fixed[f];
        const double level = std::log1p(last_[f]);
        place.counts[kHere * width + f] = last_[f];
        place.logs[kHere * width + f] = static_cast<float>(level);
        mean_[f] += rate * (level - mean_[f]);
        spread_[f] += rate * (std::abs(level - mean_[f]) - spread_[f]);
    }
    const float* here = place.logs.data() + kHere * width;
    for (int64_t gap = 1; gap <= std::min(kMostApart, row_); ++gap)
        add_differences(logs(row_ - gap), 1, width, here, &apart_[gap]);
    const size_t at = static_cast<size_t>(row_ % kKept) * width;
    if (history_.size() < at + width) history_.resize(at + width);
    std::copy(here, here + width, history_.begin() + at);
    ++row_;
    rotation_ += ends_rotation;
    return place;
}

std::vector<float> Rows::spread() const {
    std::vector<float> spread;
    for (double each : spread_) spread.push_back(static_cast<float>(std::max(each, kLeastSpread)));
    return spread;
}

double Rows::apart(int64_t gap, int64_t usual) const {
    gap = std::min({gap, usual, kMostApart});
    usual = std::min(usual, kMostApart);
    if (gap >= usual || row_ <= usual) return 1;
    const auto mean = [&](int64_t g) {
        return g > 0 ? apart_[g] / static_cast<double>(row_ - g) + kNothing : kNothing;
    };
    return std::min(1.0, mean(gap) / mean(usual));
}

const float* Rows::logs(int64_t row) const {
    if (row < 0 || row >= row_ || row_ - row > kKept) return nullptr;
    return history_.data() + static_cast<size_t>(row % kKept) * fixed();
}

}  // namespace gnomon::estimate
