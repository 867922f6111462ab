// Learning from rows in which every event was read, before a run in which they take turns.
#include <algorithm>
#include <cmath>

#include "estimate/mixture.hh"

namespace gnomon::estimate {

void Mixture::calibrate(size_t rows, const double* fixed, const double* counts) {
    const size_t events = tracks_.size(), width = rows_.fixed();
    calibrated_ = std::min(rows, options_.calibrated);
    for (size_t row = 0; row < rows; ++row) {
        const Place place = rows_.add(fixed + row * width, row + 1 == rows || (row + 1) % events == 0);
        for (size_t e = 0; e < events; ++e) {
            const double count = counts[row * events + e];
            Readings& readings = tracks_[e].readings;
            readings.learn_after(place.row, place.logs.data() + kHere * width);
            if (!is_count(count)) continue;
            readings.add(place, count);
            readings.keep_newest(searched() + 1);
        }
    }
    // Act as if events had taken turns: a reading is guessed from those that are at least a
    // rotation away, and guesses by time see one reading a rotation, and none after it.
    const std::vector<double> spread = rows_.spread();
    for (Track& track : tracks_) {
        const Readings& readings = track.readings;
        for (size_t i = 2 * events; i < readings.size(); i += events) {
            Allowed allowed{0, readings.size()};
            allowed.hidden = allowed.until = i - events + 1;
            allowed.shown = i + events;
            allowed.stride = events;
            const double truth = readings.values[i], usual = track.usual_error();
            track.losses.weigh(options_.sharpness, options_.enough, panel_.weights);
            const Estimate estimate =
                panel_.estimate(readings, allowed, readings.place(i), spread, usual);
            track.remember(truth - estimate.value, 0);
            track.rivals.add(std::abs(truth - estimate.value),
                             std::abs(truth - readings.values[i - events]));
            if (estimate.size > 0) track.interval.learn((truth - estimate.value) / estimate.size);
            track.losses.add(panel_.losses(truth), options_.discount);
        }
        track.losses.fade(options_.faded);
        track.rivals.fade(options_.faded);
    }
}

}  // namespace gnomon::estimate
