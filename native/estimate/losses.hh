// How much each expert lost on hidden readings, and the weights that follow from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gnomon::estimate {

struct Losses {
    explicit Losses(size_t experts) : sums(experts, 0.0) {}

    // Take in the errors of a test; what was before fades.
    void add(const std::vector<double>& errors, double discount) {
        tests = tests * discount + 1;
        for (size_t j = 0; j < sums.size(); ++j) sums[j] = sums[j] * discount + errors[j];
    }

    // Let what was lost so far count less.
    void fade(double by) {
        tests *= by;
        for (double& sum : sums) sum *= by;
    }

    // Weights fall exponentially with the loss in units of the least loss, the faster the more
    // was tested. Without a test all weight is on the first expert.
    void weigh(double sharpness, double enough, std::vector<double>& weights) const {
        weights.assign(sums.size(), 0.0);
        if (tests <= 0) {
            weights[0] = 1;
            return;
        }
        const double least = *std::min_element(sums.begin(), sums.end());
        const double slope = sharpness * std::min(1.0, tests / enough);
        for (size_t j = 0; j < sums.size(); ++j) {
            if (least <= 0)
                weights[j] = sums[j] <= 0;
            else
                weights[j] = std::exp(-slope * (sums[j] / least - 1));
        }
    }

    std::vector<double> sums;
    double tests = 0;
};

// The model and linear scaling at the same readings. What linear scaling would have lost at a
// reading is taken to be the change since the one before it.
struct Rivals {
    double model = 0, scaling = 0, tests = 0;
    double credit = 5;  // tests, before the first, in which the model is taken to have been right

    void add(double model_error, double scaling_error) {
        fade(kDiscount);
        model += model_error;
        scaling += scaling_error;
        tests += 1;
    }

    // Let what was lost so far count less.
    void fade(double by) {
        for (double* each : {&model, &scaling, &tests, &credit}) *each *= by;
    }

    void join(const Rivals& other) {
        model += other.model;
        scaling += other.scaling;
        tests += other.tests;
        credit += other.credit;
    }

    // What linear scaling has to say in an estimate: half when it is as good as the model, and
    // the less, by a power, the worse it is.
    double share() const {
        const double worse = model / scaling * (tests / (tests + credit));
        return worse > 0 ? 1 - 1 / (1 + std::pow(worse, kPower)) : 0;
    }

    static constexpr double kPower = 6;
    static constexpr double kDiscount = 0.95;  // faster than that of experts: trust is lost soon
};

}  // namespace gnomon::estimate
