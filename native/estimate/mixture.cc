#include "estimate/mixture.hh"

#include <stdexcept>

namespace gnomon::estimate {

namespace {

constexpr size_t kRowsKept = 4096;
constexpr size_t kErrorsKept = 200;
constexpr double kNegligible = 6;  // a weight smaller than by this power of e is none

// The reading of a rotation that is nearest to a row; SIZE_MAX if there is none.
size_t reading_of_rotation(const Sightings& sightings, const Allowed& allowed, const Place& place) {
    const auto& rows = sightings.rows;
    const size_t right =
        std::lower_bound(rows.begin() + allowed.first, rows.begin() + allowed.last, place.row) -
        rows.begin();
    size_t own = SIZE_MAX;
    for (size_t i : {right, right - 1}) {
        if (i < allowed.first || i >= allowed.last || allowed.hides(i)) continue;
        if (sightings.rotations[i] != place.rotation) continue;
        if (own == SIZE_MAX || std::abs(rows[i] - place.row) < std::abs(rows[own] - place.row))
            own = i;
    }
    return own;
}

}  // namespace

// What has just begun is no measure of itself: surprises of the latest readings do not count.
Surprise Track::surprise(double error, const Options& options) const {
    double largest = 0;
    for (size_t i = 0; i < errors_.size(); ++i)
        if (!errors_[i].surprised || i + kBeside < errors_.size())
            largest = std::max(largest, errors_[i].size);
    return {error, options.surprise(std::abs(error), largest)};
}

void Track::remember(double error, double surprise) {
    errors_.push_back({std::abs(error), surprise > 0});
    if (errors_.size() > kErrorsKept) errors_.pop_front();
}

// After a single reading nothing is known of errors: they may be as large as that.
double Track::usual_error() const {
    if (values.size() == 1) return std::max(values.front(), 1.0);
    double sum = 0;
    for (const Error& each : errors_) sum += each.size;
    return errors_.empty() ? 0 : sum / static_cast<double>(errors_.size());
}

Wanted Panel::weigh(const Losses& losses, double age) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t j = 0; j < weights.size(); ++j) {
        weights[j] = experts.by_time(j) ? losses.sums[j] * age : losses.sums[j];
        least = std::min(least, weights[j]);
    }
    const double slope = options.sharpness * std::min(1.0, losses.tests / options.enough);
    const double ripe = std::min(1.0, losses.tests / options.ripe);
    Wanted wanted = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
        const double loss = weights[j];
        const double fall = least > 0 ? slope * (loss / least - 1) : loss > 0 ? kNegligible : 0;
        asked[j] = losses.tests <= 0 || fall < kNegligible;
        weights[j] = 0;
        if (!asked[j]) continue;
        weights[j] = experts.prior(j);
        if (losses.tests > 0) weights[j] *= std::exp(ripe * experts.favour(j) - fall);
        wanted |= experts.wanted(j);
    }
    return wanted;
}

Estimate Panel::estimate(double usual_error) {
    sorting_.clear();
    for (size_t j = 0; j < weights.size(); ++j)
        if (asked[j]) sorting_.push_back({guesses[j], weights[j]});
    const double value = middle(sorting_);
    double apart = 0, all = 0;
    for (const Guess& each : sorting_) {
        apart += each.weight * std::abs(each.value - value);
        all += each.weight;
    }
    return {value, apart / all + usual_error, value};
}

// A reading that surprised stands for rows that look like its own. If its event was read less than a
// rotation before or after it, and that was nearer to what was foreseen, then what surprised did not
// last as long, and it stands for itself alone.
void Estimate::lean(const Sightings& sightings, const Allowed& allowed,
                    const std::vector<double>& values, const std::vector<Surprise>& surprises,
                    const Place& place, const std::vector<float>& spread, double similar) {
    const size_t own = reading_of_rotation(sightings, allowed, place);
    if (own == SIZE_MAX || surprises[own].share <= 0) return;
    for (size_t other : {own - 1, own + 1})
        if (other >= allowed.first && other < allowed.last && !allowed.hides(other) &&
            std::abs(values[other] - values[own]) > std::abs(surprises[own].error) / 2 &&
            std::abs(sightings.rows[other] - sightings.rows[own]) < sightings.gap())
            return;
    double far = 0;
    for (size_t f = 0; f < sightings.fixed; ++f)
        far += std::abs(sightings.logs(kHere, f)[own] -
                        place.logs[kHere * sightings.fixed + f]) / spread[f];
    value += surprises[own].share / (1 + std::pow(far / similar, 4)) * (values[own] - value);
}

Mixture::Mixture(size_t events, size_t fixed, const Options& options)
    : options_(options), panel_(fixed, options), rows_(fixed), refused_(events, 0) {
    if (fixed == 0) throw std::invalid_argument("there must be a fixed counter");
    groups_.push_back({Sightings(fixed), {}});
    for (size_t e = 0; e < events; ++e) {
        tracks_.emplace_back(fixed, panel_.experts.count());
        groups_[0].events.push_back(e);
    }
}

Allowed Mixture::newest(const Sightings& sightings, size_t but) const {
    const size_t last = sightings.size() - but;
    return {last > searched() ? last - searched() : 0, last};
}

void Mixture::push(const double* fixed, const double* counts, bool ends_rotation) {
    const Place place = rows_.add(fixed, ends_rotation);
    for (size_t back = 1; back <= std::min<size_t>(2, places_.size()); ++back)
        places_[places_.size() - back].learn(kHere + back, place);
    for (Group& group : groups_) {
        group.sightings.learn_after(place);
        if (group.untested) test(group);
    }
    take(place, counts);
    const std::vector<double>& read = counts_.back();
    const std::vector<float> spread = rows_.spread();
    for (Group& group : groups_) {
        if (std::isnan(read[group.events[0]])) continue;
        if (group.sightings.size() > 1) test_ahead(group, spread, read.data());
    }
    if (places_.size() > kRowsKept) {
        places_.pop_front();
        counts_.pop_front();
    }
}

// Events of a group that were not read with the others are a group of their own from now on.
void Mixture::split(const std::vector<double>& read) {
    const size_t before = groups_.size();
    for (size_t g = 0; g < before; ++g) {
        std::vector<size_t> some, others;
        for (size_t e : groups_[g].events) (std::isnan(read[e]) ? others : some).push_back(e);
        if (some.empty() || others.empty()) continue;
        groups_[g].events = some;
        groups_.push_back({groups_[g].sightings, others, groups_[g].untested});
    }
}

void Mixture::take(const Place& place, const double* counts) {
    std::vector<double> read(tracks_.size(), kUnknown);
    for (size_t e = 0; e < tracks_.size(); ++e) {
        if (is_count(counts[e]))
            read[e] = counts[e];
        else
            refused_[e] += !std::isnan(counts[e]);
    }
    split(read);
    for (Group& group : groups_) {
        if (std::isnan(read[group.events[0]])) continue;
        group.sightings.add(place);
        const size_t surplus = group.sightings.surplus(searched() + 1);  // one may be hidden
        if (surplus) group.sightings.forget(surplus);
        for (size_t e : group.events) {
            auto& values = tracks_[e].values;
            auto& surprises = tracks_[e].surprises;
            values.push_back(read[e]);
            surprises.push_back({});
            values.erase(values.begin(), values.begin() + surplus);
            surprises.erase(surprises.begin(), surprises.begin() + surplus);
        }
        group.untested = true;
    }
    places_.push_back(place);
    counts_.push_back(std::move(read));
}

// The newest reading is like others from now on.
void Mixture::settle(Group& group) {
    group.untested = false;
    const Place place = group.sightings.place(group.sightings.size() - 1);
    for (size_t e : group.events) tracks_[e].regressions.add(place, tracks_[e].values.back());
}

void Mixture::learn(Track& track, double truth, const Estimate& estimate) {
    if (estimate.size > 0) track.interval.learn((truth - estimate.value) / estimate.size);
    track.losses.add(panel_.guesses.data(), truth, options_.discount);
}

void Mixture::test(Group& group) {
    const Sightings& sightings = group.sightings;
    const size_t newest_one = sightings.size() - 1;
    if (newest_one > 0) {
        const Place place = sightings.place(newest_one);
        panel_.near.find(sightings, newest(sightings, 1), place, rows_.spread(), kAllWanted);
        for (size_t e : group.events) {
            Track& track = tracks_[e];
            const double truth = track.values.back();
            track.regressions.fit(panel_.line);
            panel_.experts.guess(sightings, panel_.near, place, track.values, panel_.line,
                                 panel_.all, panel_.guesses.data());
            panel_.weigh(track.losses, 1);
            const Estimate estimate = panel_.estimate(track.usual_error());
            const double error = truth - estimate.value;
            track.surprises.back() = track.surprise(error, options_);
            track.remember(error, track.surprises.back().share);
            learn(track, truth, estimate);
        }
    }
    settle(group);
}

void Mixture::expected(const double* fixed, const double* counts, double* means) {
    Rows rows = rows_;
    const Place place = rows.add(fixed, false);
    const std::vector<float> spread = rows.spread();
    std::fill(means, means + tracks_.size(), kUnknown);
    for (const Group& group : groups_) {
        if (group.sightings.size() == 0) continue;
        bool found = false;
        for (size_t e : group.events) {
            if (!is_count(counts[e])) continue;
            const Track& track = tracks_[e];
            if (!found)
                panel_.near.find(group.sightings, newest(group.sightings, 0), place, spread,
                                 kAllWanted);
            found = true;
            Regressions regressions = track.regressions;
            if (group.untested)
                regressions.add(group.sightings.place(group.sightings.size() - 1),
                                track.values.back());
            regressions.fit(panel_.line);
            panel_.weigh(track.losses, 1);
            panel_.experts.guess(group.sightings, panel_.near, place, track.values, panel_.line,
                                 panel_.asked, panel_.guesses.data());
            means[e] = panel_.estimate(0).value;
        }
    }
}

void Mixture::recent(size_t rows, const Output& output) {
    const size_t events = tracks_.size(), from = places_.size() - rows;
    const std::vector<float> spread = rows_.spread();
    for (Group& group : groups_) {
        const Sightings& sightings = group.sightings;
        const size_t count = sightings.size();
        std::vector<std::vector<double>> lines;
        std::vector<double> usual;
        std::vector<Reach> reaches;
        if (group.untested && count > 1) {
            // The row after it has not come: how far it surprises is said of what is known.
            const Place place = sightings.place(count - 1);
            panel_.near.find(sightings, newest(sightings, 1), place, spread, kAllWanted);
            for (size_t e : group.events) {
                Track& track = tracks_[e];
                track.regressions.fit(panel_.line);
                panel_.weigh(track.losses, 1);
                panel_.experts.guess(sightings, panel_.near, place, track.values, panel_.line,
                                     panel_.asked, panel_.guesses.data());
                const double error = track.values.back() - panel_.estimate(0).value;
                track.surprises.back() = track.surprise(error, options_);
            }
        }
        for (size_t e : group.events) {
            Regressions regressions = tracks_[e].regressions;
            if (group.untested)
                regressions.add(sightings.place(count - 1), tracks_[e].values.back());
            lines.emplace_back();
            regressions.fit(lines.back());
            usual.push_back(tracks_[e].usual_error());
            reaches.push_back(tracks_[e].interval.reach());
        }
        for (size_t i = 0; i < rows; ++i) {
            const Place& place = places_[from + i];
            if (count == 0 || !std::isnan(counts_[from + i][group.events[0]])) {
                for (size_t e : group.events) {
                    const double read = counts_[from + i][e];
                    if (std::isnan(read))
                        output.never_read(i * events + e);
                    else
                        output.read(i * events + e, read);
                }
                continue;
            }
            const Allowed allowed = newest(sightings, 0);
            const auto after = std::lower_bound(sightings.rows.begin(), sightings.rows.end(), place.row);
            int64_t gap = INT64_MAX;
            if (after != sightings.rows.end()) gap = *after - place.row;
            if (after != sightings.rows.begin()) gap = std::min(gap, place.row - *(after - 1));
            const double age = std::pow(rows_.apart(gap, sightings.gap()), options_.age);
            Wanted found = 0;
            bool searched = false;
            for (size_t n = 0; n < group.events.size(); ++n) {
                const size_t e = group.events[n];
                Track& track = tracks_[e];
                const Wanted wanted = panel_.weigh(track.losses, age);
                if (!searched || (wanted & ~found)) {
                    found = searched ? found | wanted : wanted;
                    panel_.near.find(sightings, allowed, place, spread, found);
                    searched = true;
                }
                panel_.experts.guess(sightings, panel_.near, place, track.values, lines[n],
                                     panel_.asked, panel_.guesses.data());
                Estimate estimate = panel_.estimate(usual[n]);
                estimate.lean(sightings, allowed, track.values, track.surprises, place, spread,
                              options_.similar);
                output.estimated(i * events + e, estimate, reaches[n]);
            }
        }
    }
}

}  // namespace gnomon::estimate
