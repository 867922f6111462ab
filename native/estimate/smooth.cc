// Estimates of a run that is over: every reading is hidden once, and errors on both sides count.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "estimate/mixture.hh"

namespace gnomon::estimate {

namespace {

// The losses of the experts around each reading, with its own and without.
class TwoSided {
  public:
    TwoSided(std::vector<std::vector<double>> tests, double discount, size_t experts)
        : tests_(std::move(tests)) {
        const size_t count = tests_.size();
        before_.assign(count, Losses(experts));
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

    size_t size() const { return tests_.size(); }

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
    std::vector<Losses> before_, after_;
};

// One event of a run that is over.
class Smoother {
  public:
    Smoother(Panel& panel, const std::vector<double>& spread, size_t fixed)
        : panel_(panel), options_(panel.options), spread_(spread),
          track_(fixed, panel.experts.count(), panel.experts.ahead_count()) {}

    void read(const Place& place, double count) { track_.readings.add(place, count); }

    void learn() {
        const size_t count = readings().size();
        std::vector<std::vector<double>> tests;
        Losses(panel_.experts.count()).weigh(options_.sharpness, options_.enough, panel_.weights);
        for (size_t i = 0; i < count && count > 1; ++i) {
            hidden(i);
            tests.push_back(panel_.losses(readings().values[i]));
        }
        losses_.emplace(std::move(tests), options_.discount, panel_.experts.count());
        std::vector<Estimate> estimates;
        for (size_t i = 0; i < losses_->size(); ++i) {
            weigh(losses_->at(i, false));
            estimates.push_back(hidden(i));
            errors_.push_back(readings().values[i] - estimates[i].value);
            track_.remember(errors_[i], 0);
        }
        usual_ = track_.usual_error();
        for (size_t i = 0; i < errors_.size(); ++i) {
            const double size = estimates[i].size + usual_;
            if (size > 0) track_.interval.learn(errors_[i] / size);
            readings().surprises[i] = surprise(i);
        }
        compare_with_scaling();
    }

    // A row, later than that of the call before.
    void write(const Place& place, size_t at, const Output& output) {
        const auto& rows = readings().rows;
        if (rows.empty()) return output.never_read(at);
        const auto away = [&](size_t i) { return std::abs(rows[i] - place.row); };
        while (nearest_ + 1 < rows.size() && away(nearest_ + 1) <= away(nearest_)) ++nearest_;
        if (away(nearest_) == 0) return output.read(at, readings().values[nearest_]);
        if (weighed_at_ != nearest_)
            weigh(losses_->size() ? losses_->at(nearest_, true) : Losses(panel_.experts.count()));
        weighed_at_ = nearest_;
        output.estimated(at, panel_.estimate(readings(), around(place.row), place, spread_, usual_),
                         track_.interval);
    }

  private:
    Readings& readings() { return track_.readings; }

    void weigh(const Losses& losses) {
        losses.weigh(options_.sharpness, options_.enough, panel_.weights);
    }

    Allowed around(int64_t row) {
        const auto& rows = readings().rows;
        const size_t at = std::lower_bound(rows.begin(), rows.end(), row) - rows.begin();
        const size_t half = options_.memory / 2;
        return {at > half ? at - half : 0, std::min(rows.size(), at + half + 1)};
    }

    // What is estimated of a reading when it is hidden.
    Estimate hidden(size_t i) {
        Allowed allowed = around(readings().rows[i]);
        allowed.hidden = i;
        allowed.shown = i + 1;
        return panel_.estimate(readings(), allowed, readings().place(i), spread_, 0);
    }

    // Compared with errors of other times: readings just beside it may be of the same event.
    double surprise(size_t i) const {
        double most = 0;
        const size_t first = i > kCompared ? i - kCompared : 0;
        for (size_t k = first; k < std::min(errors_.size(), i + kCompared); ++k)
            if (k + kBeside < i || k > i + kBeside) most = std::max(most, std::abs(errors_[k]));
        return options_.surprise(std::abs(errors_[i]), most);
    }

    // With all readings at hand, the model needs no credit.
    void compare_with_scaling() {
        const auto& values = readings().values;
        std::vector<Rivals> rivals(errors_.size());
        const auto add = [&](Rivals& to, size_t i) {
            to.add(std::abs(errors_[i]), i > 0 ? std::abs(values[i] - values[i - 1]) : 0);
        };
        Rivals before{.credit = 0}, after{.credit = 0};
        for (size_t i = 0; i < rivals.size(); ++i) {
            add(before, i);
            rivals[i] = before;
        }
        for (size_t i = rivals.size(); i-- > 0;) {
            Rivals later = after;
            later.fade(Rivals::kDiscount);
            rivals[i].join(later);
            readings().shares[i] = rivals[i].share();
            add(after, i);
        }
    }

    static constexpr size_t kCompared = 100;

    Panel& panel_;
    const Options& options_;
    const std::vector<double>& spread_;
    Track track_;
    std::optional<TwoSided> losses_;
    std::vector<double> errors_;
    double usual_ = 0;
    size_t nearest_ = 0;
    size_t weighed_at_ = SIZE_MAX;
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
            std::copy(here, here + fixed_count,
                      places[row - 1].logs.begin() + kAfter * fixed_count);
    }
    const std::vector<double> spread = all.spread();
    Panel panel(fixed_count, options);
    for (size_t e = 0; e < events; ++e) {
        Smoother smoother(panel, spread, fixed_count);
        for (size_t row = 0; row < rows; ++row) {
            const double count = counts[row * events + e];
            if (is_count(count)) smoother.read(places[row], count);
        }
        smoother.learn();
        for (size_t row = 0; row < rows; ++row)
            smoother.write(places[row], row * events + e, output);
    }
}

}  // namespace gnomon::estimate
