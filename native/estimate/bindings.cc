#include "bindings.hh"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>

#include "estimate/mixture.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::estimate;

namespace {

using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Means = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Mean, deviation, low and high: four tables in one array.
Output output_of(const Result& result, size_t rows, size_t events) {
    if (result.shape(0) != 4 || result.shape(1) != rows || result.shape(2) != events)
        throw std::invalid_argument("the result must have 4 x rows x events values");
    const size_t one = rows * events;
    double* data = result.data();
    return {data, data + one, data + 2 * one, data + 3 * one};
}

void push(Mixture& mixture, const Row& fixed, const Row& counts, bool ends_rotation) {
    if (counts.shape(0) != mixture.events() || fixed.shape(0) != mixture.fixed())
        throw std::invalid_argument("a row has one value an event and one a fixed counter");
    mixture.push(fixed.data(), counts.data(), ends_rotation);
}

void calibrate(Mixture& mixture, const Table& fixed, const Table& counts, size_t turns) {
    if (turns == 0) throw std::invalid_argument("events take at least one turn");
    if (counts.shape(1) != mixture.events() || fixed.shape(1) != mixture.fixed() ||
        fixed.shape(0) != counts.shape(0))
        throw std::invalid_argument("a row has one value an event and one a fixed counter");
    nb::gil_scoped_release release;
    mixture.calibrate(counts.shape(0), fixed.data(), counts.data(), turns);
}

void expected(Mixture& mixture, const Row& fixed, const Row& counts, const Means& means) {
    const size_t events = mixture.events();
    if (counts.shape(0) != events || means.shape(0) != events || fixed.shape(0) != mixture.fixed())
        throw std::invalid_argument("a row has one value an event and one a fixed counter");
    mixture.expected(fixed.data(), counts.data(), means.data());
}

void recent(Mixture& mixture, const Result& result) {
    const size_t rows = result.shape(1);
    if (rows > mixture.kept()) throw std::out_of_range("more rows asked for than are kept");
    const Output output = output_of(result, rows, mixture.events());
    nb::gil_scoped_release release;  // a rotation takes longer than a tick, which must not wait
    mixture.recent(rows, output);
}

void ahead(Mixture& mixture, const Result& result) {
    mixture.ahead(result.shape(1), output_of(result, result.shape(1), mixture.events()));
}

void smooth_run(const Table& fixed, const Table& counts, const Flags& ends_rotation,
                const Options& options, const Result& result) {
    const size_t rows = counts.shape(0), events = counts.shape(1);
    if (fixed.shape(1) == 0) throw std::invalid_argument("there must be a fixed counter");
    if (fixed.shape(0) != rows || ends_rotation.shape(0) != rows)
        throw std::invalid_argument("the arrays differ in their number of rows");
    const Output output = output_of(result, rows, events);
    nb::gil_scoped_release release;
    smooth(rows, events, fixed.shape(1), fixed.data(), counts.data(), ends_rotation.data(),
           options, output);
}

}  // namespace

void bind_estimate(nb::module_& m) {
    nb::class_<Options>(m, "MixtureOptions")
        .def(nb::init<>())
        .def_rw("memory", &Options::memory)
        .def_rw("calibrated", &Options::calibrated)
        .def_rw("blind", &Options::blind);
    nb::class_<Mixture>(m, "Mixture")
        .def(nb::init<size_t, size_t, const Options&>(), "events"_a, "fixed"_a, "options"_a)
        .def("push", &push, "fixed"_a, "counts"_a, "ends_rotation"_a)
        .def("calibrate", &calibrate, "fixed"_a, "counts"_a, "turns"_a)
        .def("expected", &expected, "fixed"_a, "counts"_a, "means"_a)
        .def("recent", &recent, "result"_a)
        .def("ahead", &ahead, "result"_a)
        .def_prop_ro("kept", &Mixture::kept)
        .def_prop_ro("refused", &Mixture::refused);
    m.def("smooth_mixture", &smooth_run, "fixed"_a, "counts"_a, "ends_rotation"_a, "options"_a,
          "result"_a);
}
