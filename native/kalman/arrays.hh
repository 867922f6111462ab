// Arrays and checks that the bindings of all Kalman filters share.
#pragma once

#include <cmath>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <stdexcept>
#include <string>

#include "kalman/block.hh"

namespace gnomon::kalman::binding {

namespace nb = nanobind;

using Column = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// NaN would spread to every other counter, and stay.
template <typename Array>
bool finite(const Array& values) {
    for (size_t k = 0; k < values.size(); ++k)
        if (!std::isfinite(values.data()[k])) return false;
    return true;
}

inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

template <typename Filter>
void check_places(const Filter& filter, const Places& which, const Column& values) {
    require(which.shape(0) == values.shape(0), "there must be a value for each counter read");
    for (size_t k = 0; k < which.shape(0); ++k)
        require(which.data()[k] >= 0 && static_cast<size_t>(which.data()[k]) < filter.size(),
                "there is no counter of that number");
}

template <typename Filter>
void check_out(const Filter& filter, const Out& values, const Out& variances) {
    require(values.shape(0) == filter.size() && variances.shape(0) == filter.size(),
            "results need one place a counter");
}

template <typename Filter>
void check_run(const Filter& filter, const Column& dt, const Table& read, const OutTable& values,
               const OutTable& variances) {
    require(read.shape(0) == dt.shape(0) && read.shape(1) == filter.size() &&
                values.shape(0) == dt.shape(0) && values.shape(1) == filter.size() &&
                variances.shape(0) == dt.shape(0) && variances.shape(1) == filter.size(),
            "a run is a table with a row a tick and a column a counter");
}

inline Kind kind_of(const std::string& name) {
    if (name == "random-walk") return Kind::random_walk;
    if (name == "gauss-markov") return Kind::gauss_markov;
    require(name == "integrated", "the kind is random-walk, gauss-markov or integrated");
    return Kind::integrated;
}

}  // namespace gnomon::kalman::binding
