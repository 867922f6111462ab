#include "bindings.hh"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <vector>

#include "monitor/array.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::monitor;

namespace {

template <typename T>
using Row = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
nb::bytes column(const std::vector<Stored>& stored, T Stored::*member) {
    std::vector<T> values(stored.size());
    for (size_t i = 0; i < stored.size(); ++i) values[i] = stored[i].*member;
    return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

CounterArray* make(uint32_t counters, uint32_t shared, uint64_t range_words, uint64_t gap_words,
                   uint64_t gap_pages, uint32_t page_shift, uint32_t count_limit,
                   uint64_t ring_records, int64_t empty_every, int64_t fetch_delay,
                   std::vector<std::pair<uint64_t, uint64_t>> fixed) {
    if (counters <= shared || counters > (1u << 24) || page_shift < 2 || page_shift > 36 ||
        range_words < 1 || range_words > uint64_t{1} << (page_shift - 2) || ring_records < 1 ||
        count_limit < 1 || count_limit > Record::most || empty_every < 0 || fetch_delay < 0)
        throw std::invalid_argument("no such counter array");
    return new CounterArray(Setup{counters, shared, range_words, gap_words, gap_pages, page_shift,
                                  count_limit,
                                  RingSetup{ring_records, empty_every, fetch_delay},
                                  std::move(fixed)});
}

void count(CounterArray& array, const Row<int64_t>& time, const Row<uint64_t>& address,
           const Row<uint32_t>& size, const Row<uint8_t>& write) {
    const size_t accesses = time.shape(0);
    if (address.shape(0) != accesses || size.shape(0) != accesses || write.shape(0) != accesses)
        throw std::invalid_argument("arrays differ in length");
    nb::gil_scoped_release release;
    array.count(time.data(), address.data(), size.data(), write.data(), accesses);
}

nb::tuple take(CounterArray& array) {
    Ring& ring = array.ring();
    nb::tuple taken =
        nb::make_tuple(column(ring.stored(), &Stored::record), column(ring.stored(), &Stored::begin),
                       column(ring.stored(), &Stored::end));
    ring.forget();
    return taken;
}

nb::list fixed_counts(const CounterArray& array) {
    nb::list rows;
    for (const Fixed& each : array.fixed())
        rows.append(nb::make_tuple(each.start, each.end, each.count, each.writes));
    return rows;
}

}  // namespace

void bind_monitor(nb::module_& m) {
    nb::class_<CounterArray>(m, "CounterArray", "Few counters that follow accesses to memory.")
        .def(nb::new_(&make), "counters"_a, "shared"_a, "range_words"_a, "gap_words"_a,
             "gap_pages"_a, "page_shift"_a, "count_limit"_a, "ring_records"_a, "empty_every"_a,
             "fetch_delay"_a, "fixed"_a)
        .def("count", &count, "time"_a, "address"_a, "size"_a, "write"_a)
        .def("finish", &CounterArray::finish, "time"_a,
             "Read what is left in the counters; they are free then.")
        .def("take", &take, "Return records, begins and ends since the last call, as bytes.")
        .def("fixed", &fixed_counts, "Start, end, accesses and writes of static counters.")
        .def_prop_ro("accesses", &CounterArray::accesses)
        .def_prop_ro("fixed_accesses", &CounterArray::fixed_accesses)
        .def_prop_ro("extensions", &CounterArray::extensions)
        .def_prop_ro("at_end", &CounterArray::at_end)
        .def_prop_ro("flushed", [](CounterArray& array) { return array.ring().pushed(); })
        .def_prop_ro("signals", [](CounterArray& array) { return array.ring().signals(); })
        .def_prop_ro("lost", [](CounterArray& array) { return array.ring().lost(); })
        .def_prop_ro("lost_accesses",
                     [](CounterArray& array) { return array.ring().lost_accesses(); })
        .def_prop_ro("most_in_ring",
                     [](CounterArray& array) { return array.ring().most_in_ring(); });
    m.attr("MONITOR_COUNT_LIMIT") = Record::most;
}
