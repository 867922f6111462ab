#include "bindings.hh"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <vector>

#include "message/simulator.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::messages;

namespace {

using Table = std::vector<std::vector<int64_t>>;

Plan plan_of(const std::vector<Table>& programs, const Table& threads, const Table& mailboxes,
             const std::vector<std::vector<uint32_t>>& groups, uint32_t nodes,
             uint32_t statistics) {
    Plan plan;
    for (const Table& program : programs) {
        auto& steps = plan.programs.emplace_back();
        for (const auto& row : program) {
            if (row.size() != instruction_fields)
                throw std::invalid_argument("a step has seven numbers");
            steps.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6]});
        }
    }
    const auto word = [](int64_t value) { return static_cast<uint32_t>(value); };
    for (const auto& row : threads)
        plan.threads.push_back({word(row.at(0)), word(row.at(1)), word(row.at(2)),
                                word(row.at(3)), word(row.at(4)),
                                static_cast<Waiting>(row.at(5)), row.at(6) != 0});
    for (const auto& row : mailboxes) plan.mailboxes.push_back({word(row.at(0)), row.at(1)});
    plan.groups = groups;
    plan.nodes = nodes;
    plan.statistics = statistics;
    return plan;
}

Costs costs_of(const nb::dict& given) {
    Costs costs;
    const auto take = [&](const char* name, auto& field) {
        field = nb::cast<std::remove_reference_t<decltype(field)>>(given[name]);
    };
    take("latency", costs.latency);
    take("gap", costs.gap);
    take("delivery", costs.delivery);
    take("local", costs.local);
    take("per_byte", costs.per_byte);
    take("send", costs.send);
    take("receive", costs.receive);
    take("signal", costs.signal);
    take("wake_latency", costs.wake_latency);
    take("local_wake", costs.local_wake);
    take("poll_period", costs.poll_period);
    take("interrupt", costs.interrupt);
    take("signal_latency", costs.signal_latency);
    take("context_switch", costs.context_switch);
    take("os_wake", costs.os_wake);
    take("os_tick", costs.os_tick);
    take("quantum", costs.quantum);
    take("hints_are_dropped", costs.hints_are_dropped);
    take("contexts", costs.contexts);
    take("speeds", costs.speeds);
    return costs;
}

const char* name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::finished: return "finished";
        case Outcome::paused: return "paused";
        default: return "stuck";
    }
}

nb::dict counts_of(Simulator& simulator, size_t node) {
    const NodeCounts& counts = simulator.counts(node);
    const Processor& processor = simulator.processor(node);
    nb::dict named;
    named["sent"] = counts.sent;
    named["received"] = counts.received;
    named["bytes_sent"] = counts.bytes_sent;
    named["bytes_received"] = counts.bytes_received;
    named["notifications"] = counts.notifications;
    named["signals"] = counts.signals;
    named["polls"] = counts.polls;
    named["interrupts"] = counts.interrupts;
    named["context_switches"] = counts.context_switches;
    named["not_resident"] = counts.not_resident;
    named["dropped_hints"] = counts.dropped_hints;
    named["send_port"] = counts.send_port;
    named["receive_port"] = counts.receive_port;
    named["longest_queue"] = counts.longest_queue;
    named["busy"] = processor.busy;
    named["thread_time"] = processor.thread_time;
    named["poll_time"] = processor.poll_time;
    named["work"] = processor.work;
    return named;
}

nb::list statistics_of(const Simulator& simulator) {
    nb::list all;
    for (const Statistic& one : simulator.statistics())
        all.append(nb::make_tuple(one.count, one.sum, one.squares, one.least, one.most,
                                  one.buckets));
    return all;
}

nb::list trace_of(const Simulator& simulator) {
    nb::list all;
    for (const Trace& one : simulator.trace())
        all.append(nb::make_tuple(one.time, one.what, one.thread, one.message_bytes, one.tag,
                                  one.peer, one.message));
    return all;
}

}  // namespace

void bind_messages(nb::module_& m) {
    nb::class_<Simulator>(m, "MessageSimulator")
        .def("__init__",
             [](Simulator* self, const std::vector<Table>& programs, const Table& threads,
                const Table& mailboxes, const std::vector<std::vector<uint32_t>>& groups,
                uint32_t nodes, uint32_t statistics, const nb::dict& costs, uint64_t seed,
                size_t trace_limit) {
                 new (self) Simulator(
                     plan_of(programs, threads, mailboxes, groups, nodes, statistics),
                     costs_of(costs), seed, trace_limit);
             },
             "programs"_a, "threads"_a, "mailboxes"_a, "groups"_a, "nodes"_a, "statistics"_a,
             "costs"_a, "seed"_a, "trace_limit"_a = 0)
        .def("run",
             [](Simulator& self, int64_t until, uint64_t most_events) {
                 Outcome outcome;
                 {
                     nb::gil_scoped_release release;
                     outcome = self.run(until, most_events);
                 }
                 return name_of(outcome);
             },
             "until"_a, "most_events"_a)
        .def_prop_ro("now", &Simulator::now)
        .def_prop_ro("events", &Simulator::events)
        .def("counts", &counts_of, "node"_a)
        .def("statistics", &statistics_of)
        .def("trace", &trace_of)
        .def("unfinished", &Simulator::unfinished)
        .def("ended_at", &Simulator::ended_at, "thread"_a);
}
