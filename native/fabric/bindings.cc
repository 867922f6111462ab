#include "bindings.hh"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabric/fabric.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::fabric;

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr uint32_t most_nodes = 1u << 12, most_controllers = 1u << 16;
constexpr Time longest = Time{1} << 40;

[[noreturn]] void complain(const std::string& what) { throw std::invalid_argument(what); }

template <typename T>
T taken(const nb::dict& given, const char* name) {
    return nb::cast<T>(given[name]);
}

bool is_request(int type) { return type >= 1 && type < type_request_echo; }
bool is_response(int type) { return type > type_request_echo && type < type_response_echo; }

void check_sort(int type, int answer, int category) {
    if (!is_request(type) || (answer && !is_response(answer)) || category < 0 ||
        category >= categories)
        complain("no such transaction");
}

Setup setup_of(const nb::dict& given) {
    Setup setup;
    setup.delay = taken<Time>(given, "delay");
    setup.go_bits = taken<bool>(given, "go_bits");
    setup.queue = taken<uint32_t>(given, "queue");
    setup.active = taken<uint32_t>(given, "active");
    setup.input = taken<uint32_t>(given, "input");
    setup.service = taken<Time>(given, "service");
    setup.blink = taken<Time>(given, "blink");
    setup.sync_period = taken<Time>(given, "sync_period");
    setup.symbol_ns = taken<double>(given, "symbol_ns");
    setup.records = taken<bool>(given, "records");
    setup.blink_records = taken<bool>(given, "blink_records");
    setup.seed = taken<uint64_t>(given, "seed");
    const auto limits = taken<std::vector<uint32_t>>(given, "outstanding");
    const auto lengths = taken<std::vector<uint16_t>>(given, "lengths");
    if (limits.size() != categories || lengths.size() != types) complain("limits or lengths");
    std::copy(limits.begin(), limits.end(), setup.outstanding.begin());
    std::copy(lengths.begin(), lengths.end(), setup.lengths.begin());
    for (int type = 1; type < type_response_echo; ++type)
        if (type != type_request_echo && setup.lengths[static_cast<size_t>(type)] <= echo_symbols)
            complain("a send is longer than its echo");
    if (setup.delay < 1 || setup.delay > 1 << 16 || setup.active < 1 || setup.input < 1 ||
        setup.service < 0 || setup.service > longest || setup.blink < setup.delay ||
        setup.blink > longest || setup.sync_period < 0 ||
        (setup.sync_period && setup.sync_period <= sync_symbols))
        complain("out of range");
    if (!(setup.symbol_ns >= 0.001 && setup.symbol_ns <= 1e9)) complain("out of range");
    return setup;
}

Topology topology_of(const Column<uint32_t>& node, const Column<uint32_t>& next,
                     const Table& first, const Table& leg) {
    Topology topology;
    const size_t controllers = node.shape(0), nodes = first.shape(0);
    if (nodes < 2 || nodes > most_nodes || controllers < 2 || controllers > most_controllers ||
        next.shape(0) != controllers || first.shape(1) != nodes || leg.shape(0) != controllers ||
        leg.shape(1) != nodes)
        complain("shapes differ");
    topology.nodes = static_cast<uint32_t>(nodes);
    topology.node.assign(node.data(), node.data() + controllers);
    topology.next.assign(next.data(), next.data() + controllers);
    topology.first.assign(first.data(), first.data() + nodes * nodes);
    topology.leg.assign(leg.data(), leg.data() + controllers * nodes);
    std::vector<uint32_t> reached(controllers), owned(nodes);
    for (size_t i = 0; i < controllers; ++i) {
        if (topology.node[i] >= nodes || topology.next[i] >= controllers)
            complain("no such node or controller");
        ++reached[topology.next[i]];
        if (++owned[topology.node[i]] > 200) complain("too many controllers at a node");
    }
    for (const uint32_t times : reached)
        if (times != 1) complain("links do not make rings");
    for (const int32_t each : topology.first)
        if (each < 0 || static_cast<size_t>(each) >= controllers) complain("no way to a node");
    for (const int32_t each : topology.leg)
        if (each < -1 || static_cast<size_t>(each + 1) > controllers) complain("no such leg");
    // Every way ends at its target, over legs that stay on their ring.
    std::vector<uint32_t> ring(controllers, nobody);
    for (uint32_t i = 0; i < controllers; ++i)
        for (uint32_t at = i; ring[at] == nobody; at = topology.next[at]) ring[at] = i;
    for (size_t target = 0; target < nodes; ++target)
        for (size_t start = 0; start < nodes; ++start) {
            size_t at = start, steps = 0;
            while (at != target) {
                const auto out = static_cast<size_t>(topology.first[at * nodes + target]);
                const int32_t into = topology.leg[out * nodes + target];
                if (topology.node[out] != at || into < 0 || static_cast<size_t>(into) == out ||
                    ring[static_cast<size_t>(into)] != ring[out] || ++steps > controllers)
                    complain("a way leads nowhere");
                at = topology.node[static_cast<size_t>(into)];
            }
        }
    return topology;
}

Load load_of(const nb::dict& given, size_t nodes) {
    Load load;
    const auto kind = taken<std::string>(given, "arrivals");
    load.arrivals = kind == "exponential" ? Arrivals::exponential
                    : kind == "uniform"   ? Arrivals::uniform
                    : kind == "table"     ? Arrivals::table
                    : kind == "saturated" ? Arrivals::saturated
                                          : Arrivals::none;
    load.mean = taken<double>(given, "mean");
    load.low = taken<double>(given, "low");
    load.high = taken<double>(given, "high");
    load.edges = taken<std::vector<double>>(given, "edges");
    load.until = taken<std::vector<double>>(given, "until");
    load.depth = taken<uint32_t>(given, "depth");
    load.targets = taken<std::vector<double>>(given, "targets");
    load.hosts = taken<uint32_t>(given, "hosts");
    load.window_bytes = taken<uint64_t>(given, "window_bytes");
    load.stop = std::min(never, taken<Time>(given, "stop"));
    for (const auto& row : taken<std::vector<std::vector<double>>>(given, "sorts")) {
        if (row.size() != 4) complain("a sort has four numbers");
        const auto word = [&](size_t i) { return static_cast<uint8_t>(row[i]); };
        check_sort(word(0), word(1), word(2));
        load.sorts.push_back({word(0), word(1), word(2), row[3]});
    }
    const double least = 0.01;  // symbols: below it a source begins more than a ring can ever take
    if ((load.arrivals != Arrivals::none && load.sorts.empty()) ||
        (load.arrivals == Arrivals::exponential && !(load.mean >= least && load.mean < 1e15)) ||
        (load.arrivals == Arrivals::uniform &&
         !(load.low >= 0 && load.high >= load.low && load.low + load.high >= 2 * least &&
           load.high < 1e15)) ||
        load.hosts < 2 || load.hosts > nodes || load.depth < 1 || load.depth > 1 << 20 || load.window_bytes < 64 ||
        load.window_bytes > uint64_t{1} << 48 ||
        (!load.targets.empty() && load.targets.size() != nodes * nodes))
        complain("no such load");
    if (load.arrivals == Arrivals::table) {
        if (load.until.empty() || load.edges.size() != load.until.size() + 1)
            complain("a table has one more edge than bins");
        double mean = 0, before = 0;
        for (size_t i = 0; i < load.until.size(); ++i) {
            if (!(load.edges[i] >= 0 && load.edges[i + 1] >= load.edges[i] &&
                  load.until[i] >= before && load.edges[i + 1] < 1e15))
                complain("a table rises");
            mean += (load.until[i] - before) * (load.edges[i] + load.edges[i + 1]) / 2;
            before = load.until[i];
        }
        if (!(mean >= least) || before < 0.999999) complain("a table has all shares");
    }
    for (size_t node = 0; node < load.hosts && !load.targets.empty(); ++node) {
        double before = 0;
        for (size_t target = 0; target < nodes; ++target) {
            const double share = load.targets[node * nodes + target];
            if (!(share >= before) ||
                ((target == node || target >= load.hosts) && share != before))
                complain("shares of targets rise, and none is a node's own");
            before = share;
        }
        if (!(before > 0)) complain("a node sends to nobody");
    }
    return load;
}

Fabric* make(const nb::dict& setup, const Column<uint32_t>& node, const Column<uint32_t>& next,
             const Table& first, const Table& leg, const nb::dict& load) {
    return new Fabric(setup_of(setup), topology_of(node, next, first, leg),
                      load_of(load, first.shape(0)));
}

void schedule(Fabric& fabric, const Column<int64_t>& time, const Column<uint16_t>& source,
              const Column<uint16_t>& target, const Column<uint8_t>& type,
              const Column<uint8_t>& answer, const Column<uint8_t>& category,
              const Column<uint64_t>& address) {
    const size_t count = time.shape(0);
    for (const size_t other : {source.shape(0), target.shape(0), type.shape(0), answer.shape(0),
                               category.shape(0), address.shape(0)})
        if (other != count) complain("arrays differ in length");
    std::vector<Transaction> all(count);
    for (size_t i = 0; i < count; ++i) {
        const Time at = time.data()[i];
        if (at < (i ? time.data()[i - 1] : fabric.now()) || at >= never)
            complain("times go backwards");
        if (source.data()[i] >= fabric.node_count() || target.data()[i] >= fabric.node_count() ||
            source.data()[i] == target.data()[i])
            complain("no such nodes");
        check_sort(type.data()[i], answer.data()[i], category.data()[i]);
        all[i] = {at, address.data()[i], source.data()[i], target.data()[i],
                  type.data()[i], answer.data()[i], category.data()[i]};
    }
    fabric.schedule(all.data(), count);
}

template <typename T>
nb::object array_of(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

nb::dict take(Fabric& fabric) {
    Columns columns = fabric.recorder().take();
    nb::dict named;
    named["time"] = array_of(std::move(columns.time));
    named["lc"] = array_of(std::move(columns.controller));
    named["type"] = array_of(std::move(columns.type));
    named["flags"] = array_of(std::move(columns.flags));
    named["src"] = array_of(std::move(columns.source));
    named["dst"] = array_of(std::move(columns.target));
    named["tx"] = array_of(std::move(columns.transaction));
    named["addr"] = array_of(std::move(columns.address));
    named["dt"] = array_of(std::move(columns.age));
    named["idles"] = array_of(std::move(columns.idles));
    return named;
}

nb::dict counts_of(Fabric& fabric) {
    nb::dict named;
    const size_t count = fabric.controllers();
    const auto add = [&](const char* name, auto value) {
        std::vector<uint64_t> values(count);
        for (size_t i = 0; i < count; ++i) values[i] = value(fabric.counts(i));
        named[name] = array_of(std::move(values));
    };
    add("request_sends", [](const Counts& c) { return c.sends[request]; });
    add("response_sends", [](const Counts& c) { return c.sends[response]; });
    add("requests_accepted", [](const Counts& c) { return c.accepted[request]; });
    add("responses_accepted", [](const Counts& c) { return c.accepted[response]; });
    add("requests_busied", [](const Counts& c) { return c.busied[request]; });
    add("responses_busied", [](const Counts& c) { return c.busied[response]; });
    add("requests_delivered", [](const Counts& c) { return c.delivered[request]; });
    add("responses_delivered", [](const Counts& c) { return c.delivered[response]; });
    add("delivered_symbols", [](const Counts& c) { return c.delivered_symbols; });
    add("retries", [](const Counts& c) { return c.retries; });
    add("syncs", [](const Counts& c) { return c.syncs; });
    add("echoes", [](const Counts& c) { return c.echoes; });
    add("passed_sends", [](const Counts& c) { return c.passed_sends; });
    add("passed_echoes", [](const Counts& c) { return c.passed_echoes; });
    add("own_symbols", [](const Counts& c) { return c.own_symbols; });
    add("passed_symbols", [](const Counts& c) { return c.passed_symbols; });
    add("queue_time", [](const Counts& c) { return c.wait; });
    add("active_time", [](const Counts& c) { return c.active; });
    add("input_time", [](const Counts& c) { return c.input; });
    add("queue_samples", [](const Counts& c) { return c.queue_samples; });
    add("queue_seen", [](const Counts& c) { return c.queue_seen; });
    add("active_samples", [](const Counts& c) { return c.active_samples; });
    add("active_seen", [](const Counts& c) { return c.active_seen; });
    add("input_samples", [](const Counts& c) { return c.input_samples; });
    add("input_seen", [](const Counts& c) { return c.input_seen; });
    add("bypass_wait", [](const Counts& c) { return c.bypass_wait; });
    add("gaps", [](const Counts& c) { return c.gaps; });
    add("idles", [](const Counts& c) { return c.idles; });
    add("single_idles", [](const Counts& c) { return c.single_idles; });
    add("worst_age", [](const Counts& c) { return c.worst_age; });
    add("most_retries", [](const Counts& c) { return c.most_retries; });
    std::vector<uint64_t> waiting(count);
    for (size_t i = 0; i < count; ++i) waiting[i] = fabric.waiting_now(i);
    named["queue_time_now"] = array_of(std::move(waiting));
    return named;
}

nb::dict node_counts_of(Fabric& fabric) {
    nb::dict named;
    const auto add = [&](const char* name, auto member) {
        std::vector<uint64_t> values(fabric.node_count());
        for (size_t i = 0; i < values.size(); ++i) values[i] = fabric.node_counts(i).*member;
        named[name] = array_of(std::move(values));
    };
    add("offered", &NodeCounts::offered);
    add("transactions", &NodeCounts::transactions);
    add("transaction_time", &NodeCounts::latency);
    add("packets", &NodeCounts::packets);
    add("packet_time", &NodeCounts::packet_latency);
    return named;
}

}  // namespace

void bind_fabric(nb::module_& m) {
    nb::class_<Fabric>(m, "Fabric", "SCI rings, packet by packet, exact in symbol time.")
        .def(nb::new_(&make), "setup"_a, "node"_a, "next"_a, "first"_a, "leg"_a, "load"_a)
        .def("schedule", &schedule, "time"_a, "source"_a, "target"_a, "type"_a, "answer"_a,
             "category"_a, "address"_a)
        .def("run", &Fabric::run, "until"_a, "most_rows"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("take", &take, "Return the columns of the packets since the last call.")
        .def("counts", &counts_of, "Return what each controller counted, by name.")
        .def("node_counts", &node_counts_of, "Return what each node counted, by name.")
        .def("latencies",
             [](Fabric& fabric) { return array_of(std::vector<uint64_t>(fabric.latencies())); })
        .def_prop_ro("now", &Fabric::now)
        .def_prop_ro("hops", &Fabric::hops)
        .def_prop_ro("live", &Fabric::live)
        .def_prop_ro("waiting", &Fabric::waiting)
        .def_prop_ro("idle", &Fabric::idle);
}
