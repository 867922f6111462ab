// Learning from rows in which every event was read, before a run in which they take turns.
#include "estimate/mixture.hh"

namespace gnomon::estimate {

void Mixture::calibrate(size_t rows, const double* fixed, const double* counts, size_t turns) {
    const size_t events = tracks_.size(), width = rows_.fixed();
    calibrated_ = std::min(rows, options_.calibrated);
    for (size_t row = 0; row < rows; ++row) {
        const Place place = rows_.add(fixed + row * width, row + 1 == rows || (row + 1) % turns == 0);
        for (Group& group : groups_) group.sightings.learn_after(place);
        take(place, counts + row * events);
        places_.clear();
        counts_.clear();
    }
    // Act as if events had taken turns: a reading is guessed from those that are at least a
    // rotation away, and guesses by time see one reading a rotation, and none after it.
    const std::vector<float> spread = rows_.spread();
    for (Group& group : groups_) {
        const Sightings& sightings = group.sightings;
        size_t added = 0;
        const auto add_until = [&](size_t last) {
            for (; added < last; ++added) {
                const Place place = sightings.place(added);
                for (size_t e : group.events)
                    tracks_[e].regressions.add(place, tracks_[e].values[added]);
            }
        };
        for (size_t i = 2 * turns; i < sightings.size(); i += turns) {
            Allowed allowed{0, sightings.size()};
            allowed.hidden = allowed.until = i - turns + 1;
            allowed.shown = i + turns;
            allowed.stride = turns;
            add_until(i - turns + 1);
            const Place place = sightings.place(i);
            panel_.near.find(sightings, allowed, place, spread, kAllWanted);
            for (size_t e : group.events) {
                Track& track = tracks_[e];
                track.regressions.fit(panel_.line);
                panel_.experts.guess(sightings, panel_.near, place, track.values, panel_.line,
                                     panel_.all, panel_.guesses.data());
                panel_.weigh(track.losses, 1);
                const Estimate estimate = panel_.estimate(track.usual_error());
                track.remember(track.values[i] - estimate.value, 0);
                learn(track, track.values[i], estimate);
            }
        }
        add_until(sightings.size());
        group.untested = false;
        group.sightings.usual_gap = static_cast<double>(turns);
        for (size_t e : group.events) tracks_[e].losses.fade(options_.faded);
    }
}

}  // namespace gnomon::estimate
