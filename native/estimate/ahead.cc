#include "estimate/ahead.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimate/mixture.hh"

namespace gnomon::estimate {

namespace {

constexpr double kForgets[] = {0.5, 0.8, 0.95};
constexpr float kTimeFine = 0.05f;
constexpr float kNever = std::numeric_limits<float>::infinity();
constexpr double kFewest = 5;   // tests of a horizon before it is believed
constexpr double kGrowth = 0.25;  // of an interval between horizons, a power of the rows
constexpr double kSharpness = 10;
constexpr double kBeyond = 2;  // times the largest reading are believed

void keep_nearest(const std::vector<float>& distances, size_t first, size_t most,
                  std::vector<Near>& near) {
    near.clear();
    for (size_t i = distances.size(); i-- > 0;)
        if (distances[i] < kNever) near.push_back({distances[i], static_cast<uint32_t>(first + i)});
    const size_t kept = std::min(most, near.size());
    std::partial_sort(near.begin(), near.begin() + kept, near.end(),
                      [](const Near& a, const Near& b) {
                          return a.distance < b.distance || (a.distance == b.distance && a.at > b.at);
                      });
    near.resize(kept);
}

}  // namespace

bool Searcher::find(const Rows& rows, const Sightings& sightings, size_t memory, int64_t from,
                    int64_t horizon, const std::vector<float>& spread) {
    const auto& at = sightings.rows;
    last_reading_ = std::upper_bound(at.begin(), at.end(), from) - at.begin();
    if (last_reading_ == 0) return false;
    first_reading_ = last_reading_ > memory ? last_reading_ - memory : 0;
    const size_t count = last_reading_ - first_reading_;
    distance_.resize(count);
    first_.assign(count, 0.0f);
    for (size_t i = 0; i < count; ++i)
        distance_[i] = kTimeFine * static_cast<float>(std::log1p(static_cast<double>(count - i)));
    for (size_t past = 0; past < kPasts; ++past) {
        const float* mine = rows.logs(from - static_cast<int64_t>(past));
        for (size_t i = 0; i < count; ++i) {
            const int64_t row = at[first_reading_ + i] - horizon - static_cast<int64_t>(past);
            const float* theirs = rows.logs(row);
            float part = first_[i];
            if (mine != nullptr && theirs != nullptr) {
                part = 0;
                for (size_t f = 0; f < spread.size(); ++f)
                    part += std::abs(theirs[f] - mine[f]) * (1 / spread[f]);
            } else if (past == 0) {
                part = kNever;
            }
            if (past == 0) first_[i] = part;
            distance_[i] += part;
        }
        keep_nearest(distance_, first_reading_, kNearAhead[2], near_[past]);
    }
    return true;
}

Forecast Searcher::foretell(const std::vector<double>& values, const Losses& losses,
                            double sharpness, double enough) {
    guesses.clear();
    guesses.push_back(values[last_reading_ - 1]);
    for (double forget : kForgets) {
        double weight = 1, sum = 0, all = 0;
        for (size_t i = last_reading_; i-- > first_reading_ && weight >= 1e-3; weight *= forget) {
            if (last_reading_ - i > kMostInTime) break;
            sum += weight * values[i];
            all += weight;
        }
        guesses.push_back(sum / all);
    }
    for (const auto& near : near_)
        for (size_t most : kNearAhead) {
            const size_t count = std::min(most, near.size());
            if (count == 0) {
                guesses.push_back(guesses[0]);
                continue;
            }
            const double reach = near[count - 1].distance + 1e-9;
            double sum = 0, all = 0;
            for (size_t i = 0; i < count; ++i) {
                const double weight = 1 / (reach + near[i].distance);
                sum += weight * values[near[i].at];
                all += weight;
            }
            guesses.push_back(sum / all);
        }
    // Large errors are what matters in a prediction: losses are of squares, and the mean is said.
    weights_.assign(guesses.size(), 0.0);
    if (losses.tests <= 0) {
        weights_[0] = 1;
    } else {
        const double least = *std::min_element(losses.sums.begin(), losses.sums.end());
        const double slope = sharpness * std::min(1.0, losses.tests / enough);
        for (size_t j = 0; j < weights_.size(); ++j)
            weights_[j] = least > 0 ? std::exp(-slope * (losses.sums[j] / least - 1))
                                    : losses.sums[j] <= 0;
    }
    double sum = 0, all = 0, apart = 0;
    for (size_t j = 0; j < guesses.size(); ++j) sum += weights_[j] * guesses[j], all += weights_[j];
    for (size_t j = 0; j < guesses.size(); ++j)
        apart += weights_[j] * std::abs(guesses[j] - sum / all);
    return {sum / all, apart / all};
}

double Searcher::largest(const std::vector<double>& values) const {
    return *std::max_element(values.begin() + first_reading_, values.begin() + last_reading_);
}

size_t horizon_below(const Foresight& foresight, int64_t rows) {
    size_t found = 0;
    for (size_t h = 1; h < kHorizonCount && kHorizons[h] <= rows; ++h)
        if (foresight.losses[h].tests >= kFewest) found = h;
    return found;
}

// A reading tests what would have been said of it one row before, and so many rows before as it
// is the turn of.
void Mixture::test_ahead(const Group& group, const std::vector<float>& spread,
                         const double* counts) {
    const int64_t row = rows_.count() - 1;
    const size_t other = 1 + group.sightings.seen % (kHorizonCount - 1);
    for (size_t h : {size_t{0}, other}) {
        const int64_t from = row - kHorizons[h];
        if (!searcher_.find(rows_, group.sightings, searched(), from, kHorizons[h], spread))
            continue;
        for (size_t e : group.events) {
            Track& track = tracks_[e];
            Losses& losses = track.foresight.losses[h];
            const Forecast said =
                searcher_.foretell(track.values, losses, kSharpness, options_.enough);
            const double size = said.size + track.usual_error();
            if (size > 0) track.foresight.intervals[h].learn((counts[e] - said.value) / size);
            losses.add_squares(searcher_.guesses.data(), counts[e], options_.discount);
        }
    }
}

void Mixture::ahead(size_t rows, const Output& output) {
    const size_t events = tracks_.size();
    const std::vector<float> spread = rows_.spread();
    std::vector<double> down(events, 0.0), up(events, 0.0), deviation(events, 0.0);
    for (size_t i = 0; i < rows; ++i) {
        const int64_t horizon = static_cast<int64_t>(i) + 1;
        for (const Group& group : groups_) {
            const bool found = searcher_.find(rows_, group.sightings, searched(), rows_.count() - 1,
                                              horizon, spread);
            for (size_t e : group.events) {
                const size_t at = i * events + e;
                if (!found) {
                    output.never_read(at);
                    continue;
                }
                const Track& track = tracks_[e];
                const size_t h = horizon_below(track.foresight, horizon);
                const Forecast said = searcher_.foretell(track.values, track.foresight.losses[h],
                                                         kSharpness, options_.enough);
                const Reach reach = track.foresight.intervals[h].reach();
                const double growth = std::pow(
                    static_cast<double>(horizon) / static_cast<double>(kHorizons[h]), kGrowth);
                const double size = (said.size + track.usual_error()) * growth;
                // Nobody knows more of what is further away.
                down[e] = std::max(down[e], -reach.low * size);
                up[e] = std::max(up[e], reach.high * size);
                deviation[e] = std::max(deviation[e], reach.deviation * size);
                output.mean[at] = said.value;
                output.low[at] = std::max(0.0, said.value - down[e]);
                // Few errors in units of what was very small tell nothing of how large it may be.
                const double most = kBeyond * std::max(searcher_.largest(track.values), track.usual_error());
                output.high[at] = std::min(said.value + up[e], std::max(said.value, most));
                output.deviation[at] = deviation[e];
            }
        }
    }
}

}  // namespace gnomon::estimate
