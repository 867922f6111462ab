#include "bindings.hh"

#include <algorithm>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <vector>

#include "segments/segments.hh"
#include "segments/fit.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::segments;

namespace {

using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Shape shape_of(bool line) { return line ? Shape::line : Shape::level; }

Data data_of(const Row& x, const Rows& y) {
    if (y.shape(1) != x.shape(0) || y.shape(0) == 0)
        throw std::invalid_argument("x and y differ in length, or there is no series");
    return {x.data(), y.data(), x.shape(0), y.shape(0)};
}

nb::bytes bytes_of(const std::vector<double>& values) {
    return nb::bytes(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(double));
}

template <typename Work>
auto without_gil(const Row& x, const Rows& y, Work work) {
    const Data data = data_of(x, y);
    nb::gil_scoped_release release;
    return work(Centred(data));
}

nb::tuple tuple_of(const Split& split) {
    return nb::make_tuple(split.at, split.where, split.cost);
}

// The correlation of neighbouring residuals of the fit before and the fit after a break.
double neighbour_correlation(const Centred& data, Shape shape, size_t at) {
    const double *x = data.x(), *y = data.y();
    std::vector<double> rest(data.count());
    double squares = 0, products = 0;
    for (size_t first : {size_t{0}, at}) {
        const size_t last = first ? data.count() : at;
        Fit<Shape::line, true> fit(data);
        for (size_t i = first; i < last; ++i) fit.add(i);
        const double slope = shape == Shape::line ? fit.slope(0) : 0;
        for (size_t i = first; i < last; ++i) {
            rest[i] = y[i] - fit.mean_y(0) - slope * (x[i] - fit.mean_x());
            squares += rest[i] * rest[i];
            if (i > first) products += rest[i] * rest[i - 1];
        }
        if (at == 0) break;
    }
    return squares > 0 ? products / squares : 0;
}

// For many series one by one: costs without and with the best break, and the correlation.
std::vector<double> trials(const Row& x, const Rows& y, bool line, size_t least) {
    const Data all = data_of(x, y);
    std::vector<double> found;
    nb::gil_scoped_release release;
    for (size_t s = 0; s < all.series; ++s) {
        const Centred one({all.x, all.y + s * all.count, all.count, 1});
        const Split split = best_split(one, shape_of(line), least);
        found.push_back(whole_cost(one, shape_of(line)));
        found.push_back(split.cost);
        found.push_back(neighbour_correlation(one, shape_of(line), split.at));
    }
    return found;
}

}  // namespace

void bind_segments(nb::module_& m) {
    m.def(
        "segment_cost",
        [](const Row& x, const Rows& y, bool line) {
            return without_gil(x, y, [=](const Centred& d) { return whole_cost(d, shape_of(line)); });
        },
        "x"_a, "y"_a, "line"_a, "The residual sum of squares of one piece.");
    m.def(
        "split_costs",
        [](const Row& x, const Rows& y, bool line, size_t least) {
            return bytes_of(without_gil(
                x, y, [=](const Centred& d) { return split_costs(d, shape_of(line), least); }));
        },
        "x"_a, "y"_a, "line"_a, "least"_a, "The cost of a break before each point.");
    m.def(
        "hinge_costs",
        [](const Row& x, const Rows& y, size_t least) {
            std::vector<double> where;
            const auto costs = without_gil(
                x, y, [&](const Centred& d) { return hinge_costs(d, least, &where); });
            return nb::make_tuple(bytes_of(costs), bytes_of(where));
        },
        "x"_a, "y"_a, "least"_a, "The costs of lines that meet before each point, and where.");
    m.def(
        "best_split",
        [](const Row& x, const Rows& y, bool line, size_t least) {
            return tuple_of(without_gil(
                x, y, [=](const Centred& d) { return best_split(d, shape_of(line), least); }));
        },
        "x"_a, "y"_a, "line"_a, "least"_a, "The best break: points before it, where, cost.");
    m.def(
        "best_hinge",
        [](const Row& x, const Rows& y, size_t least) {
            return tuple_of(
                without_gil(x, y, [=](const Centred& d) { return best_hinge(d, least); }));
        },
        "x"_a, "y"_a, "least"_a, "The same for two lines that meet.");
    m.def(
        "partitions",
        [](const Row& x, const Rows& y, bool line, size_t least, size_t most) {
            const auto found = without_gil(x, y, [=](const Centred& d) {
                return partitions(d, shape_of(line), least, most);
            });
            nb::list result;
            for (const Partition& each : found)
                result.append(nb::make_tuple(each.cost, nb::cast(each.breaks)));
            return result;
        },
        "x"_a, "y"_a, "line"_a, "least"_a, "most"_a,
        "The best partitions into 1 to `most` pieces: (cost, breaks).");
    m.def(
        "segment_trials",
        [](const Row& x, const Rows& y, bool line, size_t least) {
            return bytes_of(trials(x, y, line, least));
        },
        "x"_a, "y"_a, "line"_a, "least"_a,
        "For each series alone: cost without and with its best break, and how far neighbouring "
        "residuals agree.");
}
