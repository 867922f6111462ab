// Estimates of a run that is over: every reading is hidden once, and errors on both sides count.
#include <algorithm>
#include <cmath>

#include "estimate_mixture.hh"

namespace gnomon::estimate {

namespace {

Allowed around(const Readings& readings, int64_t row, size_t memory) {
    const auto begin = readings.rows.begin();
    const size_t at = std::lower_bound(begin, readings.rows.end(), row) - begin;
    const size_t first = at > memory / 2 ? at - memory / 2 : 0;
    return {first, std::min(readings.size(), at + memory / 2)};
}

// The losses of the experts around each reading, with its own and without.
class TwoSided {
  public:
    TwoSided(std::vector<std::vector<double>> tests, double discount)
        : tests_(std::move(tests)), discount_(discount) {
        const size_t count = tests_.size();
        before_.assign(count, Losses(count ? tests_[0].size() : 0));
        after_ = before_;
        for (size_t i = 1; i < count; ++i) {
            before_[i] = before_[i - 1];
            before_[i].add(tests_[i - 1], discount);
        }
        for (size_t i = count > 0 ? count - 1 : 0; i-- > 0;) {
            after_[i] = after_[i + 1];
            after_[i].add(tests_[i + 1], discount);
        }
    }

    Losses at(size_t i, bool with_own) const {
        Losses losses = before_[i];
        for (size_t j = 0; j < losses.sums.size(); ++j) {
            losses.sums[j] += after_[i].sums[j];
            if (with_own) losses.sums[j] += tests_[i][j];
        }
        losses.tests += after_[i].tests + with_own;
        return losses;
    }

  private:
    std::vector<std::vector<double>> tests_;
    double discount_;
    std::vector<Losses> before_, after_;
};

}  // namespace

void smooth(size_t rows, size_t events, size_t fixed_count, const double* fixed,
            const double* counts, const bool* ends_rotation, const Options& options,
            const Output& output) {
    Rows all(fixed_count);
    std::vector<Place> places;
    for (size_t row = 0; row < rows; ++row) {
        places.push_back(all.add(fixed + row * fixed_count, ends_rotation[row]));
        const double* here = places.back().logs.data() + kHere * fixed_count;
        if (row > 0)
            std::copy(here, here + fixed_count, &places[row - 1].logs[kAfter * fixed_count]);
    }
    const std::vector<double> spread = all.spread();
    Panel panel(fixed_count, options);
    for (size_t e = 0; e < events; ++e) {
        Track track(fixed_count, panel.experts.count(), panel.experts.ahead_count());
        Readings& readings = track.readings;
        for (size_t row = 0; row < rows; ++row) {
            const double count = counts[row * events + e];
            if (std::isfinite(count) && count >= 0) readings.add(places[row], count);
        }
        const size_t count = readings.size();
        std::vector<std::vector<double>> tests;
        Losses none(panel.experts.count());
        none.weigh(options.sharpness, options.enough, panel.weights);
        for (size_t i = 0; i < count && count > 1; ++i) {
            Allowed allowed = around(readings, readings.rows[i], options.memory);
            allowed.hidden = i;
            allowed.shown = i + 1;
            panel.estimate(readings, allowed, readings.place(i), spread, 0);
            tests.push_back(panel.losses(readings.values[i]));
        }
        const TwoSided losses(tests, options.discount);
        std::vector<double> errors(count, 0.0), sizes(count, 0.0);
        for (size_t i = 0; i < tests.size(); ++i) {
            Allowed allowed = around(readings, readings.rows[i], options.memory);
            allowed.hidden = i;
            allowed.shown = i + 1;
            losses.at(i, false).weigh(options.sharpness, options.enough, panel.weights);
            const Estimate hidden =
                panel.estimate(readings, allowed, readings.place(i), spread, 0);
            errors[i] = readings.values[i] - hidden.value;
            sizes[i] = hidden.size;
            track.remember(errors[i]);
        }
        const double usual = track.usual_error();
        for (size_t i = 0; i < tests.size(); ++i) {
            if (sizes[i] + usual > 0) track.interval.learn(errors[i] / (sizes[i] + usual));
            double most = 0;
            const size_t first = i > 100 ? i - 100 : 0, last = std::min(count, i + 100);
            for (size_t k = first; k < last; ++k)
                if (k + options.calm < i || k > i + options.calm) most = std::max(most, std::abs(errors[k]));
            const double by = most > 0 ? (std::abs(errors[i]) / most - options.surprising) /
                              (options.unheard_of - options.surprising) : errors[i] != 0;
            readings.surprises[i] = std::clamp(by, 0.0, 1.0);
        }
        size_t nearest = 0;
        for (size_t row = 0; row < rows; ++row) {
            const size_t at = row * events + e;
            if (count == 0) {
                output.never_read(at);
                continue;
            }
            const int64_t here = static_cast<int64_t>(row);
            const size_t before = nearest;
            while (nearest + 1 < count && std::abs(readings.rows[nearest + 1] - here) <=
                                              std::abs(readings.rows[nearest] - here))
                ++nearest;
            if (readings.rows[nearest] == here) {
                output.read(at, readings.values[nearest]);
                continue;
            }
            if (tests.empty())
                none.weigh(options.sharpness, options.enough, panel.weights);
            else if (row == 0 || nearest != before || true)
                losses.at(nearest, true).weigh(options.sharpness, options.enough, panel.weights);
            output.estimated(at, panel.estimate(readings, around(readings, here, options.memory),
                                                places[row], spread, usual),
                             track.interval);
        }
    }
}

}  // namespace gnomon::estimate
