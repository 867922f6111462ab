#include <nanobind/stl/string.h>

#include "kalman/adaptive.hh"
#include "kalman/adaptive_joint.hh"
#include "kalman/arrays.hh"
#include "bindings.hh"
#include "kalman/joint.hh"
#include "kalman/lowrank.hh"

using namespace nanobind::literals;
using namespace gnomon::kalman;
using namespace gnomon::kalman::binding;
namespace nb = nanobind;

namespace {

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
            [](AdaptiveBlock& f, size_t i, double mean, double sigma, double beta, double noise) {
                require(i < f.size() && std::isfinite(mean) && std::isfinite(sigma) && sigma > 0 &&
                            std::isfinite(beta) && beta >= 0 && std::isfinite(noise) && noise >= 0,
                        "sigma must be above zero, beta and noise not below, all finite");
                f.give(i, mean, sigma, beta, noise);
            },
            "index"_a, "mean"_a, "sigma"_a, "beta"_a, "noise"_a = 0.0, "Let a process be known beforehand.")
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

void bind_learning_kalman(nb::module_& m) {
    bind_adaptive(m);
    bind_adaptive_joint<AdaptiveJoint<JointFilter>>(
        m, "AdaptiveJoint", "Filters that learn how counters move with those always read.");
    bind_adaptive_joint<AdaptiveJoint<LowRankFilter>>(
        m, "AdaptiveLowRank", "The same for very many counters.");
}
