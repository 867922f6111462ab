#include "bindings.hh"

#include <nanobind/ndarray.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "pages/injection.hh"
#include "pages/tracker.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::pages;

namespace {

nb::bytes bytes_of(const std::vector<Run>& runs) {
    return nb::bytes(reinterpret_cast<const char*>(runs.data()), runs.size() * sizeof(Run));
}

}  // namespace

void bind_pages(nb::module_& m) {
    nb::class_<Held>(m, "HeldProcess", "A process that ptrace holds, from one thread of ours.")
        .def_static("before_exec", &Held::before_exec, "pid"_a)
        .def_static("running", &Held::running, "pid"_a)
        .def("await_exec", &Held::await_exec, "Stop it when it has called exec.")
        .def(
            "refuse_huge_pages",
            [](Held& held) { return held.call(SYS_prctl, {PR_SET_THP_DISABLE, 1}) == 0; },
            "Let it use pages of the smallest size only.")
        .def("go_on", &Held::go_on, "Let it run until it ends or becomes another program.")
        .def("wait", &Held::wait, "seconds"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Wait for either; it is stopped then.")
        .def("let_go", &Held::let_go);
    nb::enum_<Held::Event>(m, "HeldEvent", "Why a held process has stopped.")
        .value("NONE", Held::Event::none)
        .value("EXIT", Held::Event::exit)
        .value("EXEC", Held::Event::exec)
        .value("GONE", Held::Event::gone);
    nb::class_<Tracker>(m, "PageTracker", "Finds pages that a process has written.")
        .def(
            "__init__",
            [](Tracker* self, Held& held, int pid) {
                new (self) Tracker(pid, userfaultfd_of(held, pid));
            },
            "held"_a, "pid"_a)
        .def(
            "scan",
            [](Tracker& tracker) -> nb::object {
                std::vector<Run> written;
                bool alive;
                {
                    nb::gil_scoped_release release;
                    alive = tracker.scan(written);
                }
                if (!alive) return nb::none();
                return bytes_of(written);
            },
            "Return pages written since the last call as pairs of addresses; None at its end.")
        .def(
            "scan_range",
            [](Tracker& tracker, uint64_t start, uint64_t end) {
                std::vector<Run> written;
                {
                    nb::gil_scoped_release release;
                    tracker.scan_range(start, end, false, written);
                }
                return bytes_of(written);
            },
            "start"_a, "end"_a, "The same of one range of private memory.")
        .def_prop_ro("tracked_bytes", &Tracker::tracked_bytes)
        .def_prop_ro("untracked_bytes", &Tracker::untracked_bytes);
    m.def(
        "page_nodes",
        [](int pid, const nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig>& addresses) {
            const std::vector<int> nodes = nodes_of(pid, addresses.data(), addresses.shape(0));
            return nb::bytes(reinterpret_cast<const char*>(nodes.data()),
                             nodes.size() * sizeof(int));
        },
        "pid"_a, "addresses"_a, "Return the node of each page as int32, negative for none.");
    m.def("page_tracking_error", &tracking_error,
          "Return the errno for which this kernel cannot track pages, 0 when it can.");
}
