// The Python face of the recorder, and of its parts that are tested by themselves.
#include <cerrno>
#include <cstring>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "account/bindings.hh"
#include "account/recorder.hh"
#include "frames/bindings.hh"
#include "perf/group.hh"
#include "python.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon;
using namespace gnomon::account;

namespace {

using Memory = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;

// The rows of a table, which stay as long as the recorder does.
template <typename Row>
Memory rows_of(nb::handle owner, const Table<Row>& table) {
    return Memory(table.begin(), {table.size() * sizeof(Row)}, owner);
}

template <typename T>
nb::bytes bytes_of(const std::vector<T>& values) {
    return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

RecorderOptions options_of(const nb::dict& given) {
    RecorderOptions options;
    const auto take = [&](const char* name, auto& into) {
        if (given.contains(name)) into = nb::cast<std::decay_t<decltype(into)>>(given[name]);
    };
    std::vector<uint64_t> periods{options.rings.periods[0], options.rings.periods[1]};
    take("root", options.root);
    take("started", options.started);
    take("perf", options.perf);
    take("cpus", options.rings.cpus);
    take("tasks", options.rings.tasks);
    take("kernel", options.rings.kernel);
    take("switches", options.rings.switches);
    take("periods", periods);
    take("stack_bytes", options.rings.stack_bytes);
    take("pages", options.rings.pages);
    take("timer_fd", options.timer_fd);
    take("idle_cpus", options.idle_cpus);
    take("quotas", options.quotas);
    take("folders", options.folders);
    take("memory", options.memory);
    take("most_switches", options.most_switches);
    take("descriptors", options.descriptors);
    take("looking", options.looking);
    options.rings.on_exec = options.started;
    const size_t pages = options.rings.pages;
    if (periods.size() != 2 || periods[0] < 100'000 || periods[1] < 100'000)
        raise_os_error(EINVAL, "two clocks need periods of at least 100,000 ns");
    if (pages < 8 || (pages & (pages - 1))) raise_os_error(EINVAL, "rings have 8, 16, 32 ... pages");
    if (options.rings.stack_bytes % 8 || options.rings.stack_bytes > 65000)
        raise_os_error(EINVAL, "a stack is copied in words, and below 65,000 bytes");
    if (options.root < 0 || (options.root == 0 && !options.perf))
        raise_os_error(EINVAL, "without perf, a process must be named");
    if (options.perf && options.rings.cpus.empty()) raise_os_error(EINVAL, "rings need CPUs");
    options.rings.periods[0] = periods[0];
    options.rings.periods[1] = periods[1];
    return options;
}

void make_recorder(Recorder* self, std::shared_ptr<frames::Library> library,
                   std::shared_ptr<frames::PythonFunctions> functions, const nb::dict& given) {
    RecorderOptions options = options_of(given);
    try {
        new (self) Recorder(std::move(library), std::move(functions), std::move(options));
    } catch (const OpenFailure& failure) {
        raise_os_error(failure.error);
    }
}

// A record in objects, for tests: None where it is refused.
nb::object record_object(const nb::bytes& bytes, bool with_stack, bool kernel_chain) {
    Record record;
    const auto given = frames::bytes_of_object(bytes);
    if (!parse_record(given, {17, kernel_chain}, [&](uint64_t) { return with_stack; }, record))
        return nb::none();
    nb::dict made;
    made["type"] = record.type;
    made["misc"] = record.misc;
    made["pid"] = record.pid;
    made["tid"] = record.tid;
    made["cpu"] = record.cpu;
    made["id"] = record.id;
    made["time"] = record.time;
    made["parent"] = nb::make_tuple(record.parent_pid, record.parent_tid);
    made["map"] = nb::make_tuple(record.start, record.length, record.offset, record.inode);
    made["text"] = nb::bytes(record.text.data(), record.text.size());
    made["lost"] = record.lost;
    made["ip"] = record.ip;
    made["chain"] = frames::bytes_object(record.chain);
    made["registers"] = record.has_registers
                            ? nb::bytes(reinterpret_cast<const char*>(record.registers.value.data()),
                                        sizeof record.registers.value)
                            : nb::bytes("", 0);
    made["stack"] = frames::bytes_object(record.stack);
    return made;
}

// Readings of rings, in order: at each, (time, number) are added, and what is not newer than the
// horizon is taken.
std::vector<std::vector<int64_t>> ordered(
    const std::vector<std::pair<std::vector<std::pair<int64_t, int64_t>>, int64_t>>& readings) {
    RecordOrder order;
    std::vector<std::vector<int64_t>> taken;
    for (const auto& [records, horizon] : readings) {
        for (const auto& [time, number] : records)
            order.add(time, frames::Bytes(reinterpret_cast<const uint8_t*>(&number), sizeof number));
        taken.emplace_back();
        order.take(horizon, [&](int64_t, frames::Bytes bytes) {
            int64_t number;
            std::memcpy(&number, bytes.data(), sizeof number);
            taken.back().push_back(number);
        });
    }
    return taken;
}

// Times that are added between settlings, and the table that comes of it: (time, number).
nb::list settled(const std::vector<std::pair<std::vector<int64_t>, int64_t>>& steps, size_t memory,
                 const std::vector<std::string>& folders) {
    Log log(memory, folders);
    int64_t number = 0;
    for (const auto& [times, horizon] : steps) {
        for (const int64_t time : times) log.add(Moment{time, Kind::in, 0, 0, 0, 0, -1, number++, 0});
        log.settle(horizon);
    }
    log.settle(INT64_MAX);
    nb::list rows;
    for (const Moment* each = log.moments().begin(); each != log.moments().end(); ++each)
        rows.append(nb::make_tuple(each->time, each->a));
    return rows;
}

void bind_parts(nb::module_& m) {
    m.def("parse_perf_record", &record_object, "record"_a, "with_stack"_a = true,
          "kernel_chain"_a = false, "A record of a ring in objects, or None.");
    m.def("order_records", &ordered, "readings"_a,
          "Records of several readings in order of time, by the reading that gives them.");
    m.def("settle_moments", &settled, "steps"_a, "memory"_a, "folders"_a,
          "What a log makes of moments that come out of order.");
    m.def(
        "parse_syscall_line",
        [](const std::string& text) {
            Call call;
            const auto state = parse_call(text, call);
            return nb::make_tuple(static_cast<int>(state), call.number,
                                  nb::make_tuple(call.args[0], call.args[1], call.args[2],
                                                 call.args[3], call.args[4], call.args[5]),
                                  call.sp, call.pc);
        },
        "text"_a, "(state, number, arguments, sp, pc) of /proc/PID/task/TID/syscall.");
    m.def(
        "parse_idle",
        [](const std::string& text, const std::vector<int>& cpus, uint64_t tick_ns) {
            const Idle idle = parse_idle(text, cpus, tick_ns);
            return nb::make_tuple(idle.idle, idle.stolen);
        },
        "text"_a, "cpus"_a, "tick_ns"_a, "(idle, stolen) ns of some CPUs in /proc/stat, or of all.");
    m.def(
        "parse_connections",
        [](const std::string& text) {
            std::unordered_map<uint64_t, Connection> found;
            parse_tcp(text, found);
            nb::dict made;
            for (const auto& [inode, ends] : found)
                made[nb::int_(inode)] = nb::make_tuple(ends.local, ends.remote);
            return made;
        },
        "text"_a, "Both ends of each connection in /proc/net/tcp or tcp6, by inode.");
}

}  // namespace

namespace gnomon::account {

void bind_recorder(nb::module_& m) {
    nb::class_<Recorder>(m, "WallRecorder", "Records where the wall time of a program goes.")
        .def("__init__", &make_recorder, "library"_a, "functions"_a, "options"_a)
        .def("start", &Recorder::start)
        .def("wait", &Recorder::wait, "timeout_ns"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Wait for the end of the program; False when the time was over first.")
        .def("stop", &Recorder::stop, nb::call_guard<nb::gil_scoped_release>())
        .def("moments",
             [](nb::handle self) {
                 return rows_of(self, nb::cast<const Recorder&>(self).log().moments());
             })
        .def("waits",
             [](nb::handle self) {
                 return rows_of(self, nb::cast<const Recorder&>(self).log().waits());
             })
        .def("texts",
             [](const Recorder& recorder) {
                 nb::list texts;
                 for (const std::string& each : recorder.log().texts().all())
                     texts.append(frames::text_object(each));
                 return texts;
             })
        .def_prop_ro("started", &Recorder::started)
        .def_prop_ro("ended", &Recorder::ended)
        .def_prop_ro("sees_kernel", &Recorder::sees_kernel)
        .def_prop_ro("ring_pages", &Recorder::ring_pages)
        .def_prop_ro("switches", &Recorder::records_switches)
        .def_prop_ro("unrecorded", &Recorder::has_unrecorded)
        .def_prop_ro("switches_stopped", &Recorder::switches_stopped)
        .def_prop_ro("samples", &Recorder::samples)
        .def_prop_ro("truncated", &Recorder::truncated)
        .def_prop_ro("lost", &Recorder::lost)
        .def_prop_ro("skipped", &Recorder::skipped)
        .def_prop_ro("own_ns", &Recorder::own_ns)
        .def_prop_ro("left_behind", &Recorder::left_behind)
        .def_prop_ro("dropped", [](const Recorder& r) { return r.log().dropped(); })
        .def_prop_ro("spilled_to", [](const Recorder& r) { return r.log().spilled_to(); })
        .def_prop_ro("timed_programs", &Recorder::timed_programs)
        .def_prop_ro("refused", [](const Recorder& recorder) {
            nb::list names;
            for (const std::string& each : recorder.refused())
                names.append(frames::text_object(each));
            return names;
        });
    m.def(
        "stack_table",
        [](const frames::Library& library) {
            const frames::StackTable& table = library.stacks();
            std::vector<int64_t> ends;
            std::vector<int32_t> parts;
            for (uint32_t i = 0; i < table.stacks(); ++i) {
                for (const uint32_t each : table.frames_of(i))
                    parts.push_back(static_cast<int32_t>(each));
                ends.push_back(static_cast<int64_t>(parts.size()));
            }
            nb::list frames;
            for (const frames::Frame& each : table.frames())
                frames.append(nb::make_tuple(each.module, each.address,
                                             static_cast<int>(each.quality), each.exact));
            return nb::make_tuple(bytes_of(ends), bytes_of(parts), frames);
        },
        "library"_a, "Ends (int64) and frame numbers (int32) of all stacks, and the frames.");
    m.attr("KERNEL_MODULE") = nb::int_(kernel_module);
    m.attr("TIMER_BYTES") = nb::int_(4096 + 128 * sizeof(TimerSlot));
    bind_parts(m);
}

}  // namespace gnomon::account
