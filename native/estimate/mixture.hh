// Many experts for each event, weighted by how well they guessed readings that were hidden from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "estimate/ahead.hh"
#include "estimate/experts.hh"
#include "estimate/interval.hh"
#include "estimate/losses.hh"
#include "estimate/neighbours.hh"
#include "estimate/rows.hh"
#include "estimate/sightings.hh"

namespace gnomon::estimate {

struct Options {
    size_t memory = 400;       // readings of an event that are searched
    size_t calibrated = 2500;  // rows of a calibration that are searched as well
    double faded = 0.3;        // what losses in a calibration count for in the run after it
    double discount = 0.98;    // of an expert's loss, from one reading to the next
    bool blind = false;        // the fixed counters tell nothing of the state
    double sharpness = 6;      // how fast weights fall with loss
    double enough = 10;        // tests after which weights are as sharp as that
    double ripe = 20;          // tests after which experts have gained what they gain
    double age = 0.4;          // how fast what goes by time grows old with the distance of rows
    double surprising = 5;     // an error in units of the largest so far that begins to surprise
    double unheard_of = 15;    // and that for which the reading is taken instead
    double similar = 6;        // how far rows may be from a reading that surprised

    // How surprising an error is, from 0, as large as others, to 1, unheard of.
    double surprise(double error, double largest) const {
        if (largest <= 0) return 0;
        return std::clamp((error / largest - surprising) / (unheard_of - surprising), 0.0, 1.0);
    }
};

// Readings beside one that may tell of the same change.
constexpr size_t kBeside = 2;

// How a reading differed from what was foreseen of it, and how much that surprised: from 0, as
// others, to 1, unlike anything before.
struct Surprise {
    double error = 0;
    double share = 0;
};

struct Estimate {
    double value;
    double size;      // of its error, as far as experts disagree and have been wrong
    double foreseen;  // before a reading that surprised has its say

    // Lean towards the reading of the same rotation as far as it surprised.
    void lean(const Sightings& sightings, const Allowed& allowed,
              const std::vector<double>& values, const std::vector<Surprise>& surprises,
              const Place& place, const std::vector<float>& spread, double similar);
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
    void estimated(size_t at, const Estimate& estimate, const Reach& reach) const {
        const auto [least, most] = std::minmax(estimate.value, estimate.foreseen);
        mean[at] = estimate.value;
        low[at] = std::max(0.0, least + reach.low * estimate.size);
        high[at] = most + reach.high * estimate.size;
        deviation[at] = reach.deviation * estimate.size;
    }
};

// The readings of one event and what was learnt from hiding them.
class Track {
  public:
    Track(size_t fixed, size_t experts) : losses(experts), regressions(fixed) {}

    Surprise surprise(double error, const Options& options) const;
    void remember(double error, double surprise);
    double usual_error() const;

    std::vector<double> values;  // in step with the sightings of its group
    std::vector<Surprise> surprises;
    Losses losses;
    Regressions regressions;  // without the newest reading until that was tested
    Interval interval;
    Foresight foresight;

  private:
    struct Error {
        double size;
        bool surprised;
    };
    std::deque<Error> errors_;  // newest last
};

// Events that have always been read together, and when.
struct Group {
    Sightings sightings;
    std::vector<size_t> events;
    bool untested = false;  // the newest reading waits for the row after it
};

// The experts at work on one row, and what their guesses add up to.
class Panel {
  public:
    Panel(size_t fixed, const Options& options)
        : options(options), experts(fixed, options.blind), weights(experts.count()), guesses(experts.count()),
          asked(experts.count()), all(experts.count(), 1) {}

    // Weights for an event, and what has to be searched to have the guesses that count.
    Wanted weigh(const Losses& losses, double age);
    Estimate estimate(double usual_error);

    const Options options;
    Experts experts;
    Neighbours near;
    std::vector<double> weights, guesses, line;
    std::vector<uint8_t> asked;  // experts with a weight
    const std::vector<uint8_t> all;

  private:
    std::vector<Guess> sorting_;
};

class Mixture {
  public:
    Mixture(size_t events, size_t fixed, const Options& options);

    // Rows in which all events were read, before the first that is pushed; in the run they will
    // be read every so many rows.
    void calibrate(size_t rows, const double* fixed, const double* counts, size_t turns);

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
    void take(const Place& place, const double* counts);
    void split(const std::vector<double>& read);
    void test(Group& group);
    void learn(Track& track, double truth, const Estimate& estimate);
    void settle(Group& group);
    void test_ahead(const Group& group, const std::vector<float>& spread, const double* counts);
    Allowed newest(const Sightings& sightings, size_t but) const;
    size_t searched() const { return options_.memory + calibrated_; }

    Options options_;
    Panel panel_;
    Searcher searcher_;
    Rows rows_;
    std::vector<Track> tracks_;
    std::vector<Group> groups_;
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
