// The Python face of counters and samples of the kernel.
#include "bindings.hh"

#include <cerrno>
#include <cstring>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "perf/event.hh"
#include "perf/group.hh"
#include "perf/known_loop.hh"
#include "perf/ring.hh"
#include "perf/spe_decode.hh"
#include "perf/ticker.hh"
#include "perf/user_read.hh"
#include "program/footprint.hh"
#include "python.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon;

namespace {

// An OSError with the number of the event that could not be opened as `event_index`.
[[noreturn]] void raise_open_failure(const OpenFailure& failure) {
    nb::object exception =
        nb::borrow(PyExc_OSError)(nb::int_(failure.error), nb::str(std::strerror(failure.error)));
    nb::setattr(exception, "event_index", nb::int_(failure.index));
    PyErr_SetObject(PyExc_OSError, exception.ptr());
    throw nb::python_error();
}

template <typename T>
nb::bytes bytes_of(const std::vector<T>& column) {
    return nb::bytes(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T));
}

constexpr size_t stack_words = 66;

template <int (Group::*reader)(uint64_t*)>
nb::object read_group(Group& group) {
    uint64_t stack[stack_words];
    std::vector<uint64_t> heap;
    uint64_t* words = stack;
    if (group.words() > stack_words) {
        heap.resize(group.words());
        words = heap.data();
    }
    if (!group.is_open()) raise_os_error(EBADF, "this group of counters is closed");
    if (int error = (group.*reader)(words)) raise_os_error(error);
    return tuple_of_words(words, group.words());
}

void bind_packets(nb::module_& m) {
    m.def(
        "spe_records",
        [](const nb::bytes& packets, uint64_t position, bool common_sources) {
            std::vector<spe::Record> records;
            const auto* data = reinterpret_cast<const unsigned char*>(packets.c_str());
            const size_t used = spe::decode(data, packets.size(), position, records);
            nb::list rows;
            for (const spe::Record& each : records)
                rows.append(nb::make_tuple(each.latency, spe::data_source(each, common_sources),
                                           each.address, each.ip, each.context));
            return nb::make_tuple(used, rows);
        },
        "packets"_a, "position"_a = 0, "common_sources"_a = false,
        "Decode packets of ARM's SPE: bytes used, and (latency, what answered, address, ip, task).");
}

}  // namespace

void bind_perf(nb::module_& m) {
    nb::class_<EventSpec>(m, "EventSpec", "What perf_event_open is asked for.")
        .def(nb::init<>())
        .def_rw("type", &EventSpec::type)
        .def_rw("config", &EventSpec::config)
        .def_rw("config1", &EventSpec::config1)
        .def_rw("config2", &EventSpec::config2)
        .def_rw("bp_type", &EventSpec::bp_type)
        .def_rw("exclude_user", &EventSpec::exclude_user)
        .def_rw("exclude_kernel", &EventSpec::exclude_kernel)
        .def_rw("exclude_hv", &EventSpec::exclude_hv)
        .def_rw("exclude_guest", &EventSpec::exclude_guest)
        .def_rw("exclude_host", &EventSpec::exclude_host)
        .def_rw("pinned", &EventSpec::pinned)
        .def_rw("exclusive", &EventSpec::exclusive)
        .def_rw("inherit", &EventSpec::inherit)
        .def_rw("enable_on_exec", &EventSpec::enable_on_exec)
        .def_rw("precise", &EventSpec::precise);

    nb::class_<SampleSpec>(m, "SampleSpec", "How an event is sampled.")
        .def(nb::init<>())
        .def_rw("period", &SampleSpec::period)
        .def_rw("frequency", &SampleSpec::frequency)
        .def_rw("callchain", &SampleSpec::callchain)
        .def_rw("weight", &SampleSpec::weight)
        .def_rw("data_source", &SampleSpec::data_source)
        .def_rw("address", &SampleSpec::address)
        .def_rw("track_maps", &SampleSpec::track_maps)
        .def_rw("wake_each", &SampleSpec::wake_each)
        .def_rw("follows", &SampleSpec::follows)
        .def_rw("aux", &SampleSpec::aux)
        .def_rw("common_sources", &SampleSpec::common_sources);

    nb::class_<Group>(m, "Group", "Events that are counted and read as a unit.")
        .def(
            "__init__",
            [](Group* self, const std::vector<EventSpec>& specs, int pid, int cpu,
               const Group* leader) {
                if (specs.empty()) raise_os_error(EINVAL, "a group needs at least one event");
                try {
                    new (self) Group(specs, pid, cpu, leader);
                } catch (const OpenFailure& failure) {
                    raise_open_failure(failure);
                }
            },
            "specs"_a, "pid"_a, "cpu"_a, "leader"_a = nb::none())
        .def("read", &read_group<&Group::read>,
             "Return (time enabled, time running, value, ...).")
        .def("read_user", &read_group<&Group::read_user>,
             "The same, without a system call where that is possible.")
        .def("map_user_pages", &Group::map_user_pages,
             "Prepare read_user; True when the kernel allows it for every event.")
        .def("enable", &Group::enable)
        .def("disable", &Group::disable)
        .def("reset", &Group::reset)
        .def("close", &Group::close)
        .def("fileno", &Group::leader_fd)
        .def_prop_ro("is_open", &Group::is_open)
        .def("__len__", &Group::size);

    nb::class_<Ticker>(m, "Ticker", "Reads groups at fixed points in time, from a thread.")
        .def(nb::init<std::vector<Group*>, uint64_t, Footprint*>(), "groups"_a, "interval_ns"_a,
             "footprint"_a = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>())
        .def("start", &Ticker::start)
        .def("stop", &Ticker::stop, nb::call_guard<nb::gil_scoped_release>())
        .def("watch_footprint", &Ticker::watch_footprint)
        .def(
            "drain", [](Ticker& ticker) { return bytes_of(ticker.drain()); },
            "Take the rows so far as bytes of native 64-bit words.")
        .def_prop_ro("row_words", &Ticker::row_words)
        .def_prop_ro("missed", &Ticker::missed);

    nb::class_<Sampler>(m, "Sampler", "Sampled events with one ring buffer a CPU.")
        .def(
            "__init__",
            [](Sampler* self, const std::vector<EventSpec>& specs,
               const std::vector<SampleSpec>& sampling, int pid, const std::vector<int>& cpus,
               size_t pages) {
                if (specs.empty() || specs.size() != sampling.size() || cpus.empty())
                    raise_os_error(EINVAL, "a sampler needs events, their sampling and CPUs");
                if (pages == 0 || (pages & (pages - 1)))
                    raise_os_error(EINVAL, "the ring must be a power of two pages long");
                try {
                    new (self) Sampler(specs, sampling, pid, cpus, pages);
                } catch (const OpenFailure& failure) {
                    raise_open_failure(failure);
                }
            },
            "specs"_a, "sampling"_a, "pid"_a, "cpus"_a, "pages"_a = 128)
        .def("enable", &Sampler::enable)
        .def("disable", &Sampler::disable)
        .def("close", &Sampler::close)
        .def("wait", &Sampler::wait, "timeout_ms"_a, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "drain",
            [](Sampler& sampler) {
                const SampleColumns columns = sampler.drain();
                nb::dict result;
                result["event"] = bytes_of(columns.event);
                result["time"] = bytes_of(columns.time);
                result["ip"] = bytes_of(columns.ip);
                result["address"] = bytes_of(columns.address);
                result["period"] = bytes_of(columns.period);
                result["weight"] = bytes_of(columns.weight);
                result["data_source"] = bytes_of(columns.data_source);
                result["pid"] = bytes_of(columns.pid);
                result["tid"] = bytes_of(columns.tid);
                result["cpu"] = bytes_of(columns.cpu);
                result["chain_frames"] = bytes_of(columns.chain_frames);
                result["chain_ends"] = bytes_of(columns.chain_ends);
                return result;
            },
            "Take the samples so far, as bytes a column.")
        .def(
            "take_maps",
            [](Sampler& sampler) {
                nb::list result;
                for (const MappedFile& map : sampler.take_maps())
                    result.append(nb::make_tuple(map.time, map.pid, map.start, map.length,
                                                 map.offset,
                                                 nb::steal(PyUnicode_DecodeFSDefault(
                                                     map.path.c_str()))));
                return result;
            },
            "Take the mapped files so far: (time, pid, start, length, offset, path).")
        .def(
            "totals",
            [](const Sampler& sampler, size_t event) {
                uint64_t words[3];
                sampler.totals(event, words);
                return tuple_of_words(words, 3);
            },
            "event"_a)
        .def_prop_ro("is_open", &Sampler::is_open)
        .def_prop_ro("lost", &Sampler::lost)
        .def_prop_ro("throttled", &Sampler::throttled);

    m.def("known_loop", &known_loop, "iterations"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Execute exactly 2 x iterations instructions, half of them taken branches.");
    m.def("known_faults", &known_faults, "pages"_a,
          "Touch this many fresh pages, a page fault each.");
    m.def("read_cycles", &read_clock, "The time stamp counter of this processor.");
    m.def("monotonic_ns", &monotonic_ns);
    bind_packets(m);
}
