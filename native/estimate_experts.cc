#include "estimate_experts.hh"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace gnomon::estimate {

namespace {

constexpr size_t kStates = 3;
constexpr size_t kNear[] = {2, 5, 12};
constexpr size_t kNearAhead[] = {5, 12, 30};
constexpr size_t kMostNear = 30;
constexpr size_t kMostInTime = 60;
constexpr size_t kMedians[] = {3, 7};
constexpr double kForget[] = {0.5, 0.8, 0.95};
constexpr double kTimeFine = 0.05;

// Distance of two rows of context in units of spread; negative if one of them is not known.
double apart(const double* a, const double* b, const double* per_spread, size_t count) {
    double sum = 0;
    for (size_t f = 0; f < count; ++f) sum += std::abs(a[f] - b[f]) * per_spread[f];
    return std::isnan(sum) ? -1 : sum;
}

}  // namespace

double weighted_median(std::vector<Weighted>& values) {
    std::sort(values.begin(), values.end());
    double all = 0, below = 0;
    for (const auto& each : values) all += each.second;
    for (size_t i = 0; i + 1 < values.size(); ++i) {
        below += values[i].second;
        if (below * 2 > all) return values[i].first;
        if (below * 2 == all) return (values[i].first + values[i + 1].first) / 2;
    }
    return values.back().first;
}

Experts::Experts(size_t fixed_count)
    : fixed_count_(fixed_count),
      ways_(1 + fixed_count),
      count_(1 + ways_ * (2 + std::size(kForget) + std::size(kMedians) +
                          kStates * std::size(kNear))),
      near_(kStates) {}

size_t Experts::ahead_count() const {
    return 1 + std::size(kForget) + kStates * std::size(kNearAhead);
}

double Experts::carried(const Readings& readings, size_t at, const Place& place,
                        size_t way) const {
    if (way == 0) return readings.values[at];
    const double from = readings.fixed[at * fixed_count_ + way - 1];
    const double to = place.fixed[way - 1];
    return from > 0 && to > 0 ? readings.values[at] * (to / from) : readings.values[at];
}

void Experts::find_near(const Readings& readings, const Allowed& allowed, const Place& place,
                        const std::vector<double>& spread, bool ahead) {
    const size_t width = kContext * fixed_count_, most = ahead ? kMostNear : kNear[2];
    std::vector<double> per_spread(fixed_count_);
    for (size_t f = 0; f < fixed_count_; ++f) per_spread[f] = 1 / spread[f];
    for (auto& near : near_) near.clear();
    const auto begin = readings.rows.begin();
    const size_t middle =
        std::lower_bound(begin + allowed.first, begin + allowed.last, place.row) - begin;
    while (late_.size() <= allowed.last - allowed.first)
        late_.push_back(kTimeFine * std::log1p(static_cast<double>(late_.size())));
    const auto keep = [most](std::vector<Near>& near, double distance, size_t at) {
        if (near.size() == most) {
            if (distance >= near.back().distance) return;
            near.pop_back();
        }
        auto place = near.end();
        while (place != near.begin() && (place - 1)->distance > distance) --place;
        near.insert(place, {distance, at});
    };
    // Of the next row nothing is known: the rows before it take its place.
    const size_t contexts[] = {ahead ? kBefore : kHere, ahead ? kBeforeLast : kBefore, kAfter};
    for (size_t i = allowed.first; i < allowed.last; ++i) {
        if (allowed.hides(i)) continue;
        const double* other = readings.logs.data() + i * width;
        double distance = late_[i < middle ? middle - i : i - middle];
        double first = 0;
        for (size_t s = 0; s < kStates; ++s) {
            const size_t from = contexts[s] * fixed_count_;
            const double part =
                apart(place.logs.data() + from, other + from, per_spread.data(), fixed_count_);
            // What is not known is taken to be as far as the row itself.
            if (s == 0) first = std::max(part, 0.0);
            distance += part < 0 ? first : part;
            keep(near_[s], distance, i);
        }
    }
}

void Experts::order_by_time(const Readings& readings, const Allowed& allowed, int64_t row) {
    in_time_.clear();
    const auto begin = readings.rows.begin();
    const size_t last = std::min(allowed.last, allowed.until);
    size_t right = std::lower_bound(begin + allowed.first, begin + last, row) - begin;
    size_t left = right;  // one past the next on the left
    while (in_time_.size() < kMostInTime) {
        while (left > allowed.first && allowed.hides(left - 1)) --left;
        while (right < last && allowed.hides(right)) ++right;
        const bool has_left = left > allowed.first, has_right = right < last;
        if (!has_left && !has_right) break;
        if (has_left &&
            (!has_right || row - readings.rows[left - 1] <= readings.rows[right] - row)) {
            in_time_.push_back(left - 1);
            left -= std::min(allowed.stride, left - allowed.first);
        } else {
            in_time_.push_back(right);
            right += allowed.stride;
        }
    }
    // Nothing as old as that: better a reading from after than none.
    if (in_time_.empty()) in_time_.push_back(near_[0][0].at);
}

double Experts::typical(const Readings& readings, const Place& place, const std::vector<Near>& near,
                        size_t most, size_t way, bool median) {
    const size_t count = std::min(most, near.size());
    // The farthest one weighs half as much as one that is no distance away.
    const double reach = near[count - 1].distance + 1e-9;
    sorting_.clear();
    double sum = 0, all = 0;
    for (size_t i = 0; i < count; ++i) {
        const double value = carried(readings, near[i].at, place, way);
        const double weight = 1 / (reach + near[i].distance);
        sum += weight * value;
        all += weight;
        sorting_.emplace_back(value, weight);
    }
    return median ? weighted_median(sorting_) : sum / all;
}

double Experts::forgetting_mean(const Readings& readings, const Place& place, size_t way,
                                double forget) const {
    double weight = 1, sum = 0, all = 0;
    for (size_t at : in_time_) {
        if (weight < 1e-3) break;
        // Rates are means of sums, so that rows with little work count little.
        sum += weight * readings.values[at];
        all += weight * (way == 0 ? 1 : readings.fixed[at * fixed_count_ + way - 1]);
        weight *= forget;
    }
    return all > 0 ? sum / all * (way == 0 ? 1 : place.fixed[way - 1]) : 0;
}

double Experts::interpolated(const Readings& readings, const Place& place, size_t way) const {
    const size_t nearest = in_time_[0];
    const bool before = readings.rows[nearest] < place.row;
    for (size_t at : in_time_) {
        if ((readings.rows[at] < place.row) == before) continue;
        const double near = std::abs(static_cast<double>(place.row - readings.rows[nearest]));
        const double far = std::abs(static_cast<double>(place.row - readings.rows[at]));
        return (far * carried(readings, nearest, place, way) +
                near * carried(readings, at, place, way)) / (near + far);
    }
    return carried(readings, nearest, place, way);
}

double Experts::largest(const Readings& readings, size_t most) const {
    double value = 0;
    for (size_t i = 0; i < std::min(most, in_time_.size()); ++i)
        value = std::max(value, readings.values[in_time_[i]]);
    return value;
}

void Experts::guess(const Readings& readings, const Allowed& allowed, const Place& place,
                    const std::vector<double>& spread, double* guesses) {
    find_near(readings, allowed, place, spread, false);
    order_by_time(readings, allowed, place.row);
    for (size_t way = 0; way < ways_; ++way) {
        *guesses++ = carried(readings, in_time_[0], place, way);
        *guesses++ = interpolated(readings, place, way);
        for (double forget : kForget)
            *guesses++ = forgetting_mean(readings, place, way, forget);
        for (size_t most : kMedians) {
            sorting_.clear();
            for (size_t i = 0; i < std::min(most, in_time_.size()); ++i)
                sorting_.emplace_back(carried(readings, in_time_[i], place, way), 1.0);
            *guesses++ = weighted_median(sorting_);
        }
        for (const auto& near : near_)
            for (size_t most : kNear)
                *guesses++ = typical(readings, place, near, most, way, most > 2);
    }
    *guesses = 0;
}

void Experts::guess_ahead(const Readings& readings, const Allowed& allowed, const Place& place,
                          const std::vector<double>& spread, double* guesses) {
    find_near(readings, allowed, place, spread, true);
    order_by_time(readings, allowed, place.row);
    *guesses++ = readings.values[in_time_[0]];
    for (double forget : kForget) *guesses++ = forgetting_mean(readings, place, 0, forget);
    for (const auto& near : near_)
        for (size_t most : kNearAhead) *guesses++ = typical(readings, place, near, most, 0, false);
}

}  // namespace gnomon::estimate
