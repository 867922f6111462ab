#include "bindings.hh"

#include <nanobind/ndarray.h>
#include <stdexcept>
#include <vector>

#include "account/spin.hh"
#include "account/sweep.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::account;

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Row, typename Get>
nb::bytes column(const std::vector<Row>& rows, Get get) {
    std::vector<decltype(get(rows[0]))> values;
    values.reserve(rows.size());
    for (const Row& row : rows) values.push_back(get(row));
    return nb::bytes(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(values[0]));
}

nb::tuple divided(const Column<int32_t>& thread, const Column<int64_t>& begin,
                  const Column<int64_t>& end, const Column<uint8_t>& state,
                  const Column<uint8_t>& ender, const Column<uint8_t>& relation,
                  const Column<int32_t>& target, const Column<int32_t>& process,
                  size_t processes, int64_t from, int64_t to, int64_t exec, double cpus) {
    const size_t count = thread.shape(0);
    for (const size_t each : {begin.shape(0), end.shape(0), state.shape(0), ender.shape(0),
                              relation.shape(0), target.shape(0)})
        if (each != count) throw std::invalid_argument("the columns of slices differ in length");
    if (count > INT32_MAX || process.shape(0) > INT32_MAX)
        throw std::invalid_argument("more slices than can be numbered");
    const Slices slices{thread.data(), begin.data(),    end.data(),    state.data(),
                        ender.data(),  relation.data(), target.data(), count,
                        process.data(), process.shape(0), processes};
    const Span span{from, to, exec, cpus};
    Division found;
    {
        nb::gil_scoped_release release;
        check(slices, span);
        found = divide(slices, span);
    }
    const auto& [pieces, gaps, steps, full] = found;
    return nb::make_tuple(
        nb::make_tuple(column(pieces, [](auto& p) { return p.slice; }),
                       column(pieces, [](auto& p) { return p.meanwhile; }),
                       column(pieces, [](auto& p) { return p.amount; }),
                       column(pieces, [](auto& p) { return p.lost; })),
        nb::make_tuple(column(gaps, [](auto& g) { return g.begin; }),
                       column(gaps, [](auto& g) { return g.end; }),
                       column(gaps, [](auto& g) { return g.slice; }),
                       column(gaps, [](auto& g) { return static_cast<uint8_t>(g.woken); })),
        nb::make_tuple(column(steps, [](auto& s) { return s.time; }),
                       column(steps, [](auto& s) { return s.running; }),
                       column(steps, [](auto& s) { return s.spinning; }),
                       column(steps, [](auto& s) { return s.ready; }),
                       column(steps, [](auto& s) { return s.rate; }),
                       column(steps, [](auto& s) { return s.lost; })),
        full);
}

int loop_of(const nb::bytes& code, size_t at) {
    if (at >= code.size()) throw std::invalid_argument("the address lies outside of the code");
    return static_cast<int>(
        loop_at(reinterpret_cast<const uint8_t*>(code.c_str()), code.size(), at));
}

}  // namespace

void bind_sweep(nb::module_& m) {
    m.def("divide_time", &divided, "thread"_a, "begin"_a, "end"_a, "state"_a, "ender"_a,
          "relation"_a, "target"_a, "process"_a, "processes"_a, "start"_a, "stop"_a, "begun"_a,
          "cpus"_a,
          "Divide elapsed time among slices of threads: columns of pieces, gaps and steps, and the "
          "time in which all CPUs computed while more threads were ready.");
    m.def("spin_loop", &loop_of, "code"_a, "at"_a,
          "Whether x86-64 code is in a loop that waits: 0 no or unknown, 1 yes, 2 it calls.");
}
