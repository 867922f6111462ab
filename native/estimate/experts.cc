#include "estimate/experts.hh"

#include <algorithm>
#include <cmath>

namespace gnomon::estimate {

namespace {

constexpr double kForgets[] = {0.5, 0.8, 0.95};
constexpr size_t kMedian = 7;
constexpr size_t kCapped = 40;
constexpr double kBeyond = 2;  // times the largest reading around are believed

// What experts gain as tests are made: chosen on some programs, they held on others.
constexpr double kForKriged = 3;
constexpr double kForRegressions = 3;
constexpr double kForAnalogues = 2;
constexpr double kForBlind = 0.5;

struct Analogue {
    State state;
    size_t most;
};
constexpr Analogue kAnalogues[] = {{kBegun, 2},  {kBegun, 5}, {kAround, 2}, {kAround, 5},
                                   {kAround, 12}, {kWide, 2}, {kWide, 5},   {kRatio, 2},
                                   {kRatio, 5}};

void sort_by_value(std::vector<Guess>& guesses) {
    for (size_t i = 1; i < guesses.size(); ++i) {
        const Guess each = guesses[i];
        size_t at = i;
        for (; at > 0 && guesses[at - 1].value > each.value; --at) guesses[at] = guesses[at - 1];
        guesses[at] = each;
    }
}

double median(std::vector<Guess>& guesses) {
    sort_by_value(guesses);
    double all = 0, below = 0;
    for (const Guess& each : guesses) all += each.weight;
    for (size_t i = 0; i + 1 < guesses.size(); ++i) {
        below += guesses[i].weight;
        if (below * 2 > all) return guesses[i].value;
        if (below * 2 == all) return (guesses[i].value + guesses[i + 1].value) / 2;
    }
    return guesses.back().value;
}

// What a Kalman smoother says of a Gauss-Markov process with a mean, given the reading on either
// side: both pull towards them, the less the further away they are.
double gauss_markov(const std::vector<int64_t>& rows, const std::vector<uint32_t>& in_time,
                    const double* carried, int64_t row) {
    const double count = static_cast<double>(in_time.size());
    double mean = 0;
    for (size_t z = 0; z < in_time.size(); ++z) mean += carried[z] / count;
    double square = 0, product = 0, apart = 0, pairs = 0;
    size_t sides[2] = {SIZE_MAX, SIZE_MAX}, nearest[2] = {SIZE_MAX, SIZE_MAX};
    for (size_t z = 0; z < in_time.size(); ++z) {
        const size_t side = rows[in_time[z]] > row, before = sides[side];
        const double here = carried[z] - mean;
        square += here * here;
        if (before == SIZE_MAX) {
            nearest[side] = z;
        } else {
            product += here * (carried[before] - mean);
            apart += std::abs(static_cast<double>(rows[in_time[z]] - rows[in_time[before]]));
            pairs += 1;
        }
        sides[side] = z;
    }
    if (pairs == 0 || square <= 0 || product <= 0) return mean;
    const double likeness = std::min(product / pairs / (square / count), 0.999);
    const double beta = -std::log(likeness) / (apart / pairs);
    double keep[2] = {0, 0}, away[2] = {0, 0};
    for (size_t side = 0; side < 2; ++side) {
        const size_t z = nearest[side];
        if (z == SIZE_MAX) continue;
        keep[side] = std::exp(-beta * std::abs(static_cast<double>(rows[in_time[z]] - row)));
        away[side] = carried[z] - mean;
    }
    const double left = keep[0] * keep[0], right = keep[1] * keep[1];
    return std::max(0.0, mean + (keep[0] * (1 - right) * away[0] + keep[1] * (1 - left) * away[1]) /
                                    (1 - left * right));
}

double between(const std::vector<int64_t>& rows, const std::vector<uint32_t>& in_time,
               const double* carried, int64_t row) {
    const bool before = rows[in_time[0]] < row;
    for (size_t z = 1; z < in_time.size(); ++z) {
        if ((rows[in_time[z]] < row) == before) continue;
        const double near = std::abs(static_cast<double>(row - rows[in_time[0]]));
        const double far = std::abs(static_cast<double>(row - rows[in_time[z]]));
        return (far * carried[0] + near * carried[z]) / (near + far);
    }
    return carried[0];
}

}  // namespace

double middle(std::vector<Guess>& guesses) {
    sort_by_value(guesses);
    double all = 0;
    for (const Guess& each : guesses) all += each.weight;
    const double low = 0.25 * all, high = 0.75 * all;
    double below = 0, sum = 0, inside = 0;
    for (const Guess& each : guesses) {
        const double part = std::min(below + each.weight, high) - std::max(below, low);
        if (part > 0) sum += part * each.value, inside += part;
        below += each.weight;
    }
    return inside > 0 ? sum / inside : guesses.back().value;
}

Experts::Experts(size_t fixed, bool blind)
    : ways_(2 + telling(fixed)), count_(ways_ * kManners + 1 + kRegressions) {
    for (size_t way = 0; way < ways_; ++way) {
        const bool per_fixed = way > 0 && way + 1 < ways_;
        for (size_t manner = 0; manner < kManners; ++manner) {
            const bool by_state = manner >= kBegunMean;
            by_time_.push_back(manner <= kForgetFast);
            prior_.push_back(per_fixed ? 2 : way == 0 && manner == kNearest ? 4 : 1);
            favour_.push_back(manner == kKriged ? std::log(kForKriged)
                              : by_state        ? std::log(blind ? kForBlind : kForAnalogues)
                                                : 0);
            wanted_.push_back(!by_state            ? 0
                              : manner == kKriged ? kKriging
                                                  : 1u << kAnalogues[manner - kBegunMean].state);
        }
    }
    by_time_.resize(count_, 0);
    prior_.resize(count_, 1);
    wanted_.resize(count_, 0);
    favour_.resize(count_, std::log(kForRegressions));
    favour_[ways_ * kManners] = 0;
}

double Experts::cap(const Neighbours& near, const std::vector<double>& values) {
    double largest = 0;
    for (size_t z = 0; z < std::min(kCapped, near.in_time.size()); ++z)
        largest = std::max(largest, values[near.in_time[z]]);
    return kBeyond * largest * near.busier;
}

void Experts::ways(const Sightings& sightings, const Neighbours& near, const Place& place,
                   const std::vector<double>& values, const std::vector<double>& line, size_t way,
                   const uint8_t* asked, double* guesses) {
    const bool per_fixed = way > 0 && way + 1 < ways_;
    const size_t f = way - 1;
    const double here = per_fixed ? place.count(kHere, f) : 0;
    const double* base = per_fixed ? sightings.counts(f) : nullptr;
    const size_t slopes = way + 1 == ways_ ? ways_ - 2 : 0;
    double slope[kMostTelling], said = 0;
    const double* columns[kMostTelling];
    for (size_t each = 0; each < slopes; ++each) {
        slope[each] = Regressions::slope(line, each);
        columns[each] = sightings.counts(each);
        said += slope[each] * place.count(kHere, each);
    }
    const auto carried = [&](size_t at) {
        if (way == 0) return values[at];
        if (per_fixed)
            return base[at] > 0 && here > 0 ? values[at] * (here / base[at]) : values[at];
        double there = 0;
        for (size_t each = 0; each < slopes; ++each) there += slope[each] * columns[each][at];
        return std::max(values[at] + (said - there), 0.0);
    };
    double along[kMostInTime];
    const size_t count = near.in_time.size();
    size_t reach = 0;  // how many of those in time are looked at
    if (asked[kNearest]) reach = 1;
    if (asked[kMedianInTime]) reach = kMedian;
    if (asked[kForgetFast]) reach = 10;
    for (size_t manner : {kBetween, kGaussMarkov, kForget, kForgetSlow})
        if (asked[manner]) reach = kMostInTime;
    for (size_t z = 0; z < std::min(reach, count); ++z) along[z] = carried(near.in_time[z]);
    if (asked[kNearest]) guesses[kNearest] = along[0];
    if (asked[kBetween])
        guesses[kBetween] = between(sightings.rows, near.in_time, along, place.row);
    if (asked[kGaussMarkov])
        guesses[kGaussMarkov] = gauss_markov(sightings.rows, near.in_time, along, place.row);
    for (size_t q = 0; q < 3; ++q) {
        if (!asked[kForgetFast + q]) continue;
        double weight = 1, sum = 0, all = 0;
        for (size_t z = 0; z < count && weight >= 1e-3; ++z, weight *= kForgets[q]) {
            // Rates are means of sums, so that rows with little work count little.
            sum += weight * (per_fixed ? values[near.in_time[z]] : along[z]);
            all += weight * (per_fixed ? base[near.in_time[z]] : 1);
        }
        guesses[kForgetFast + q] = all > 0 ? sum / all * (per_fixed ? here : 1) : 0;
    }
    if (asked[kMedianInTime]) {
        sorting_.clear();
        for (size_t z = 0; z < std::min(kMedian, count); ++z) sorting_.push_back({along[z], 1});
        guesses[kMedianInTime] = median(sorting_);
    }
    for (size_t manner = kBegunMean; manner < kKriged; ++manner) {
        if (!asked[manner]) continue;
        const Analogue& analogue = kAnalogues[manner - kBegunMean];
        const auto& nearest = near.states[analogue.state];
        const size_t most = std::min(analogue.most, nearest.size());
        // The farthest one weighs half as much as one that is no distance away.
        const double half = nearest[most - 1].distance + 1e-9;
        double sum = 0, all = 0;
        sorting_.clear();
        for (size_t z = 0; z < most; ++z) {
            const double weight = 1 / (half + nearest[z].distance), value = carried(nearest[z].at);
            sum += weight * value;
            all += weight;
            sorting_.push_back({value, weight});
        }
        guesses[manner] = analogue.most == 2 ? sum / all : median(sorting_);
    }
    if (asked[kKriged]) {
        double sum = 0;
        for (size_t z = 0; z < near.kriging.size(); ++z)
            sum += near.kriging[z] * carried(near.states[kAround][z].at);
        guesses[kKriged] = std::max(sum, 0.0);
    }
}

void Experts::guess(const Sightings& sightings, const Neighbours& near, const Place& place,
                    const std::vector<double>& values, const std::vector<double>& line,
                    const std::vector<uint8_t>& asked, double* guesses) {
    for (size_t way = 0; way < ways_; ++way) {
        const uint8_t* own = asked.data() + way * kManners;
        if (std::any_of(own, own + kManners, [](uint8_t each) { return each; }))
            ways(sightings, near, place, values, line, way, own, guesses + way * kManners);
    }
    const size_t zero = ways_ * kManners;
    guesses[zero] = 0;
    for (size_t r = 0; r < kRegressions; ++r)
        if (asked[zero + 1 + r]) guesses[zero + 1 + r] = Regressions::guess(r, line, place);
    const double most = cap(near, values);
    for (size_t j = 0; j < count_; ++j)
        if (asked[j]) guesses[j] = std::min(guesses[j], most);
}

}  // namespace gnomon::estimate
