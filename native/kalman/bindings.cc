#include "bindings.hh"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <vector>

#include "kalman/arrays.hh"
#include "kalman/joint.hh"
#include "kalman/lowrank.hh"

using namespace nanobind::literals;
using namespace gnomon::kalman;
using namespace gnomon::kalman::binding;
namespace nb = nanobind;

namespace {

// What all filters offer alike.
template <typename Filter, typename Class>
void bind_common(Class& bound) {
    bound.def("__len__", &Filter::size)
        .def(
            "show",
            [](const Filter& f, const Out& values, const Out& variances) {
                check_out(f, values, variances);
                f.show(values.data(), variances.data());
            },
            "values"_a, "variances"_a, "Write the present values and variances.")
        .def(
            "forecast",
            [](const Filter& f, double dt, const Out& values, const Out& variances) {
                check_out(f, values, variances);
                f.forecast(dt, values.data(), variances.data());
            },
            "dt"_a, "values"_a, "variances"_a, "Write what they will be after dt seconds.");
}

template <typename Filter, typename Class>
void bind_dense(Class& bound) {
    bound
        .def(
            "step",
            [](Filter& f, double dt, const Places& which, const Column& values) {
                check_places(f, which, values);
                return f.step(dt, which.data(), values.data(), which.shape(0));
            },
            "dt"_a, "which"_a, "values"_a,
            "Let dt pass, then take in readings; False when dt is not above zero.")
        .def(
            "covariance",
            [](const Filter& f, const OutTable& full) {
                require(full.shape(0) == f.size() && full.shape(1) == f.size(),
                        "a covariance has a row and a column a counter");
                f.covariance(full.data());
            },
            "full"_a, "Write the covariance of the values.")
        .def_prop_ro("invalid", &Filter::invalid);
}

void bind_block(nb::module_& m) {
    nb::class_<BlockFilter> bound(m, "BlockFilter", "Kalman filters of independent counters.");
    bound.def(
        "__init__",
        [](BlockFilter* self, const std::string& kind, size_t count, double gate,
           unsigned patience) {
            new (self) BlockFilter(kind_of(kind), count, {gate, patience});
        },
        "kind"_a, "count"_a, "gate"_a = 0.0, "patience"_a = 1);
    bind_common<BlockFilter>(bound);
    bound
        .def(
            "describe",
            [](BlockFilter& f, const Places& which, const Column& mean, const Column& scale,
               const Column& beta, const Column& noise) {
                check_places(f, which, mean);
                check_places(f, which, scale);
                check_places(f, which, beta);
                check_places(f, which, noise);
                for (size_t k = 0; k < which.shape(0); ++k) {
                    const Counter c{mean.data()[k], scale.data()[k], beta.data()[k],
                                    noise.data()[k]};
                    require(std::isfinite(c.mean) && std::isfinite(c.scale) && c.scale > 0 &&
                                std::isfinite(c.beta) && c.beta >= 0 && std::isfinite(c.noise) &&
                                c.noise >= 0,
                            "scale must be above zero, beta and noise not below, all finite");
                    f.describe(static_cast<size_t>(which.data()[k]), c);
                }
            },
            "which"_a, "mean"_a, "scale"_a, "beta"_a, "noise"_a,
            "Give counters their parameters; values and variances stay what they are.")
        .def(
            "place",
            [](BlockFilter& f, const Places& which, const Column& values, const Column& variances,
               const Column& slopes, const Column& slope_variances) {
                check_places(f, which, values);
                check_places(f, which, variances);
                check_places(f, which, slopes);
                check_places(f, which, slope_variances);
                require(finite(values) && finite(variances) && finite(slopes) &&
                            finite(slope_variances),
                        "values and variances must be finite");
                for (size_t k = 0; k < which.shape(0); ++k)
                    f.place(static_cast<size_t>(which.data()[k]), values.data()[k],
                            variances.data()[k], slopes.data()[k], slope_variances.data()[k]);
            },
            "which"_a, "values"_a, "variances"_a, "slopes"_a, "slope_variances"_a,
            "Set values and variances, in the units of readings.")
        .def("predict", &BlockFilter::predict, "dt"_a,
             "Let dt seconds pass; False when dt is not above zero.")
        .def(
            "correct",
            [](BlockFilter& f, const Places& which, const Column& values) {
                check_places(f, which, values);
                f.correct(which.data(), values.data(), which.shape(0));
            },
            "which"_a, "values"_a, "Take in readings of some counters.")
        .def(
            "step",
            [](BlockFilter& f, double dt, const Places& which, const Column& values) {
                check_places(f, which, values);
                const bool moved = f.predict(dt);
                f.correct(which.data(), values.data(), which.shape(0));
                return moved;
            },
            "dt"_a, "which"_a, "values"_a, "predict, then correct.")
        .def(
            "block",
            [](const BlockFilter& f, size_t i) {
                require(i < f.size(), "there is no counter of that number");
                std::vector<double> out(5);
                f.block(i, out.data());
                return out;
            },
            "index"_a, "Level, slope, p11, p12, p22 of a counter, in units of its scale.")
        .def(
            "smooth",
            [](const BlockFilter& f, const Column& dt, const Table& read, const OutTable& values,
               const OutTable& variances) {
                check_run(f, dt, read, values, variances);
                nb::gil_scoped_release release;
                f.smooth(dt.data(), read.data(), dt.shape(0), values.data(), variances.data());
            },
            "dt"_a, "read"_a, "values"_a, "variances"_a,
            "Write what a whole run says of each tick, from the present state on.")
        .def_prop_ro("refused", [](const BlockFilter& f) { return f.tally().refused; })
        .def_prop_ro("reopened", [](const BlockFilter& f) { return f.tally().reopened; })
        .def_prop_ro("invalid", [](const BlockFilter& f) { return f.tally().invalid; });
}

void bind_joint(nb::module_& m) {
    nb::class_<JointFilter> bound(m, "JointFilter", "A Kalman filter with a full covariance.");
    bound.def(nb::init<size_t, bool>(), "count"_a, "walks"_a);
    bind_common<JointFilter>(bound);
    bind_dense<JointFilter>(bound);
    bound
        .def(
            "describe",
            [](JointFilter& f, const Column& beta, const Table& spread, const Column& noise) {
                require(beta.shape(0) == f.size() && noise.shape(0) == f.size() &&
                            spread.shape(0) == f.size() && spread.shape(1) == f.size(),
                        "parameters need one place a counter");
                require(finite(beta) && finite(spread) && finite(noise),
                        "parameters must be finite");
                for (size_t i = 0; i < f.size() && !f.walks(); ++i)
                    require(beta.data()[i] > 0, "beta must be above zero");
                f.describe(beta.data(), spread.data(), noise.data());
            },
            "beta"_a, "spread"_a, "noise"_a)
        .def(
            "place",
            [](JointFilter& f, const Column& values, const Table& covariance) {
                require(values.shape(0) == f.size() && covariance.shape(0) == f.size() &&
                            covariance.shape(1) == f.size(),
                        "a state needs one place a counter");
                require(finite(values) && finite(covariance), "states must be finite");
                f.place(values.data(), covariance.data());
            },
            "values"_a, "covariance"_a)
        .def(
            "smooth",
            [](const JointFilter& f, const Column& dt, const Table& read, const OutTable& values,
               const OutTable& variances) {
                check_run(f, dt, read, values, variances);
                nb::gil_scoped_release release;
                f.smooth(dt.data(), read.data(), dt.shape(0), values.data(), variances.data());
            },
            "dt"_a, "read"_a, "values"_a, "variances"_a,
            "Write what a whole run says of each tick, from the present state on.");
}

void bind_lowrank(nb::module_& m) {
    nb::class_<LowRankFilter> bound(m, "LowRankFilter",
                                    "A Kalman filter of very many counters with few causes.");
    bound.def(
        "__init__",
        [](LowRankFilter* self, size_t count, size_t factors, size_t rank, double beta) {
            require(rank >= factors && rank > 0 && beta >= 0,
                    "the rank is at least the number of factors, and beta not below zero");
            new (self) LowRankFilter(count, factors, rank, beta);
        },
        "count"_a, "factors"_a, "rank"_a, "beta"_a = 0.0);
    bind_common<LowRankFilter>(bound);
    bind_dense<LowRankFilter>(bound);
    bound
        .def(
            "describe",
            [](LowRankFilter& f, const Table& loadings, const Column& own, const Column& noise) {
                require(loadings.shape(0) == f.size() &&
                            loadings.shape(1) == f.factors() && own.shape(0) == f.size() &&
                            noise.shape(0) == f.size(),
                        "parameters need one place a counter, and loadings one a factor");
                require(finite(loadings) && finite(own) && finite(noise),
                        "parameters must be finite");
                f.describe(loadings.data(), own.data(), noise.data());
            },
            "loadings"_a, "own"_a, "noise"_a)
        .def(
            "place",
            [](LowRankFilter& f, const Column& values, const Column& variances) {
                require(values.shape(0) == f.size() && variances.shape(0) == f.size(),
                        "a state needs one place a counter");
                require(finite(values) && finite(variances), "states must be finite");
                f.place(values.data(), variances.data());
            },
            "values"_a, "variances"_a);
}

}  // namespace

void bind_kalman(nb::module_& m) {
    bind_block(m);
    bind_joint(m);
    bind_lowrank(m);
    bind_learning_kalman(m);
}
