// Estimates of a run that is over: every reading is hidden once, and errors on both sides count.
#include "estimate/mixture.hh"

namespace gnomon::estimate {

namespace {

// What experts said of each reading when it was hidden, and what they lost around it.
class TwoSided {
  public:
    TwoSided(size_t experts, double discount) : experts_(experts), discount_(discount), before_(experts) {}

    void add(const std::vector<double>& guesses, double truth) {
        guesses_.insert(guesses_.end(), guesses.begin(), guesses.end());
        truths_.push_back(truth);
    }
    size_t size() const { return truths_.size(); }
    const double* guesses(size_t i) const { return guesses_.data() + i * experts_; }

    // Losses of what comes after each reading; then readings are asked for one after the other.
    void look_back() {
        after_.assign(size(), Losses(experts_));
        for (size_t i = size(); i-- > 1;) {
            after_[i - 1] = after_[i];
            after_[i - 1].add(guesses(i), truths_[i], discount_);
        }
        begin();
    }
    void begin() {
        at_ = 0;
        before_ = Losses(experts_);
    }
    // Of a reading that is not before the one asked for last.
    Losses at(size_t i, bool with_own) {
        for (; at_ < i; ++at_) before_.add(guesses(at_), truths_[at_], discount_);
        Losses losses = before_;
        for (size_t j = 0; j < experts_; ++j) {
            losses.sums[j] += after_[i].sums[j];
            if (with_own) losses.sums[j] += std::abs(guesses(i)[j] - truths_[i]);
        }
        losses.tests += after_[i].tests + with_own;
        return losses;
    }

  private:
    size_t experts_;
    double discount_;
    std::vector<double> guesses_, truths_;
    std::vector<Losses> after_;
    Losses before_;
    size_t at_ = 0;
};

// Regressions around each reading, with its own and without.
class Lines {
  public:
    Lines(const Sightings& sightings, const std::vector<double>& values)
        : sightings_(sightings), values_(values), before_(sightings.fixed) {
        after_.assign(values.size() + 1, Regressions(sightings.fixed));
        for (size_t i = values.size(); i-- > 0;) {
            after_[i] = after_[i + 1];
            after_[i].add(sightings.place(i), values[i]);
        }
        begin();
    }
    void begin() {
        at_ = 0;
        before_ = Regressions(sightings_.fixed);
    }
    void at(size_t i, bool with_own, std::vector<double>& line) {
        for (; at_ < i; ++at_) before_.add(sightings_.place(at_), values_[at_]);
        Regressions both = before_, rest = after_[i + 1];
        if (with_own)
            both.add(sightings_.place(i), values_[i]);
        else
            both.fade();
        rest.fade();
        both.join(rest);
        both.fit(line);
    }

  private:
    const Sightings& sightings_;
    const std::vector<double>& values_;
    Regressions before_;
    std::vector<Regressions> after_;
    size_t at_ = 0;
};

// One event of a run that is over.
class Smoother {
  public:
    Smoother(Panel& panel, const Rows& rows, const std::vector<float>& spread, size_t fixed)
        : panel_(panel), options_(panel.options), rows_(rows), spread_(spread), sightings_(fixed),
          losses_(panel.experts.count(), panel.options.discount) {}

    void read(const Place& place, double count) {
        sightings_.add(place);
        values_.push_back(count);
    }

    void learn() {
        const size_t count = values_.size();
        lines_ = std::make_unique<Lines>(sightings_, values_);
        for (size_t i = 0; i < count && count > 1; ++i) {
            Allowed allowed = around(sightings_.rows[i]);
            allowed.hidden = i;
            allowed.shown = i + 1;
            const Place place = sightings_.place(i);
            lines_->at(i, false, panel_.line);
            panel_.near.find(sightings_, allowed, place, spread_, kAllWanted);
            panel_.experts.guess(sightings_, panel_.near, place, values_, panel_.line, panel_.all,
                                 panel_.guesses.data());
            losses_.add(panel_.guesses, values_[i]);
        }
        losses_.look_back();
        std::vector<double> sizes;
        for (size_t i = 0; i < losses_.size(); ++i) {
            panel_.weigh(losses_.at(i, false), 1);
            std::copy_n(losses_.guesses(i), panel_.guesses.size(), panel_.guesses.begin());
            const Estimate estimate = panel_.estimate(0);
            errors_.push_back(values_[i] - estimate.value);
            sizes.push_back(estimate.size);
            usual_ += std::abs(errors_[i]) / static_cast<double>(losses_.size());
        }
        if (count == 1) usual_ = std::max(values_[0], 1.0);
        std::vector<double> relative;
        for (size_t i = 0; i < errors_.size(); ++i) {
            if (sizes[i] + usual_ > 0) relative.push_back(errors_[i] / (sizes[i] + usual_));
            surprises_.push_back({errors_[i], surprise(i)});
        }
        std::sort(relative.begin(), relative.end());
        reach_ = Reach::of(relative);
        losses_.begin();
        lines_->begin();
    }

    // A row, later than that of the call before.
    void write(const Place& place, size_t at, const Output& output) {
        const auto& rows = sightings_.rows;
        if (rows.empty()) return output.never_read(at);
        const auto away = [&](size_t i) { return std::abs(rows[i] - place.row); };
        while (nearest_ + 1 < rows.size() && away(nearest_ + 1) <= away(nearest_)) ++nearest_;
        if (away(nearest_) == 0) return output.read(at, values_[nearest_]);
        if (learnt_at_ != nearest_) {
            if (losses_.size()) around_ = losses_.at(nearest_, true);
            lines_->at(nearest_, true, line_);
            learnt_at_ = nearest_;
        }
        const double age =
            std::pow(rows_.apart(away(nearest_), sightings_.gap()), options_.age);
        const Wanted wanted = panel_.weigh(around_, age);
        const Allowed allowed = around(place.row);
        panel_.near.find(sightings_, allowed, place, spread_, wanted);
        panel_.experts.guess(sightings_, panel_.near, place, values_, line_, panel_.asked,
                             panel_.guesses.data());
        Estimate estimate = panel_.estimate(usual_);
        if (!surprises_.empty())
            estimate.lean(sightings_, allowed, values_, surprises_, place, spread_,
                          options_.similar);
        output.estimated(at, estimate, reach_);
    }

  private:
    Allowed around(int64_t row) {
        const auto& rows = sightings_.rows;
        const size_t at = std::lower_bound(rows.begin(), rows.end(), row) - rows.begin();
        const size_t half = options_.memory / 2;
        return {at > half ? at - half : 0, std::min(rows.size(), at + half + 1)};
    }

    // Compared with errors of other times: readings just beside it may be of the same event.
    double surprise(size_t i) const {
        double most = 0;
        const size_t first = i > kCompared ? i - kCompared : 0;
        for (size_t k = first; k < std::min(errors_.size(), i + kCompared + 1); ++k)
            if (k + kBeside < i || k > i + kBeside) most = std::max(most, std::abs(errors_[k]));
        return options_.surprise(std::abs(errors_[i]), most);
    }

    static constexpr size_t kCompared = 100;

    Panel& panel_;
    const Options& options_;
    const Rows& rows_;
    const std::vector<float>& spread_;
    Sightings sightings_;
    std::vector<double> values_, errors_, line_;
    std::vector<Surprise> surprises_;
    TwoSided losses_;
    Losses around_{panel_.experts.count()};
    std::unique_ptr<Lines> lines_;
    Reach reach_{-1, 1, 1};
    double usual_ = 0;
    size_t nearest_ = 0;
    size_t learnt_at_ = SIZE_MAX;
};

}  // namespace

void smooth(size_t rows, size_t events, size_t fixed_count, const double* fixed,
            const double* counts, const bool* ends_rotation, const Options& options,
            const Output& output) {
    Rows all(fixed_count);
    std::vector<Place> places;
    for (size_t row = 0; row < rows; ++row) {
        places.push_back(all.add(fixed + row * fixed_count, ends_rotation[row]));
        for (size_t back = 1; back <= std::min<size_t>(2, row); ++back)
            places[row - back].learn(kHere + back, places[row]);
    }
    const std::vector<float> spread = all.spread();
    Panel panel(fixed_count, options);
    for (size_t e = 0; e < events; ++e) {
        Smoother smoother(panel, all, spread, fixed_count);
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
