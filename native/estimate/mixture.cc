#include "estimate/mixture.hh"

#include <algorithm>
#include <cmath>

namespace gnomon::estimate {

namespace {

constexpr size_t kRowsKept = 4096;
constexpr size_t kErrorsKept = 200;
constexpr double kLeastSpread = 1e-4;
constexpr double kSlowest = 1e-3;  // how fast the spread of the fixed counters may follow them

// Whether a reading may stand for its rotation. One that surprised does so as nothing else is
// known; if its event was read less than a rotation before or after it, and that was as foreseen,
// then what surprised did not last for a rotation, and it stands for itself alone.
bool stands_for_rotation(const Readings& readings, const Allowed& allowed, size_t own,
                         int64_t rotation_rows) {
    if (readings.surprises[own] == 0) return true;
    const auto denies = [&](size_t i) {
        return i >= allowed.first && i < allowed.last && !allowed.hides(i) &&
               readings.surprises[i] == 0 &&
               std::abs(readings.rows[i] - readings.rows[own]) < rotation_rows;
    };
    return !denies(own - 1) && !denies(own + 1);
}

}  // namespace

Place Rows::add(const double* fixed, bool ends_rotation) {
    const size_t width = mean_.size();
    Place place = next();
    for (size_t f = 0; f < width; ++f) {
        if (!is_count(fixed[f])) continue;
        const double level = std::log1p(fixed[f]);
        place.fixed[f] = fixed[f];
        place.logs[kHere * width + f] = level;
        const double rate = std::max(1.0 / ++seen_[f], kSlowest);
        mean_[f] += rate * (level - mean_[f]);
        spread_[f] += rate * (std::abs(level - mean_[f]) - spread_[f]);
    }
    last_ = place.logs;
    ++row_;
    if (ends_rotation) {
        ++rotation_;
        rotation_rows_ = row_ - begun_;
        begun_ = row_;
    }
    return place;
}

Place Rows::next() const {
    const size_t width = mean_.size();
    Place place{row_, rotation_, rotation_rows_, std::vector<double>(width, 0.0),
                std::vector<double>(kContext * width, kUnknown)};
    for (size_t f = 0; f < width && !last_.empty(); ++f) {
        place.logs[kBefore * width + f] = last_[kHere * width + f];
        place.logs[kBeforeLast * width + f] = last_[kBefore * width + f];
    }
    return place;
}

std::vector<double> Rows::spread() const {
    std::vector<double> spread(spread_);
    for (double& each : spread) each = std::max(each, kLeastSpread);
    return spread;
}

// What has just begun is no measure of itself: surprises of the latest readings do not count.
double Track::surprise(double error, const Options& options) const {
    double largest = 0;
    for (size_t i = 0; i < errors_.size(); ++i)
        if (!errors_[i].surprised || i + kBeside < errors_.size())
            largest = std::max(largest, errors_[i].size);
    return options.surprise(std::abs(error), largest);
}

void Track::remember(double error, double surprise) {
    errors_.push_back({std::abs(error), surprise > 0});
    if (errors_.size() > kErrorsKept) errors_.pop_front();
}

// After a single reading nothing is known of errors: they may be as large as that.
double Track::usual_error() const {
    if (readings.size() == 1) return std::max(readings.values.front(), 1.0);
    double sum = 0;
    for (const Error& each : errors_) sum += each.size;
    return errors_.empty() ? 0 : sum / errors_.size();
}

Estimate Panel::estimate(const Readings& readings, const Allowed& allowed, const Place& place,
                         const std::vector<double>& spread, double usual_error) {
    experts.guess(readings, allowed, place, spread, guesses.data());
    sorting_.clear();
    for (size_t j = 0; j < guesses.size(); ++j) sorting_.emplace_back(guesses[j], weights[j]);
    double value = weighted_median(sorting_);
    value = std::min(value, experts.largest(readings, options.cap));
    const double foreseen = value;
    // Linear scaling, in which a reading stands for its rotation, has its share, and all of it
    // where the reading surprised.
    const auto begin = readings.rows.begin();
    const size_t right =
        std::lower_bound(begin + allowed.first, begin + allowed.last, place.row) - begin;
    size_t own = SIZE_MAX;
    for (size_t i : {right, right - 1}) {
        if (i < allowed.first || i >= allowed.last || allowed.hides(i)) continue;
        if (readings.rotations[i] != place.rotation) continue;
        if (own == SIZE_MAX ||
            std::abs(readings.rows[i] - place.row) < std::abs(readings.rows[own] - place.row))
            own = i;
    }
    if (own != SIZE_MAX && stands_for_rotation(readings, allowed, own, place.rotation_rows))
        value += std::max(readings.shares[own], readings.surprises[own]) *
                 (readings.values[own] - value);
    double apart = 0, all = 0;
    for (const auto& [guess, weight] : sorting_) {
        apart += weight * std::abs(guess - value);
        all += weight;
    }
    return {value, apart / all + usual_error, foreseen};
}

Estimate Panel::ahead(const Readings& readings, const Allowed& allowed, const Place& place,
                      const std::vector<double>& spread) {
    experts.guess_ahead(readings, allowed, place, spread, ahead_guesses.data());
    double sum = 0, all = 0, apart = 0;
    for (size_t j = 0; j < ahead_guesses.size(); ++j) {
        sum += weights[j] * ahead_guesses[j];
        all += weights[j];
    }
    const double value = sum / all;
    for (size_t j = 0; j < ahead_guesses.size(); ++j)
        apart += weights[j] * std::abs(ahead_guesses[j] - value);
    return {value, apart / all};
}

const std::vector<double>& Panel::losses(double truth) {
    lost_.resize(guesses.size());
    for (size_t j = 0; j < guesses.size(); ++j) lost_[j] = std::abs(guesses[j] - truth);
    return lost_;
}

const std::vector<double>& Panel::ahead_losses(double truth) {
    lost_.resize(ahead_guesses.size());
    for (size_t j = 0; j < ahead_guesses.size(); ++j)
        lost_[j] = (ahead_guesses[j] - truth) * (ahead_guesses[j] - truth);
    return lost_;
}

Mixture::Mixture(size_t events, size_t fixed, const Options& options)
    : options_(options), panel_(fixed, options), rows_(fixed), refused_(events, 0) {
    for (size_t e = 0; e < events; ++e)
        tracks_.emplace_back(fixed, panel_.experts.count(), panel_.experts.ahead_count());
}

Allowed Mixture::newest(const Readings& readings, size_t but) const {
    const size_t last = readings.size() - but;
    return {last > searched() ? last - searched() : 0, last};
}

void Mixture::push(const double* fixed, const double* counts, bool ends_rotation) {
    const Place next = rows_.next();
    const std::vector<double> spread_before = rows_.spread();
    const Place place = rows_.add(fixed, ends_rotation);
    const size_t width = rows_.fixed();
    const double* here = place.logs.data() + kHere * width;
    if (!places_.empty()) std::copy(here, here + width, &places_.back().logs[kAfter * width]);
    std::vector<double> read(tracks_.size(), kUnknown);
    for (size_t e = 0; e < tracks_.size(); ++e) {
        Track& track = tracks_[e];
        track.readings.learn_after(place.row, here);
        if (track.untested) test(track);
        if (!is_count(counts[e])) {
            refused_[e] += !std::isnan(counts[e]);
            continue;
        }
        read[e] = counts[e];
        if (track.readings.size() > 0) {
            track.ahead_losses.weigh(options_.sharpness, options_.enough, panel_.weights);
            const Estimate ahead =
                panel_.ahead(track.readings, newest(track.readings, 0), next, spread_before);
            const double size = ahead.size + track.usual_error();
            if (size > 0) track.ahead_interval.learn((counts[e] - ahead.value) / size);
            track.ahead_losses.add(panel_.ahead_losses(counts[e]), options_.discount);
        }
        track.readings.add(place, counts[e]);
        track.readings.keep_newest(searched() + 1);  // one may be hidden
        track.untested = true;
    }
    places_.push_back(place);
    counts_.push_back(std::move(read));
    if (places_.size() > kRowsKept) {
        places_.pop_front();
        counts_.pop_front();
    }
}

void Mixture::test(Track& track) {
    track.untested = false;
    Readings& readings = track.readings;
    if (readings.size() < 2) return;
    const double truth = readings.values.back();
    track.losses.weigh(options_.sharpness, options_.enough, panel_.weights);
    const Estimate estimate =
        panel_.estimate(readings, newest(readings, 1), readings.place(readings.size() - 1),
                        rows_.spread(), track.usual_error());
    // Whether a second reading within a rotation surprises must not depend on what the first says
    // of it: else neither could deny the other.
    const double error = truth - estimate.foreseen;
    readings.surprises.back() = track.surprise(error, options_);
    track.remember(error, readings.surprises.back());
    track.rivals.add(std::abs(error), readings.last_change());
    readings.shares.back() = track.rivals.share();
    if (estimate.size > 0) track.interval.learn((truth - estimate.value) / estimate.size);
    track.losses.add(panel_.losses(truth), options_.discount);
}

void Mixture::expected(const double* fixed, const double* counts, double* means) {
    Rows rows = rows_;
    const Place place = rows.add(fixed, false);
    const std::vector<double> spread = rows.spread();
    for (size_t e = 0; e < tracks_.size(); ++e) {
        const Track& track = tracks_[e];
        means[e] = kUnknown;
        if (!is_count(counts[e]) || track.readings.size() == 0) continue;
        track.losses.weigh(options_.sharpness, options_.enough, panel_.weights);
        means[e] = panel_.estimate(track.readings, newest(track.readings, 0), place, spread, 0).value;
    }
}

void Mixture::recent(size_t rows, const Output& output) {
    const size_t events = tracks_.size(), from = places_.size() - rows;
    const std::vector<double> spread = rows_.spread();
    for (size_t e = 0; e < events; ++e) {
        Track& track = tracks_[e];
        Readings& readings = track.readings;
        track.losses.weigh(options_.sharpness, options_.enough, panel_.weights);
        const double usual = track.usual_error();
        if (track.untested && readings.size() >= 2) {
            const Estimate hidden = panel_.estimate(
                readings, newest(readings, 1), readings.place(readings.size() - 1), spread, usual);
            const double error = readings.values.back() - hidden.foreseen;
            readings.surprises.back() = track.surprise(error, options_);
            Rivals rivals = track.rivals;
            rivals.add(std::abs(error), readings.last_change());
            readings.shares.back() = rivals.share();
        }
        for (size_t i = 0; i < rows; ++i) {
            const size_t at = i * events + e;
            const double read = counts_[from + i][e];
            if (!std::isnan(read))
                output.read(at, read);
            else if (readings.size() == 0)
                output.never_read(at);
            else
                output.estimated(at, panel_.estimate(readings, newest(readings, 0),
                                                     places_[from + i], spread, usual),
                                 track.interval);
        }
    }
}

void Mixture::ahead(size_t rows, const Output& output) {
    const size_t events = tracks_.size();
    const Place next = rows_.next();
    for (size_t e = 0; e < events; ++e) {
        Track& track = tracks_[e];
        if (track.readings.size() == 0) {
            for (size_t i = 0; i < rows; ++i) output.never_read(i * events + e);
            continue;
        }
        track.ahead_losses.weigh(options_.sharpness, options_.enough, panel_.weights);
        Estimate estimate =
            panel_.ahead(track.readings, newest(track.readings, 0), next, rows_.spread());
        estimate.size += track.usual_error();
        for (size_t i = 0; i < rows; ++i)
            output.estimated(i * events + e, estimate, track.ahead_interval,
                             std::sqrt(static_cast<double>(i + 1)));
    }
}

}  // namespace gnomon::estimate
