// Small systems of linear equations, symmetric and positive definite.
#pragma once

#include <cmath>
#include <cstddef>

namespace gnomon::estimate {

// Cholesky's factor of the lower triangle of a matrix, in its place.
inline void factorise(double* matrix, size_t size) {
    for (size_t i = 0; i < size; ++i) {
        double* row = matrix + i * size;
        for (size_t j = 0; j < i; ++j) {
            const double* other = matrix + j * size;
            double sum = row[j];
            for (size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
            row[j] = sum / other[j];
        }
        double sum = row[i];
        for (size_t k = 0; k < i; ++k) sum -= row[k] * row[k];
        row[i] = sum > 1e-14 ? std::sqrt(sum) : 1e-7;
    }
}

// The solution for a right side, in its place, by the factor.
inline void solve(const double* factor, size_t size, double* right) {
    for (size_t i = 0; i < size; ++i) {
        double sum = right[i];
        for (size_t k = 0; k < i; ++k) sum -= factor[i * size + k] * right[k];
        right[i] = sum / factor[i * size + i];
    }
    for (size_t i = size; i-- > 0;) {
        double sum = right[i];
        for (size_t k = i + 1; k < size; ++k) sum -= factor[k * size + i] * right[k];
        right[i] = sum / factor[i * size + i];
    }
}

}  // namespace gnomon::estimate
