#include "bindings.hh"

#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "advice/census.hh"
#include "advice/layout.hh"
#include "advice/tally.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::advice;
using gnomon::machine::Feed;
using gnomon::machine::Op;
using gnomon::machine::Supply;

namespace {

template <typename T>
nb::bytes bytes_of(const std::vector<T>& cells) {
    return nb::bytes(reinterpret_cast<const char*>(cells.data()), cells.size() * sizeof(T));
}

using MoveTuple = std::tuple<uint64_t, uint64_t, int64_t, std::vector<int64_t>>;

std::vector<Move> moves_of(const std::vector<MoveTuple>& given) {
    std::vector<Move> moves;
    for (const auto& [start, end, by, copies] : given) moves.push_back({start, end, by, copies});
    return moves;
}

// Takes all that a program does, at most so many operations; threads that give nothing are
// asked again until they have ended.
std::shared_ptr<Recorded> record(const std::vector<Feed*>& feeds, uint64_t most) {
    nb::gil_scoped_release release;
    auto recorded = std::make_shared<Recorded>();
    recorded->threads.resize(feeds.size());
    std::vector<Op> ops(1024);
    std::vector<size_t> open(feeds.size());
    std::iota(open.begin(), open.end(), 0);
    for (size_t idle = 0, rounds = 0; !open.empty();) {
        bool any = false;
        for (size_t k = 0; k < open.size(); ++k) {
            const size_t i = open[k];
            size_t given = 0;
            const Supply supply = feeds[i]->pull(ops.data(), ops.size(), given);
            any = any || given > 0;
            auto& kept = recorded->threads[i];
            kept.insert(kept.end(), ops.begin(), ops.begin() + static_cast<long>(given));
            recorded->operations += given;
            if (supply == Supply::ended) open.erase(open.begin() + static_cast<long>(k--));
        }
        if (recorded->operations > most) {
            recorded->complete = false;
            break;
        }
        if (!any && !open.empty()) {
            // Feeds that are waited for in earnest say that their thread is away, which depends
            // on the load of this host: a recording is to be the same every time.
            feeds[open[idle++ % open.size()]]->wait(0);
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        if (!any || ++rounds % 256 == 0) {
            nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
    }
    while (recorded->threads.size() > 1 && recorded->threads.back().empty())
        recorded->threads.pop_back();
    return recorded;
}

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void add_all(Tally& tally, Column<uint64_t> address, Column<int16_t> source,
             Column<int16_t> home, Column<uint8_t> write) {
    const size_t count = address.size();
    if (source.size() != count || home.size() != count || write.size() != count)
        throw std::invalid_argument("columns of accesses are of one length");
    nb::gil_scoped_release release;
    for (size_t i = 0; i < count; ++i)
        tally.add(address.data()[i], source.data()[i], home.data()[i], write.data()[i] != 0);
}

}  // namespace

void bind_advice(nb::module_& m) {
    nb::class_<Tally>(m, "AccessTally", "Accesses by word and by who asks.")
        .def(nb::init<>())
        .def("add", &add_all, "address"_a, "source"_a, "home"_a, "write"_a)
        .def("cells", [](const Tally& tally) { return bytes_of(tally.cells()); });
    nb::class_<Census>(m, "Census", "References of each thread, by page and by 64 bytes.")
        .def(nb::init<uint32_t, uint64_t>(), "threads"_a, "page_bytes"_a)
        .def("count", &Census::count, "thread"_a, "address"_a, "size"_a, "reads"_a, "writes"_a)
        .def("take_pages", [](Census& census) { return bytes_of(census.take_pages()); })
        .def("blocks", [](const Census& census) { return bytes_of(census.blocks()); });
    nb::class_<CountedFeed, Feed>(m, "CountedFeed", "A feed that a census counts.")
        .def(nb::init<Feed&, Census&, uint32_t>(), "inner"_a, "census"_a, "thread"_a,
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
    nb::class_<MovedFeed, Feed>(m, "MovedFeed", "A feed with parts of its data elsewhere.")
        .def(
            "__init__",
            [](MovedFeed* self, Feed& inner, const std::vector<MoveTuple>& moves) {
                new (self) MovedFeed(inner, moves_of(moves));
            },
            "inner"_a, "moves"_a, nb::keep_alive<1, 2>());
    nb::class_<Recorded>(m, "RecordedProgram", "All that a program does, thread by thread.")
        .def_prop_ro("threads", [](const Recorded& r) { return r.threads.size(); })
        .def_ro("operations", &Recorded::operations)
        .def_ro("complete", &Recorded::complete);
    nb::class_<RecordedFeed, Feed>(m, "RecordedFeed", "A thread of a recorded program.")
        .def(
            "__init__",
            [](RecordedFeed* self, std::shared_ptr<Recorded> recorded, uint32_t thread) {
                if (thread >= recorded->threads.size())
                    throw std::out_of_range("there is no such thread");
                new (self) RecordedFeed(std::move(recorded), thread);
            },
            "recorded"_a, "thread"_a);
    nb::class_<PrefixedFeed, Feed>(m, "PrefixedFeed", "Recorded operations, then a feed.")
        .def(
            "__init__",
            [](PrefixedFeed* self, std::shared_ptr<Recorded> recorded, uint32_t thread,
               Feed& inner) {
                if (thread >= recorded->threads.size())
                    throw std::out_of_range("there is no such thread");
                new (self) PrefixedFeed(std::move(recorded), thread, inner);
            },
            "recorded"_a, "thread"_a, "inner"_a, nb::keep_alive<1, 4>());
    m.def(
        "deal_setup",
        [](Feed& feed, uint32_t setter, uint32_t threads,
           const std::vector<std::tuple<uint64_t, uint64_t, uint32_t>>& parts, uint64_t most) {
            std::vector<Part> all;
            for (const auto& [start, end, thread] : parts) {
                if (thread >= threads) throw std::out_of_range("there is no such thread");
                all.push_back({start, end, thread});
            }
            if (setter >= threads) throw std::out_of_range("there is no such thread");
            nb::gil_scoped_release release;
            return deal(feed, setter, threads, all, most);
        },
        "feed"_a, "setter"_a, "threads"_a, "parts"_a, "most"_a,
        "Take what a thread does before it meets others, and deal its stores to those who own "
        "what they go to.");
    m.def("record_feeds", &record, "feeds"_a, "most"_a,
          "Pull feeds to their end, or until they gave so many operations.");
}
