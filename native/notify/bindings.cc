#include "bindings.hh"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "notify/channel.hh"
#include "notify/histogram.hh"
#include "notify/interfere.hh"
#include "notify/session.hh"
#include "notify/team.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::notify;

namespace {

// Ctrl-C ends what is under way: its processes die with the team.
void raise_if_interrupted() {
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <size_t n>
void add_bins(nb::list& rows, size_t block, const std::array<uint32_t, n>& histogram) {
    for (size_t bin = 0; bin < n; ++bin)
        if (histogram[bin]) rows.append(nb::make_tuple(block, bin, histogram[bin]));
}

nb::list counts_of(const PhaseResult& phase, size_t events) {
    nb::list sides;
    for (size_t side : {0u, 1u}) {
        nb::list some;
        for (size_t i = 0; i < events; ++i)
            some.append(nb::make_tuple(phase.counts[side][i], phase.enabled[side][i],
                                       phase.running[side][i]));
        sides.append(some);
    }
    return sides;
}

nb::dict session(const std::string& mechanism, int left, int right, bool awake, uint64_t spin_ns,
                 uint64_t timeout_ns,
                 const std::vector<std::tuple<int, uint64_t, uint64_t>>& phases,
                 const std::vector<gnomon::EventSpec>& events) {
    SessionSpec spec{mechanism, left, right, awake, spin_ns, timeout_ns, {}, events};
    for (const auto& [what, size, budget] : phases)
        spec.phases.push_back({static_cast<What>(what), size, budget});
    if (events.size() > most_events) throw nb::value_error("too many events");
    SessionResult found;
    {
        nb::gil_scoped_release release;
        found = run_session(spec, raise_if_interrupted);
    }
    nb::list results;
    for (const PhaseResult& phase : found.phases) {
        nb::list rows;
        for (size_t block = 0; block < blocks; ++block)
            add_bins(rows, block, phase.histogram[block]);
        nb::dict one;
        one["messages"] = phase.messages;
        one["batch"] = phase.batch;
        one["elapsed_ns"] = phase.elapsed_ns;
        one["counts"] = counts_of(phase, events.size());
        one["bins"] = rows;
        results.append(one);
    }
    nb::dict result;
    result["clock_ns"] = static_cast<double>(found.clock_ticks) / ticks_a_ns;
    result["phases"] = results;
    return result;
}

nb::dict interference(const std::string& mechanism, const std::vector<int>& compute,
                      int communicator, int client, bool client_blocks, uint64_t spin_ns,
                      uint64_t pause_ns, uint64_t duration_ns, uint64_t timeout_ns) {
    const InterfereSpec spec{mechanism, compute,  communicator, client,    client_blocks,
                             spin_ns,   pause_ns, duration_ns,  timeout_ns};
    InterfereResult found;
    {
        nb::gil_scoped_release release;
        found = run_interference(spec, raise_if_interrupted);
    }
    nb::list rows;
    add_bins(rows, 0, found.histogram);
    nb::dict result;
    result["messages"] = found.messages;
    result["elapsed_ns"] = found.elapsed_ns;
    result["work"] = nb::cast(found.work);
    result["bins"] = rows;
    return result;
}

}  // namespace

void bind_notify(nb::module_& m) {
    nb::exception<Unavailable>(m, "NotifyUnavailableError", PyExc_RuntimeError);
    nb::exception<TeamFailure>(m, "NotifyTeamError", PyExc_RuntimeError);
    m.def("notify_mechanisms", &mechanisms, "The names of all mechanisms, fast ones first.");
    m.def(
        "notify_probe",
        [](const std::string& mechanism, size_t largest) {
            nb::gil_scoped_release release;
            make_channel(mechanism, {largest, 0});
        },
        "mechanism"_a, "largest"_a,
        "Make a channel and let it go; NotifyUnavailableError says why there can be none.");
    m.def("notify_session", &session, "mechanism"_a, "left"_a, "right"_a, "awake"_a, "spin_ns"_a,
          "timeout_ns"_a, "phases"_a, "events"_a,
          "Messages between two pinned processes, timed phase by phase: (what, size, budget_ns).");
    m.def("notify_interference", &interference, "mechanism"_a, "compute"_a, "communicator"_a,
          "client"_a, "client_blocks"_a, "spin_ns"_a, "pause_ns"_a, "duration_ns"_a,
          "timeout_ns"_a, "Compute beside a communicator: work done and round trips.");
    m.def("notify_bin", &bin_of, "ticks"_a, "The bin of a time in ticks.");
    m.def("notify_bin_start", &bin_start, "number"_a, "The least ticks of a bin.");
    m.attr("NOTIFY_BINS") = bins;
    m.attr("NOTIFY_BLOCKS") = blocks;
    m.attr("NOTIFY_TICKS_A_NS") = ticks_a_ns;
}
