#include "bindings.hh"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <tuple>

#include "stress/bounce.hh"
#include "stress/chase.hh"
#include "stress/pages.hh"
#include "stress/team.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::stress;

namespace {

// Addresses of a, b and c (0 where there is none), elements, CPU.
using Place = nb::typed<nb::tuple, uint64_t, uint64_t, uint64_t, size_t, int>;

Lane lane_of(const nb::tuple& place) {
    auto address = [&](size_t i) { return reinterpret_cast<double*>(nb::cast<uintptr_t>(place[i])); };
    return {address(0), address(1), address(2), nb::cast<size_t>(place[3]), nb::cast<int>(place[4])};
}

Stream stream_of(int number) {
    if (number < 0 || number > static_cast<int>(Stream::triad_nt))
        throw std::invalid_argument("no such stream");
    return static_cast<Stream>(number);
}

void check(Stream stream, const Lane& lane) {
    if (!lane.b || (writes(stream) && !lane.a) || (reads_two(stream) && !lane.c))
        throw std::invalid_argument("this stream needs more memory than it was given");
}

template <typename Row>
nb::bytes bytes_of(const std::vector<Row>& rows) {
    return nb::bytes(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
}

void bind_page_work(nb::module_& m) {
    nb::class_<Pages>(m, "Pages", "Touched memory on a chosen node.")
        .def(nb::init<size_t, int, bool>(), "size"_a, "node"_a, "huge"_a,
             nb::call_guard<nb::gil_scoped_release>())
        .def("release", &Pages::release)
        .def("placement", &Pages::placement, nb::call_guard<nb::gil_scoped_release>(),
             "Pages on each node, from the kernel.")
        .def(
            "view",
            [](nb::handle self) {
                const Pages& pages = *nb::inst_ptr<Pages>(self);
                return nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(pages.data()),
                                                         static_cast<Py_ssize_t>(pages.size()),
                                                         PyBUF_WRITE));
            },
            "The memory itself; not to be used after `release`.")
        .def_prop_ro("address",
                     [](const Pages& pages) { return reinterpret_cast<uintptr_t>(pages.data()); })
        .def_prop_ro("size", &Pages::size)
        .def_prop_ro("kind", [](const Pages& pages) { return static_cast<int>(pages.kind()); })
        .def_prop_ro("why_not", &Pages::why_not);
}

using Progress = std::tuple<uintptr_t, uint64_t, int64_t>;  // where it is, loads, ns

std::byte* at(uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

Limits limits_of(double least, double most) {
    return {static_cast<int64_t>(least * 1e9), static_cast<int64_t>(most * 1e9)};
}

Progress progress_of(const Chased& chased) {
    return {reinterpret_cast<uintptr_t>(chased.at), chased.loads, chased.ns};
}

void bind_probes(nb::module_& m) {
    using WithoutGil = nb::call_guard<nb::gil_scoped_release>;
    m.def(
        "link_chase",
        [](uintptr_t base, size_t lines, size_t line_bytes, size_t group, size_t colours,
           uint64_t seed) {
            const Route route{lines, line_bytes, group, colours, seed};
            return reinterpret_cast<uintptr_t>(link_chase(at(base), route));
        },
        "base"_a, "lines"_a, "line_bytes"_a, "group"_a, "colours"_a, "seed"_a, WithoutGil(),
        "Link lines to one cycle and return the first of it.");
    m.def(
        "chase",
        [](uintptr_t start, uint64_t loads, double least, double most, int cpu) {
            return progress_of(chase(at(start), loads, limits_of(least, most), cpu));
        },
        "start"_a, "loads"_a, "least"_a, "most"_a, "cpu"_a, WithoutGil(),
        "Follow so many links, within limits in seconds: where it ended, loads, ns.");
    m.def(
        "chase_loaded",
        [](uintptr_t start, uint64_t loads, double least, double most, int cpu, int stream,
           const std::vector<Place>& places, double duty, size_t block) {
            std::vector<Lane> lanes;
            for (const Place& place : places) {
                lanes.push_back(lane_of(place));
                check(stream_of(stream), lanes.back());
            }
            Loaded loaded;
            {
                nb::gil_scoped_release release;
                loaded = chase_loaded(at(start), loads, limits_of(least, most), cpu,
                                      stream_of(stream), "", lanes, duty, block);
            }
            std::vector<std::tuple<uint64_t, int64_t>> moved;
            for (const Moved& each : loaded.moved) moved.emplace_back(each.elements, each.ns);
            return std::make_tuple(progress_of(loaded.chased), moved);
        },
        "start"_a, "loads"_a, "least"_a, "most"_a, "cpu"_a, "stream"_a, "places"_a, "duty"_a,
        "block"_a,
        "A chase while lanes stream: its result, and elements and ns of each lane.");
    m.def("core_clock", &core_clock, "seconds"_a, "cpu"_a, WithoutGil(), "Cycles a nanosecond.");
    m.def("bounce_line", &bounce, "first"_a, "second"_a, "rounds"_a, "samples"_a, "seconds"_a,
          WithoutGil(), "Nanoseconds of a transfer between two CPUs, a sample each.");
}

}  // namespace

void bind_stress(nb::module_& m) {
    bind_page_work(m);
    bind_probes(m);
    m.def("stream_widths", &widths, "Widths of instructions there are, best last.");
    m.def("has_non_temporal_stores", &has_non_temporal);
    m.def(
        "stream_once",
        [](int stream, const std::string& width, const Place& place) {
            const Lane lane = lane_of(place);
            check(stream_of(stream), lane);
            const Loop loop = loop_of(stream_of(stream), width);
            nb::gil_scoped_release release;
            return loop(lane.a, lane.b, lane.c, lane.count);
        },
        "stream"_a, "width"_a, "place"_a, "Once over the memory, on this thread; the sum of a read.");
    m.def(
        "stream_rounds",
        [](int stream, const std::string& width, const std::vector<Place>& places, unsigned rounds,
           unsigned repeats, double seconds) {
            std::vector<Lane> lanes;
            for (const Place& place : places) {
                lanes.push_back(lane_of(place));
                check(stream_of(stream), lanes.back());
            }
            std::vector<Round> found;
            {
                nb::gil_scoped_release release;
                found = run_rounds(stream_of(stream), width, lanes, rounds, repeats, seconds);
            }
            return bytes_of(found);
        },
        "stream"_a, "width"_a, "places"_a, "rounds"_a, "repeats"_a, "seconds"_a,
        "Begin and end in ns (int64) of each round on each thread.");
    m.def(
        "stream_load",
        [](int stream, const std::string& width, const Place& place, double seconds, double duty,
           size_t block) {
            const Lane lane = lane_of(place);
            check(stream_of(stream), lane);
            Moved moved;
            {
                nb::gil_scoped_release release;
                moved = run_load(stream_of(stream), width, lane, seconds, duty, block, nullptr);
            }
            return std::make_tuple(moved.elements, moved.ns);
        },
        "stream"_a, "width"_a, "place"_a, "seconds"_a, "duty"_a, "block"_a,
        "Stream for a time on this thread: elements of each stream, ns.");
}
