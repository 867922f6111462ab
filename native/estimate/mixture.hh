// Many experts a counter, weighted by how well they guessed readings that were hidden from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "estimate/experts.hh"
#include "estimate/interval.hh"
#include "estimate/losses.hh"
#include "estimate/readings.hh"

namespace gnomon::estimate {

inline bool is_count(double value) { return std::isfinite(value) && value >= 0; }

struct Options {
    size_t memory = 400;         // readings of an event that are searched
    size_t calibrated = 2500;    // rows of a calibration that are searched as well
    double faded = 0.3;          // what losses in a calibration count for in the run after it
    double discount = 0.98;      // of an expert's loss, from one reading to the next
    double sharpness = 10;       // how fast weights fall with loss
    double enough = 10;          // tests after which weights are as sharp as that
    double surprising = 1.5;     // an error in units of the largest so far that begins to surprise
    double unheard_of = 2.5;     // and that for which the reading is taken instead
    size_t cap = 40;             // no estimate is larger than so many readings nearest in time

    // How surprising an error is, from 0, as large as others, to 1, unheard of.
    double surprise(double error, double largest) const {
        if (largest <= 0) return error > 0;
        return std::clamp((error / largest - surprising) / (unheard_of - surprising), 0.0, 1.0);
    }
};

// Readings beside one that may tell of the same change.
constexpr size_t kBeside = 2;

struct Estimate {
    double value;
    double size;  // of its error, as far as experts disagree and have been wrong
    double foreseen = value;  // before linear scaling has its say
};

// Where estimates go: arrays of rows x events.
struct Output {
    double* mean;
    double* deviation;
    double* low;
    double* high;

    void read(size_t at, double value) const {
        mean[at] = low[at] = high[at] = value;
        deviation[at] = 0;
    }
    void never_read(size_t at) const { mean[at] = low[at] = high[at] = deviation[at] = kUnknown; }
    void estimated(size_t at, const Estimate& estimate, const Interval& interval,
                   double growth = 1) const {
        const double size = estimate.size * growth;
        const auto [least, most] = std::minmax(estimate.value, estimate.foreseen);
        mean[at] = estimate.value;
        low[at] = std::max(0.0, least + interval.low() * size);
        high[at] = most + interval.high() * size;
        deviation[at] = interval.deviation() * size;
    }
};

// The rows so far: what the fixed counters said, and how much their logarithms usually vary.
class Rows {
  public:
    explicit Rows(size_t fixed) : mean_(fixed, 0.0), spread_(fixed, 0.0), seen_(fixed, 0) {}

    // The next row; its context after it comes with the row after it.
    Place add(const double* fixed, bool ends_rotation);
    Place next() const;  // the row to come
    std::vector<double> spread() const;
    size_t fixed() const { return mean_.size(); }

  private:
    std::vector<double> mean_, spread_;
    std::vector<int64_t> seen_;
    std::vector<double> last_;  // kContext x fixed counters of the newest row
    int64_t row_ = 0, rotation_ = 0;
    int64_t begun_ = 0, rotation_rows_ = 0;  // where this rotation began; rows of the one before
};

// The readings of one event and what was learnt from hiding them.
class Track {
  public:
    Track(size_t fixed, size_t experts, size_t ahead_experts)
        : readings(fixed), losses(experts), ahead_losses(ahead_experts) {}

    double surprise(double error, const Options& options) const;
    void remember(double error, double surprise);
    double usual_error() const;

    Readings readings;
    Losses losses, ahead_losses;
    Rivals rivals;
    Interval interval, ahead_interval;
    bool untested = false;  // the newest reading waits for the row after it

  private:
    struct Error {
        double size;
        bool surprised;
    };
    std::deque<Error> errors_;  // newest last
};

// Experts and the way to make one estimate of their guesses.
class Panel {
  public:
    Panel(size_t fixed, const Options& options) : options(options), experts(fixed),
        guesses(experts.count()), ahead_guesses(experts.ahead_count()) {}

    Estimate estimate(const Readings& readings, const Allowed& allowed, const Place& place,
                      const std::vector<double>& spread, double usual_error);
    Estimate ahead(const Readings& readings, const Allowed& allowed, const Place& place,
                   const std::vector<double>& spread);
    // What each expert lost at the last estimate, given the truth.
    const std::vector<double>& losses(double truth);
    const std::vector<double>& ahead_losses(double truth);

    const Options options;
    Experts experts;
    std::vector<double> guesses, ahead_guesses, weights;

  private:
    std::vector<double> lost_;
    std::vector<Weighted> sorting_;
};

class Mixture {
  public:
    Mixture(size_t events, size_t fixed, const Options& options);

    // Rows in which all events were read, before the first that is pushed.
    void calibrate(size_t rows, const double* fixed, const double* counts);

    // The next row; NaN where an event was not read. What is no count is taken as not read.
    void push(const double* fixed, const double* counts, bool ends_rotation);

    // What would be said of the readings of the row to come if they had not been made.
    void expected(const double* fixed, const double* counts, double* means);

    void recent(size_t rows, const Output& output);
    void ahead(size_t rows, const Output& output);

    size_t events() const { return tracks_.size(); }
    size_t fixed() const { return rows_.fixed(); }
    size_t kept() const { return places_.size(); }
    const std::vector<int64_t>& refused() const { return refused_; }

  private:
    void test(Track& track);
    Allowed newest(const Readings& readings, size_t but) const;
    size_t searched() const { return options_.memory + calibrated_; }

    Options options_;
    Panel panel_;
    Rows rows_;
    std::vector<Track> tracks_;
    std::deque<Place> places_;
    std::deque<std::vector<double>> counts_;
    std::vector<int64_t> refused_;
    size_t calibrated_ = 0;
};

// All rows of a run that is over, each from readings before and after it.
void smooth(size_t rows, size_t events, size_t fixed_count, const double* fixed,
            const double* counts, const bool* ends_rotation, const Options& options,
            const Output& output);

}  // namespace gnomon::estimate
