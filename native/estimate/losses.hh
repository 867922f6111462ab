// How much each expert lost on hidden readings, and the weights that follow from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gnomon::estimate {

struct Losses {
    explicit Losses(size_t experts) : sums(experts, 0.0) {}

    // Take in what each expert said of a reading; what was before fades.
    void add(const double* guesses, double truth, double discount) {
        tests = tests * discount + 1;
        for (size_t j = 0; j < sums.size(); ++j)
            sums[j] = sums[j] * discount + std::abs(guesses[j] - truth);
    }

    void add_squares(const double* guesses, double truth, double discount) {
        tests = tests * discount + 1;
        for (size_t j = 0; j < sums.size(); ++j) {
            const double error = guesses[j] - truth;
            sums[j] = sums[j] * discount + error * error;
        }
    }

    // Let what was lost so far count less.
    void fade(double by) {
        tests *= by;
        for (double& sum : sums) sum *= by;
    }

    std::vector<double> sums;
    double tests = 0;
};

}  // namespace gnomon::estimate
