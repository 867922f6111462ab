#include "bindings.hh"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <string>

#include "machine/cache_model.hh"
#include "machine/system.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::machine;

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Name>
nb::bytes bytes_of(const Counts<Name>& counts) {
    const auto& cells = counts.cells();
    return nb::bytes(reinterpret_cast<const char*>(cells.data()),
                     cells.size() * sizeof(uint64_t));
}

#define GNOMON_NAME(name) #name,
std::vector<std::string> thread_names() { return {GNOMON_THREAD_COUNTS(GNOMON_NAME)}; }
std::vector<std::string> core_names() { return {GNOMON_CORE_COUNTS(GNOMON_NAME)}; }
std::vector<std::string> node_names() { return {GNOMON_NODE_COUNTS(GNOMON_NAME)}; }
std::vector<std::string> link_names() { return {GNOMON_LINK_COUNTS(GNOMON_NAME)}; }
#undef GNOMON_NAME

void require(bool condition, const char* text) {
    if (!condition) throw std::invalid_argument(text);
}

template <typename T>
const T* matching(const std::optional<Column<T>>& column, size_t count) {
    if (!column) return nullptr;
    require(column->shape(0) == count, "the columns of a stream differ in length");
    return column->data();
}

// A stream keeps the arrays it points into alive.
struct PyStream {
    uint32_t thread;
    Column<uint64_t> addresses;
    std::optional<Column<uint8_t>> operations, sizes;
    std::optional<Column<uint16_t>> gaps;
};

std::vector<size_t> run(System& system, const std::vector<PyStream*>& given, Tick quantum,
                        std::optional<Tick> until) {
    std::vector<Stream> streams;
    std::vector<bool> taken(system.spec().thread_core.size(), false);
    for (const PyStream* each : given) {
        Stream stream;
        stream.thread = each->thread;
        require(stream.thread < taken.size(), "there is no such thread");
        require(!taken[stream.thread], "a thread has two streams");
        taken[stream.thread] = true;
        stream.count = each->addresses.shape(0);
        stream.addresses = each->addresses.data();
        stream.operations = matching(each->operations, stream.count);
        stream.sizes = matching(each->sizes, stream.count);
        stream.gaps = matching(each->gaps, stream.count);
        streams.push_back(stream);
    }
    require(quantum >= 0 && quantum <= system.longest_quantum(), "the quantum is too long");
    {
        nb::gil_scoped_release release;
        system.run(streams, quantum, until.value_or(INT64_MAX));
    }
    std::vector<size_t> positions;
    for (const Stream& stream : streams) positions.push_back(stream.position);
    return positions;
}

void bind_specs(nb::module_& m) {
    nb::class_<CacheSpec>(m, "CacheSpec", "A level of caches.")
        .def(nb::init<>())
        .def_rw("sets", &CacheSpec::sets)
        .def_rw("ways", &CacheSpec::ways)
        .def_rw("line_bytes", &CacheSpec::line_bytes)
        .def_prop_rw(
            "replacement", [](CacheSpec& s) { return static_cast<int>(s.replacement); },
            [](CacheSpec& s, int value) { s.replacement = static_cast<Replacement>(value); })
        .def_prop_rw(
            "through", [](CacheSpec& s) { return s.write == WritePolicy::through; },
            [](CacheSpec& s, bool value) {
                s.write = value ? WritePolicy::through : WritePolicy::back;
            })
        .def_rw("allocate_on_write", &CacheSpec::allocate_on_write)
        .def_rw("inclusive", &CacheSpec::inclusive)
        .def_rw("allocate_on_writeback", &CacheSpec::allocate_on_writeback)
        .def_rw("latency", &CacheSpec::latency)
        .def_rw("fetch_latency", &CacheSpec::fetch_latency);
    nb::class_<TlbSpec>(m, "TlbSpec", "A translation buffer; without sets there is none.")
        .def(nb::init<>())
        .def_rw("sets", &TlbSpec::sets)
        .def_rw("ways", &TlbSpec::ways)
        .def_prop_rw(
            "replacement", [](TlbSpec& s) { return static_cast<int>(s.replacement); },
            [](TlbSpec& s, int value) { s.replacement = static_cast<Replacement>(value); })
        .def_rw("latency", &TlbSpec::latency);
    nb::class_<SystemSpec>(m, "SystemSpec", "A whole memory system, times in ticks.")
        .def(nb::init<>())
        .def_rw("data", &SystemSpec::data)
        .def_rw("split", &SystemSpec::split)
        .def_rw("instruction", &SystemSpec::instruction)
        .def_rw("exclusive_code", &SystemSpec::exclusive_code)
        .def_rw("shared", &SystemSpec::shared)
        .def_rw("last", &SystemSpec::last)
        .def_rw("dtlb", &SystemSpec::dtlb)
        .def_rw("itlb", &SystemSpec::itlb)
        .def_rw("stlb", &SystemSpec::stlb)
        .def_rw("walk_reads", &SystemSpec::walk_reads)
        .def_rw("page_bytes", &SystemSpec::page_bytes)
        .def_rw("core_node", &SystemSpec::core_node)
        .def_rw("core_cluster", &SystemSpec::core_cluster)
        .def_rw("cluster_node", &SystemSpec::cluster_node)
        .def_rw("thread_core", &SystemSpec::thread_core)
        .def("add_channel",
             [](SystemSpec& s, Tick slot_ticks) {
                 require(slot_ticks > 0, "a channel needs a rate");
                 s.channels.push_back({slot_ticks});
             })
        .def("add_direction",
             [](SystemSpec& s, uint32_t channel, Tick latency) {
                 require(channel < s.channels.size(), "there is no such channel");
                 s.directions.push_back({channel, latency});
             })
        .def("add_node",
             [](SystemSpec& s, Tick read, Tick write, std::vector<uint32_t> controllers) {
                 s.nodes.push_back({read, write, std::move(controllers)});
             })
        .def_rw("routes", &SystemSpec::routes)
        .def_rw("issue", &SystemSpec::issue)
        .def_rw("snoop", &SystemSpec::snoop)
        .def_rw("outstanding", &SystemSpec::outstanding)
        .def_rw("blocking", &SystemSpec::blocking)
        .def_rw("whole_splits", &SystemSpec::whole_splits)
        .def_rw("cache_remote", &SystemSpec::cache_remote)
        .def_rw("posted_write", &SystemSpec::posted_write)
        .def_rw("header_bytes", &SystemSpec::header_bytes)
        .def_rw("request_bytes", &SystemSpec::request_bytes)
        .def_prop_rw(
            "prefetch", [](SystemSpec& s) { return static_cast<int>(s.prefetch); },
            [](SystemSpec& s, int value) { s.prefetch = static_cast<Prefetch>(value); })
        .def_rw("prefetch_degree", &SystemSpec::prefetch_degree)
        .def_prop_rw(
            "placement", [](SystemSpec& s) { return static_cast<int>(s.placement); },
            [](SystemSpec& s, int value) { s.placement = static_cast<Placement>(value); })
        .def_rw("seed", &SystemSpec::seed)
        .def_prop_ro_static("slot_bytes", [](nb::handle) { return Channel::slot_bytes; })
        .def_prop_ro_static("ticks_per_cycle", [](nb::handle) { return ticks_per_cycle; });
}

void bind_cache_model(nb::module_& m) {
    nb::class_<CacheModel>(m, "CacheModel", "One cache by itself in front of memory.")
        .def(nb::init<const CacheSpec&, uint64_t>(), "spec"_a, "seed"_a)
        .def("access", &CacheModel::access, "address"_a, "store"_a = false)
        .def(
            "run",
            [](CacheModel& model, const Column<uint64_t>& addresses,
               const std::optional<Column<uint8_t>>& stores) {
                const size_t count = addresses.shape(0);
                const uint8_t* kinds = matching(stores, count);
                nb::gil_scoped_release release;
                model.run(addresses.data(), kinds, count);
            },
            "addresses"_a, "stores"_a = nb::none())
        .def("contains", &CacheModel::contains, "address"_a)
        .def_prop_ro("counts", [](const CacheModel& model) {
            const CacheModelCounts& c = model.counts();
            return nb::make_tuple(c.loads, c.stores, c.load_misses, c.store_misses, c.evictions,
                                  c.writebacks, c.writes_through);
        });
}

void bind_system(nb::module_& m) {
    nb::class_<PyStream>(m, "MachineStream", "What one thread does, in order.")
        .def(
            "__init__",
            [](PyStream* self, uint32_t thread, Column<uint64_t> addresses,
               std::optional<Column<uint8_t>> operations, std::optional<Column<uint8_t>> sizes,
               std::optional<Column<uint16_t>> gaps) {
                new (self) PyStream{thread, std::move(addresses), std::move(operations),
                                    std::move(sizes), std::move(gaps)};
            },
            "thread"_a, "addresses"_a, "operations"_a = nb::none(), "sizes"_a = nb::none(),
            "gaps"_a = nb::none());
    nb::class_<System>(m, "MachineSystem", "A simulated memory system.")
        .def(nb::init<const SystemSpec&>(), "spec"_a)
        .def(
            "access",
            [](System& s, uint32_t thread, uint64_t address, uint64_t bytes, int kind,
               bool dependent) {
                const Access a =
                    s.access(thread, address, bytes, static_cast<Kind>(kind), dependent);
                return nb::make_tuple(static_cast<int>(a.place), a.node, a.latency);
            },
            "thread"_a, "address"_a, "size"_a, "kind"_a, "dependent"_a,
            "Return (place, node, latency in ticks).")
        .def("run", &run, "streams"_a, "quantum"_a, "until"_a = nb::none(),
             "Run streams; return how far each came.")
        .def("migrate", &System::migrate, "thread"_a, "start"_a, "size"_a, "node"_a)
        .def(
            "set_placement",
            [](System& s, int placement, std::vector<uint32_t> nodes,
               std::optional<uint64_t> start, uint64_t bytes) {
                const auto policy = static_cast<Placement>(placement);
                if (start)
                    s.memory().set_policy(*start, bytes, policy, std::move(nodes));
                else
                    s.memory().set_default(policy, std::move(nodes));
            },
            "placement"_a, "nodes"_a, "start"_a = nb::none(), "size"_a = 0)
        .def(
            "node_of",
            [](System& s, uint64_t address) -> std::optional<uint32_t> {
                const Page* page = s.memory().find(address);
                return page ? std::optional<uint32_t>(page->node) : std::nullopt;
            },
            "address"_a)
        .def(
            "set_monitor", [](System& s, Monitor* monitor) { s.set_monitor(monitor); },
            "monitor"_a.none(), nb::keep_alive<1, 2>())
        .def("time", [](System& s, uint32_t thread) { return s.thread(thread).time; })
        .def("set_time",
             [](System& s, uint32_t thread, Tick time) { s.thread(thread).time = time; })
        .def("thread_counts", [](System& s) { return bytes_of(s.thread_counts()); })
        .def("core_counts", [](System& s) { return bytes_of(s.core_counts()); })
        .def("node_counts", [](System& s) { return bytes_of(s.node_counts()); })
        .def("link_counts", [](System& s) { return bytes_of(s.link_counts()); })
        .def("clear_counts",
             [](System& s) {
                 s.thread_counts().clear();
                 s.core_counts().clear();
                 s.node_counts().clear();
                 s.link_counts().clear();
             })
        .def("state", [](System& s, uint32_t core,
                         uint64_t address) { return std::string(1, s.state(core, address)); })
        .def("levels", &System::levels)
        .def("last_level", &System::last_level)
        .def("directory",
             [](System& s, uint64_t address) {
                 const Entry e = s.directory(address);
                 return nb::make_tuple(e.cores, e.clusters, e.owner, e.dirty_cluster);
             })
        .def_prop_ro("longest_quantum", &System::longest_quantum);
    m.def("machine_count_names", [] {
        return nb::make_tuple(thread_names(), core_names(), node_names(), link_names());
    });
}

}  // namespace

void bind_machine(nb::module_& m) {
    bind_specs(m);
    bind_cache_model(m);
    bind_system(m);
}
