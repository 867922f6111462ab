#include "bindings.hh"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "engine/engine.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::machine;

namespace {

#define GNOMON_NAME(name) #name,
std::vector<std::string> ledger_names() {
    return {GNOMON_THREAD_COUNTS(GNOMON_NAME) GNOMON_EXECUTION_COUNTS(GNOMON_NAME)};
}
#undef GNOMON_NAME

template <typename T>
nb::bytes bytes_of(const std::vector<T>& cells) {
    return nb::bytes(reinterpret_cast<const char*>(cells.data()), cells.size() * sizeof(T));
}

// Operations that are made while they are executed, by another thread of this process.
class LiveFeed : public Feed {
  public:
    void give(nb::bytes ops) {
        const Op* first = reinterpret_cast<const Op*>(ops.c_str());
        const std::lock_guard guard(mutex_);
        ops_.insert(ops_.end(), first, first + ops.size() / sizeof(Op));
        changed_.notify_all();
    }
    void end() {
        const std::lock_guard guard(mutex_);
        ended_ = true;
        changed_.notify_all();
    }
    Supply pull(Op* into, size_t room, size_t& given) override {
        const std::lock_guard guard(mutex_);
        given = std::min(room, ops_.size());
        const auto last = ops_.begin() + static_cast<std::ptrdiff_t>(given);
        std::copy(ops_.begin(), last, into);
        ops_.erase(ops_.begin(), last);
        if (!ops_.empty()) return Supply::more;
        return ended_ ? Supply::ended : Supply::pending;
    }
    bool wait(int milliseconds) override {
        std::unique_lock guard(mutex_);
        return changed_.wait_for(guard, std::chrono::milliseconds(milliseconds),
                                 [this] { return ended_ || !ops_.empty(); });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Op> ops_;
    bool ended_ = false;
};

void bind_spec(nb::module_& m) {
    nb::class_<EngineSpec>(m, "EngineSpec", "How a machine executes, times in ticks.")
        .def(nb::init<>())
        .def_prop_rw(
            "pipeline", [](EngineSpec& s) { return static_cast<int>(s.pipeline); },
            [](EngineSpec& s, int value) { s.pipeline = static_cast<Pipeline>(value); })
        .def_rw("groups", &EngineSpec::groups)
        .def_prop_rw(
            "cost",
            [](EngineSpec& s) { return std::vector<Tick>(s.cost.begin(), s.cost.end()); },
            [](EngineSpec& s, const std::vector<Tick>& cost) {
                if (cost.size() != s.cost.size())
                    throw std::invalid_argument("a cost is needed for each class");
                std::copy(cost.begin(), cost.end(), s.cost.begin());
            })
        .def_rw("speeds", &EngineSpec::speeds)
        .def_rw("mispredict", &EngineSpec::mispredict)
        .def_rw("text_base", &EngineSpec::text_base)
        .def_rw("text_bytes", &EngineSpec::text_bytes)
        .def_rw("ticks_per_us", &EngineSpec::ticks_per_us)
        .def_rw("trap_instructions", &EngineSpec::trap_instructions)
        .def_rw("slice", &EngineSpec::slice)
        .def_rw("switch_cost", &EngineSpec::switch_cost)
        .def_rw("noise_period", &EngineSpec::noise_period)
        .def_rw("noise_length", &EngineSpec::noise_length)
        .def_rw("quantum", &EngineSpec::quantum)
        .def_rw("dynamic", &EngineSpec::dynamic)
        .def_rw("seed", &EngineSpec::seed);
}

void bind_execution(nb::module_& m) {
    nb::class_<Engine>(m, "Engine", "Threads that are executed on a simulated machine.")
        .def(nb::init<System&, const EngineSpec&, const std::vector<Feed*>&,
                      const std::vector<uint32_t>&>(),
             "system"_a, "spec"_a, "feeds"_a, "binding"_a, nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 4>())
        .def(
            "advance",
            [](Engine& engine, std::optional<Tick> until, std::optional<double> seconds) {
                nb::gil_scoped_release release;
                return static_cast<int>(engine.advance(until.value_or(never),
                                                       seconds.value_or(Engine::endless)));
            },
            "until"_a = nb::none(), "seconds"_a = nb::none(),
            "Return 0 when all threads have ended, 1 at the time, 2 when interrupted.")
        .def_prop_ro("now", &Engine::now)
        .def_prop_ro("footprint", &Engine::footprint)
        .def_prop_ro("noise_events", &Engine::noise_events)
        .def("ledger", [](Engine& engine) { return bytes_of(engine.ledger()); })
        .def("idle_cycles", [](Engine& engine) { return bytes_of(engine.idle_cycles()); })
        .def("tasks",
             [](const Engine& engine) {
                 nb::list list;
                 for (const Task& task : engine.tasks())
                     list.append(nb::make_tuple(static_cast<int>(task.state), task.begin,
                                                task.end,
                                                task.place == nowhere
                                                    ? -1
                                                    : static_cast<int>(task.place)));
                 return list;
             },
             "State, begin, end (-1: not yet) and hardware thread of each.")
        .def(
            "watch_overflow",
            [](Engine& engine, uint32_t watch,
               std::vector<std::pair<uint32_t, uint64_t>> weights, uint64_t period,
               uint32_t mode_bits, uint32_t skid, std::vector<uint32_t> tasks) {
                engine.ledger();  // so that no time from before is counted
                engine.watches().add(OverflowSpec{watch, mode_bits, period, skid,
                                                  std::move(weights), std::move(tasks)},
                                     engine.tasks());
            },
            "watch"_a, "weights"_a, "period"_a, "mode_bits"_a, "skid"_a, "tasks"_a)
        .def(
            "watch_latency",
            [](Engine& engine, uint32_t watch, Tick threshold, uint64_t every,
               uint32_t mode_bits, std::vector<uint32_t> tasks) {
                engine.watches().add(
                    LatencySpec{watch, mode_bits, threshold, every, std::move(tasks)},
                    engine.tasks());
            },
            "watch"_a, "threshold"_a, "every"_a, "mode_bits"_a, "tasks"_a)
        .def("unwatch", [](Engine& engine, uint32_t watch) { engine.watches().remove(watch); })
        .def("samples", [](Engine& engine) { return bytes_of(engine.watches().take()); })
        .def_prop_ro("dropped", [](Engine& engine) { return engine.watches().dropped(); })
        .def("counted",
             [](Engine& engine, uint32_t watch) { return engine.watches().counted(watch); });
    m.def("machine_ledger_names", &ledger_names);
}

void bind_monitors(nb::module_& m) {
    nb::class_<Monitor>(m, "Monitor", "Is told of references that leave their node.");
    nb::class_<PageMonitor, Monitor>(m, "PageMonitor", "Counts them a page, node and kind.")
        .def(nb::init<uint64_t>(), "page_bytes"_a)
        .def("counts", [](const PageMonitor& monitor) {
            nb::list rows;
            for (const auto& [key, count] : monitor.counts())
                rows.append(
                    nb::make_tuple(key.page, key.node, static_cast<int>(key.kind), count));
            return rows;
        });
    nb::class_<StreamMonitor, Monitor>(m, "StreamMonitor", "Keeps them one by one.")
        .def(nb::init<bool>(), "local_memory"_a)
        .def(
            "take",
            [](StreamMonitor& monitor) {
                nb::bytes taken = bytes_of(monitor.rows());
                monitor.rows().clear();
                return taken;
            },
            "Return those since the last call, 32 bytes each.");
}

}  // namespace

void bind_engine(nb::module_& m) {
    bind_spec(m);
    bind_execution(m);
    bind_monitors(m);
    nb::class_<LiveFeed, Feed>(m, "LiveFeed", "Operations that are made while they are executed.")
        .def(nb::init<>())
        .def("give", &LiveFeed::give, "operations"_a, "Add operations, 16 bytes each.")
        .def("end", &LiveFeed::end, "Say that no more will come.");
    nb::exception<ExecutionError>(m, "ExecutionError", PyExc_RuntimeError);
}
