#include "estimate/experts.hh"

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
constexpr double kNever = std::numeric_limits<double>::infinity();

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
      count_(1 + ways_ * (3 + std::size(kForget) + std::size(kMedians) +
                          kStates * std::size(kNear))),
      near_(kStates) {}

size_t Experts::ahead_count() const {
    return 1 + std::size(kForget) + kStates * std::size(kNearAhead);
}

double Experts::carried(const Readings& readings, size_t at, const Place& place,
                        size_t way) const {
    if (way == 0) return readings.values[at];
    const double from = readings.fixed[way - 1][at];
    const double to = place.fixed[way - 1];
    return from > 0 && to > 0 ? readings.values[at] * (to / from) : readings.values[at];
}

void Experts::find_near(const Readings& readings, const Allowed& allowed, const Place& place,
                        const std::vector<double>& spread, bool ahead) {
    const auto begin = readings.rows.begin();
    const size_t middle =
        std::lower_bound(begin + allowed.first, begin + allowed.last, place.row) - begin;
    const size_t count = allowed.last - allowed.first;
    while (late_.size() <= count)
        late_.push_back(kTimeFine * std::log1p(static_cast<double>(late_.size())));
    distance_.resize(count);
    first_.assign(count, 0.0);
    for (size_t i = 0; i < count; ++i) {
        const size_t at = allowed.first + i;
        distance_[i] = allowed.hides(at) ? kNever : late_[at < middle ? middle - at : at - middle];
    }
    // Of the next row nothing is known: the rows before it take its place.
    const size_t contexts[kStates] = {ahead ? kBefore : kHere, ahead ? kBeforeLast : kBefore,
                                      kAfter};
    for (size_t s = 0; s < kStates; ++s) {
        part_.assign(count, 0.0);
        for (size_t f = 0; f < fixed_count_; ++f) {
            const size_t column = contexts[s] * fixed_count_ + f;
            const double* theirs = readings.logs[column].data() + allowed.first;
            const double mine = place.logs[column], per_spread = 1 / spread[f];
            for (size_t i = 0; i < count; ++i)
                part_[i] += std::abs(theirs[i] - mine) * per_spread;
        }
        // What is not known is taken to be as far as the row itself.
        for (size_t i = 0; i < count; ++i)
            distance_[i] += std::isnan(part_[i]) ? first_[i] : part_[i];
        if (s == 0)
            for (size_t i = 0; i < count; ++i) first_[i] = std::isnan(part_[i]) ? 0.0 : part_[i];
        keep_near(allowed.first, ahead ? kMostNear : kNear[2], near_[s]);
    }
}

void Experts::keep_near(size_t first, size_t most, std::vector<Near>& near) const {
    near.clear();
    double farthest = kNever;
    for (size_t i = distance_.size(); i-- > 0;) {  // the newest are often the nearest
        if (!(distance_[i] < farthest)) continue;
        if (near.size() == most) near.pop_back();
        near.push_back({distance_[i], first + i});
        for (size_t at = near.size() - 1; at > 0 && near[at - 1].distance > near[at].distance; --at)
            std::swap(near[at - 1], near[at]);
        if (near.size() == most) farthest = near.back().distance;
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
        all += weight * (way == 0 ? 1 : readings.fixed[way - 1][at]);
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

// What a Kalman smoother says of a Gauss-Markov process with a mean, given the reading on either
// side: both pull towards them, the less the further away they are.
double Experts::gauss_markov(const Readings& readings, const Place& place, size_t way) const {
    const size_t count = in_time_.size();
    double mean = 0;
    for (size_t at : in_time_) mean += carried(readings, at, place, way) / count;
    // The readings are in the order of time once more, on each side of the row.
    double square = 0, product = 0, rows = 0, pairs = 0;
    size_t sides[2] = {SIZE_MAX, SIZE_MAX}, nearest[2] = {SIZE_MAX, SIZE_MAX};
    for (size_t at : in_time_) {
        const size_t side = readings.rows[at] > place.row;
        const double here = carried(readings, at, place, way) - mean;
        square += here * here;
        if (sides[side] == SIZE_MAX) {
            nearest[side] = at;
        } else {
            product += here * (carried(readings, sides[side], place, way) - mean);
            rows += std::abs(static_cast<double>(readings.rows[at] - readings.rows[sides[side]]));
            pairs += 1;
        }
        sides[side] = at;
    }
    if (pairs == 0 || square <= 0 || product <= 0) return mean;
    const double likeness = std::min(product / pairs / (square / count), 0.999);
    const double beta = -std::log(likeness) / (rows / pairs);
    double keep[2] = {0, 0}, away[2] = {0, 0};
    for (size_t side = 0; side < 2; ++side) {
        if (nearest[side] == SIZE_MAX) continue;
        const double gap = std::abs(static_cast<double>(readings.rows[nearest[side]] - place.row));
        keep[side] = std::exp(-beta * gap);
        away[side] = carried(readings, nearest[side], place, way) - mean;
    }
    const double left = keep[0] * keep[0], right = keep[1] * keep[1];
    return std::max(0.0, mean + (keep[0] * (1 - right) * away[0] + keep[1] * (1 - left) * away[1]) /
                                    (1 - left * right));
}

void Experts::guess(const Readings& readings, const Allowed& allowed, const Place& place,
                    const std::vector<double>& spread, double* guesses) {
    find_near(readings, allowed, place, spread, false);
    order_by_time(readings, allowed, place.row);
    for (size_t way = 0; way < ways_; ++way) {
        *guesses++ = carried(readings, in_time_[0], place, way);
        *guesses++ = interpolated(readings, place, way);
        *guesses++ = gauss_markov(readings, place, way);
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
