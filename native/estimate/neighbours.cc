#include "estimate/neighbours.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimate/solve.hh"
#include "estimate/vector.hh"

namespace gnomon::estimate {

namespace {

constexpr float kTimeFine = 0.05f;
constexpr float kNever = std::numeric_limits<float>::infinity();
constexpr size_t kCapped = 40;  // readings nearest in time that tell how busy it usually is
constexpr double kSound = 3;    // the most that weights of kriging may sum up to

GNOMON_VECTOR void add_distances(const float* theirs, float mine, float per, size_t count,
                                 float* sums) {
    for (size_t i = 0; i < count; ++i) sums[i] += std::abs(theirs[i] - mine) * per;
}

GNOMON_VECTOR void add_ratios(const float* theirs, float mine, const float* first, float my_first,
                              float per, size_t count, float* sums) {
    for (size_t i = 0; i < count; ++i)
        sums[i] += std::abs((theirs[i] - mine) - (first[i] - my_first)) * per;
}

GNOMON_VECTOR void add(const float* some, float factor, size_t count, float* sums) {
    for (size_t i = 0; i < count; ++i) sums[i] += factor * some[i];
}

constexpr size_t kBlock = 16;

// The smallest of each block of distances, so that most blocks need not be looked into.
GNOMON_VECTOR void least_of_blocks(const float* values, size_t blocks, float* least) {
    for (size_t b = 0; b < blocks; ++b) {
        float smallest = values[b * kBlock];
        for (size_t i = 1; i < kBlock; ++i)
            smallest = values[b * kBlock + i] < smallest ? values[b * kBlock + i] : smallest;
        least[b] = smallest;
    }
}

// The nearest, of equally near ones the newest.
void keep_nearest(std::vector<float>& distances, std::vector<float>& least, size_t first,
                  size_t most, std::vector<Near>& near) {
    const size_t count = distances.size(), blocks = (count + kBlock - 1) / kBlock;
    distances.resize(blocks * kBlock, kNever);
    least.resize(blocks);
    least_of_blocks(distances.data(), blocks, least.data());
    near.clear();
    float farthest = kNever;
    for (size_t b = blocks; b-- > 0;) {
        if (!(least[b] < farthest)) continue;
        for (size_t i = (b + 1) * kBlock; i-- > b * kBlock;) {  // the newest are often the nearest
            const float distance = distances[i];
            if (!(distance < farthest)) continue;
            const Near found{distance, static_cast<uint32_t>(first + i)};
            if (near.size() < most) near.push_back(found);
            size_t at = near.size() - 1;
            for (; at > 0 && near[at - 1].distance > distance; --at) near[at] = near[at - 1];
            near[at] = found;
            if (near.size() == most) farthest = near.back().distance;
        }
    }
    distances.resize(count);
}

}  // namespace

void Neighbours::find(const Sightings& sightings, const Allowed& allowed, const Place& place,
                      const std::vector<float>& spread, Wanted wanted) {
    std::vector<float> per;
    for (float each : spread) per.push_back(1 / each);
    if (wanted & kKriging) wanted |= 1u << kAround;
    for (auto& each : states) each.clear();
    if (wanted) measure(sightings, allowed, place, per, wanted);
    if (wanted & kKriging) weigh(sightings, per);
    order_by_time(sightings, allowed, place.row);
    busier = std::numeric_limits<double>::infinity();
    for (size_t f = 0; f < sightings.fixed; ++f) {
        double most = 0;
        for (size_t i = 0; i < std::min(kCapped, in_time.size()); ++i)
            most = std::max(most, sightings.count(in_time[i], f));
        busier = std::min(busier, most > 0 ? place.count(kHere, f) / most : 1.0);
    }
    busier = std::isfinite(busier) ? std::max(busier, 1.0) : 1.0;
}

void Neighbours::measure(const Sightings& sightings, const Allowed& allowed, const Place& place,
                         const std::vector<float>& per, Wanted wanted) {
    const size_t first = allowed.first, count = allowed.last - first, width = sightings.fixed;
    const auto begin = sightings.rows.begin();
    const size_t middle =
        std::lower_bound(begin + first, begin + allowed.last, place.row) - begin - first;
    while (late_.size() <= count)
        late_.push_back(kTimeFine * static_cast<float>(std::log1p(static_cast<double>(late_.size()))));
    const auto part = [&](size_t context, std::vector<float>& sums) {
        sums.assign(count, 0.0f);
        for (size_t f = 0; f < width; ++f)
            add_distances(sightings.logs(context, f) + first, place.logs[context * width + f],
                          per[f], count, sums.data());
    };
    // What is not known is taken to be as far as the row itself, or as no distance at all.
    const auto add_part = [&](size_t context, float factor, bool instead) {
        if (!place.knows(context)) {
            if (instead) add(here_.data(), factor, count, total_.data());
            return;
        }
        part(context, beside_);
        for (size_t i = 0; i < count; ++i) {  // only the first two and the last two
            if (i == 2 && count > 4) i = count - 2;
            if (!sightings.knows(context, first + i)) beside_[i] = instead ? here_[i] : 0;
        }
        add(beside_.data(), factor, count, total_.data());
    };
    const auto keep = [&](State state, std::vector<float>& distances) {
        if (!(wanted & 1u << state)) return;
        for (size_t i = allowed.hidden; i < std::min(allowed.shown, allowed.last); ++i)
            if (i >= first) distances[i - first] = kNever;
        keep_nearest(distances, least_, first, kMostNear[state], states[state]);
    };
    part(kHere, here_);
    total_.resize(count);
    for (size_t i = 0; i < middle; ++i) total_[i] = late_[middle - i];
    for (size_t i = middle; i < count; ++i) total_[i] = late_[i - middle];
    add(here_.data(), 1, count, total_.data());
    if (wanted & 1u << kRatio) {
        if (width > 1) {
            ratio_.assign(count, 0.0f);
            for (size_t f = 1; f < width; ++f)
                add_ratios(sightings.logs(kHere, f) + first, place.logs[kHere * width + f],
                           sightings.logs(kHere, 0) + first, place.logs[kHere * width], per[f],
                           count, ratio_.data());
        } else {
            ratio_ = total_;
        }
    }
    add_part(kBefore, 1, true);
    keep(kBegun, total_);
    add_part(kAfter, 1, true);
    keep(kAround, total_);
    if (wanted & 1u << kRatio) {
        if (width > 1) {
            for (float& each : ratio_) each *= 2;
            add(total_.data(), 1, count, ratio_.data());
        }
        keep(kRatio, ratio_);
    }
    if (wanted & 1u << kWide) {
        add_part(kBefore2, 0.5f, false);
        add_part(kAfter2, 0.5f, false);
        keep(kWide, total_);
    }
}

void Neighbours::order_by_time(const Sightings& sightings, const Allowed& allowed, int64_t row) {
    in_time.clear();
    const auto& rows = sightings.rows;
    const size_t last = std::min(allowed.last, allowed.until);
    size_t right = std::lower_bound(rows.begin() + allowed.first, rows.begin() + last, row) -
                   rows.begin();
    size_t left = right;  // one past the next on the left
    while (in_time.size() < kMostInTime) {
        while (left > allowed.first && allowed.hides(left - 1)) --left;
        while (right < last && allowed.hides(right)) ++right;
        const bool has_left = left > allowed.first, has_right = right < last;
        if (!has_left && !has_right) break;
        if (has_left && (!has_right || row - rows[left - 1] <= rows[right] - row)) {
            in_time.push_back(static_cast<uint32_t>(left - 1));
            left -= std::min(allowed.stride, left - allowed.first);
        } else {
            in_time.push_back(static_cast<uint32_t>(right));
            right += allowed.stride;
        }
    }
    if (!in_time.empty()) return;
    // Nothing as old as that: better a reading from after than none.
    for (size_t i = allowed.first; i < allowed.last; ++i)
        if (!allowed.hides(i)) return in_time.push_back(static_cast<uint32_t>(i));
}

// Ordinary kriging: weights that would be best for a Gaussian process of the state with noise.
void Neighbours::weigh(const Sightings& sightings, const std::vector<float>& per) {
    const auto& near = states[kAround];
    const size_t count = near.size();
    double length = 0;
    for (const Near& each : near) length += each.distance / static_cast<double>(count);
    length = 2 * std::max(length, 1e-3);
    // How far they are from each other, with the rows before and after where they are known.
    constexpr size_t kMost = kMostNear[kAround];
    float here[kMost * kMost] = {}, apart[kMost * kMost], part[kMost * kMost], logs[kMost];
    for (size_t context : {kHere, kBefore, kAfter}) {
        std::fill(part, part + kMost * kMost, 0.0f);
        for (size_t f = 0; f < sightings.fixed; ++f) {
            const float* column = sightings.logs(context, f);
            for (size_t i = 0; i < count; ++i) logs[i] = column[near[i].at];
            for (size_t i = 0; i < count; ++i)
                for (size_t j = 0; j < kMost; ++j)
                    part[i * kMost + j] += std::abs(logs[j] - logs[i]) * per[f];
        }
        if (context == kHere) {
            std::copy(part, part + kMost * kMost, here);
            std::copy(part, part + kMost * kMost, apart);
            continue;
        }
        for (size_t i = 0; i < kMost * kMost; ++i)
            apart[i] += std::isnan(part[i]) ? here[i] : part[i];
    }
    double factor[kMost * kMost], own[kMost], ones[kMost];
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < i; ++j)
            factor[i * count + j] = 1 / (1 + apart[i * kMost + j] / length);
        factor[i * count + i] = 1 + kNugget;
        own[i] = 1 / (1 + near[i].distance / length);
        ones[i] = 1;
    }
    factorise(factor, count);
    solve(factor, count, own);
    solve(factor, count, ones);
    double all = 0, per_one = 0, sizes = 0;
    for (size_t i = 0; i < count; ++i) all += own[i], per_one += ones[i];
    kriging.clear();
    for (size_t i = 0; i < count; ++i) {
        kriging.push_back(own[i] + (1 - all) / per_one * ones[i]);
        sizes += std::abs(kriging[i]);
    }
    if (sizes < kSound) return;
    // No sound solution: weights by distance.
    const double reach = near.back().distance + 1e-9;
    all = 0;
    for (const Near& each : near) all += 1 / (reach + each.distance);
    for (size_t i = 0; i < count; ++i) kriging[i] = 1 / (reach + near[i].distance) / all;
}

}  // namespace gnomon::estimate
