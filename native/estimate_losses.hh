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

}  // namespace gnomon::estimate
