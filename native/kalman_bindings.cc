#include "kalman_bindings.hh"

#include <cmath>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <string>

#include "kalman_adaptive.hh"
#include "kalman_adaptive_joint.hh"
#include "kalman_block.hh"
#include "kalman_joint.hh"
#include "kalman_lowrank.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::kalman;

namespace {

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

void require(bool condition, const char* what) {
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

// What all filters offer alike.
template <typename Filter, typename Class>
void bind_common(Class& bound) {
    bound.def("__len__", &Filter::size)
        .def("clone", [](const Filter& f) { return Filter(f); }, "An independent copy.")
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

Kind kind_of(const std::string& name) {
    if (name == "random-walk") return Kind::random_walk;
    if (name == "gauss-markov") return Kind::gauss_markov;
    require(name == "integrated", "the kind is random-walk, gauss-markov or integrated");
    return Kind::integrated;
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
            "adopt",
            [](BlockFilter& f, const BlockFilter& other) {
                require(f.size() == other.size(), "both must have the same counters");
                for (size_t i = 0; i < f.size(); ++i) f.describe(i, other.counter(i));
            },
            "other"_a, "Take over the parameters of another filter.")
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
            "reopen",
            [](JointFilter& f, size_t i, double value, double variance) {
                require(i < f.size(), "there is no counter of that number");
                require(std::isfinite(value) && std::isfinite(variance) && variance >= 0,
                        "values and variances must be finite");
                f.reopen(i, value, variance);
            },
            "index"_a, "value"_a, "variance"_a, "Begin anew with a counter.")
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

Scale scale_of(const std::string& name) {
    if (name == "none") return Scale::none;
    if (name == "square-root") return Scale::square_root;
    require(name == "logarithm", "the scale is none, square-root or logarithm");
    return Scale::logarithm;
}

template <typename Filter, typename Class>
void bind_column(Class& bound, const char* name, void (Filter::*column)(double*) const,
                 const char* text) {
    bound.def(
        name,
        [column](const Filter& f, const Out& out) {
            require(out.shape(0) == f.size(), "results need one place a counter");
            (f.*column)(out.data());
        },
        "out"_a, text);
}

void bind_adaptive(nb::module_& m) {
    nb::class_<AdaptiveBlock> bound(m, "AdaptiveBlock",
                                    "Block filters that learn their parameters from readings.");
    bound
        .def(
            "__init__",
            [](AdaptiveBlock* self, const std::string& kind, size_t count,
               const std::string& scale, double memory, double gate, unsigned patience,
               bool as_published) {
                require(memory >= 2, "a memory is of at least two readings");
                new (self) AdaptiveBlock(count, {kind_of(kind), scale_of(scale), memory,
                                                 {gate, patience}, as_published});
            },
            "kind"_a, "count"_a, "scale"_a, "memory"_a, "gate"_a = 0.0, "patience"_a = 1,
            "as_published"_a = false)
        .def("__len__", &AdaptiveBlock::size)
        .def("clone", [](const AdaptiveBlock& f) { return AdaptiveBlock(f); })
        .def(
            "give",
            [](AdaptiveBlock& f, size_t i, double mean, double sigma, double beta) {
                require(i < f.size() && std::isfinite(mean) && std::isfinite(sigma) && sigma > 0 &&
                            std::isfinite(beta) && beta >= 0,
                        "sigma must be above zero and beta not below, all finite");
                f.give(i, mean, sigma, beta);
            },
            "index"_a, "mean"_a, "sigma"_a, "beta"_a, "Let a process be known beforehand.")
        .def(
            "push",
            [](AdaptiveBlock& f, double seconds, const Column& counts) {
                require(counts.shape(0) == f.size(), "a tick has one place a counter");
                f.push(seconds, counts.data());
            },
            "seconds"_a, "counts"_a, "Let a tick pass; NaN where nothing was read.")
        .def(
            "forecast",
            [](const AdaptiveBlock& f, double dt, const Out& values, const Out& variances) {
                check_out(f, values, variances);
                f.forecast(dt, values.data(), variances.data());
            },
            "dt"_a, "values"_a, "variances"_a, "Write values and variances after dt seconds.")
        .def(
            "smooth",
            [](const AdaptiveBlock& f, const AdaptiveBlock& now, const Column& seconds,
               const Table& counts, const OutTable& values, const OutTable& variances) {
                require(f.size() == now.size(), "both must have the same counters");
                check_run(f, seconds, counts, values, variances);
                nb::gil_scoped_release release;
                f.smooth(now, seconds.data(), counts.data(), seconds.shape(0), values.data(),
                         variances.data());
            },
            "now"_a, "seconds"_a, "counts"_a, "values"_a, "variances"_a,
            "Write what ticks after this state look like, with the parameters of `now`.")
        .def_prop_ro("refused", &AdaptiveBlock::refused)
        .def_prop_ro("gated", [](const AdaptiveBlock& f) { return f.tally().refused; })
        .def_prop_ro("reopened", [](const AdaptiveBlock& f) { return f.tally().reopened; });
    bind_column(bound, "widths", &AdaptiveBlock::widths, "Write factors of intervals.");
    bind_column(bound, "known", &AdaptiveBlock::known, "Write 1 for counters ever read, else 0.");
}

template <typename Filter>
void bind_adaptive_joint(nb::module_& m, const char* name, const char* text) {
    nb::class_<Filter> bound(m, name, text);
    bound
        .def(
            "__init__",
            [](Filter* self, size_t fixed, size_t count, const std::string& scale,
               double memory) {
                require(memory >= 2, "a memory is of at least two readings");
                new (self) Filter(fixed, count, scale_of(scale), memory);
            },
            "fixed"_a, "count"_a, "scale"_a, "memory"_a)
        .def("__len__", &Filter::size)
        .def("clone", [](const Filter& f) { return Filter(f); })
        .def(
            "push",
            [](Filter& f, double seconds, const Column& fixed, const Column& counts) {
                require(counts.shape(0) == f.size() && fixed.shape(0) == f.fixed(),
                        "a tick has one place a counter");
                f.push(seconds, fixed.data(), counts.data());
            },
            "seconds"_a, "fixed"_a, "counts"_a, "Let a tick pass; NaN where nothing was read.")
        .def(
            "forecast",
            [](const Filter& f, double dt, const OutTable& values, const OutTable& variances) {
                require(values.shape(0) == 2 && values.shape(1) == f.size() &&
                            variances.shape(0) == 2 && variances.shape(1) == f.size(),
                        "results need two rows and a place a counter");
                f.alone().forecast(dt, values.data(), variances.data());
                f.returning().forecast(dt, values.data() + f.size(), variances.data() + f.size());
            },
            "dt"_a, "values"_a, "variances"_a,
            "Write what walks, and what returns to the mean, will be after dt seconds.")
        .def(
            "smooth",
            [](const Filter& f, const Filter& now, const Column& seconds, const Table& fixed,
               const Table& counts, const OutTable& values, const OutTable& variances) {
                require(f.size() == now.size() && f.fixed() == now.fixed() &&
                            fixed.shape(0) == seconds.shape(0) && fixed.shape(1) == f.fixed(),
                        "both must have the same counters");
                check_run(f, seconds, counts, values, variances);
                nb::gil_scoped_release release;
                f.smooth(now, seconds.data(), fixed.data(), counts.data(), seconds.shape(0),
                         values.data(), variances.data());
            },
            "now"_a, "seconds"_a, "fixed"_a, "counts"_a, "values"_a, "variances"_a,
            "Write what ticks after this state look like, with the parameters of `now`.")
        .def_prop_ro("refused", &Filter::refused);
    bind_column(bound, "widths", &Filter::widths, "Write factors of intervals.");
    bind_column(bound, "known", &Filter::known, "Write 1 for counters ever read, else 0.");
    bind_column(bound, "trusted", &Filter::trusted, "Write 1 where fixed counters help, else 0.");
    bind_column(bound, "shares", &Filter::shares, "Write the shares of walks in predictions.");
}

}  // namespace

void bind_kalman(nb::module_& m) {
    bind_block(m);
    bind_joint(m);
    bind_lowrank(m);
    bind_adaptive(m);
    bind_adaptive_joint<AdaptiveJoint<JointFilter>>(
        m, "AdaptiveJoint", "Filters that learn how counters move with those always read.");
    bind_adaptive_joint<AdaptiveJoint<LowRankFilter>>(
        m, "AdaptiveLowRank", "The same for very many counters.");
}
