#include "bindings.hh"

#include <array>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>

#include "workload/feed.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::workload;

namespace {

const std::map<std::string, Feeds (*)(const Settings&)> makers = {
    {"assignment", assignment},
    {"bfs", bfs},
    {"chase", chase},
    {"copy", stream},
    {"false-sharing", false_sharing},
    {"fft", fft},
    {"hot-table", hot_table},
    {"matmul", matmul},
    {"matrix-update", matrix_update},
    {"parallel-sort", parallel_sort},
    {"producer-consumer", producer_consumer},
    {"pyramid", pyramid},
    {"radix", radix},
    {"ramp-compute", ramp_compute},
    {"random", random_access},
    {"relay", relay},
    {"spmv", spmv},
    {"strided-sum", strided_sum},
    {"string-sort", string_sort},
    {"triad", stream},
    {"vector-update", vector_update},
    {"zipf", zipf},
};

using Whole = std::map<std::string, uint64_t>;
using Real = std::map<std::string, double>;

nb::list feeds(const std::string& name, const Whole& whole, const Real& real,
               const std::vector<uint64_t>& bases) {
    Feeds made;
    {
        nb::gil_scoped_release release;
        made = makers.at(name)(Settings{whole, real, bases});
    }
    nb::list result;
    for (auto& feed : made) result.append(nb::cast(feed.release(), nb::rv_policy::take_ownership));
    return result;
}

// References by how many there are, classes by the instructions they stand for.
std::vector<uint64_t> count(Feed& feed) {
    std::array<Op, 4096> ops;
    std::vector<uint64_t> sums(static_cast<size_t>(Code::size));
    for (Supply supply = Supply::more; supply == Supply::more;) {
        size_t given = 0;
        supply = feed.pull(ops.data(), ops.size(), given);
        for (size_t i = 0; i < given; ++i) {
            const bool instructions = ops[i].code >= Code::integer && ops[i].code <= Code::other;
            sums[static_cast<size_t>(ops[i].code)] += instructions ? ops[i].value : 1;
        }
    }
    return sums;
}

}  // namespace

void bind_workloads(nb::module_& m) {
    m.def("workload_feeds", &feeds, "name"_a, "whole"_a, "real"_a, "bases"_a,
          "Return one feed a thread of a workload whose parameters were checked.");
    m.def(
        "spmv_nonzeros",
        [](const Whole& whole, const Real& real) {
            return spmv_nonzeros(Settings{whole, real, {}});
        },
        "whole"_a, "real"_a);
    m.def("count_operations", &count, "feed"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Pull a feed to its end; return instructions by code, and how many of other operations.");
}
