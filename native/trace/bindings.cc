#include "bindings.hh"

#include <array>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "trace/channel.hh"
#include "trace/lackey.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::machine;

namespace {

using Tally = std::vector<uint64_t>;

constexpr size_t codes = static_cast<size_t>(Code::size);

// Four rows in turn: increments of one counter in a row would wait for each other.
void count(const Op* ops, size_t given, Tally& into) {
    std::array<std::array<uint32_t, codes>, 4> rows = {};
    for (size_t n = 0; n < given; ++n) ++rows[n % 4][static_cast<size_t>(ops[n].code)];
    for (const auto& row : rows)
        for (size_t code = 0; code < codes; ++code) into[code] += row[code];
}

// Pulls feeds until all of them have ended and counts their operations.
std::vector<Tally> tally(const std::vector<Feed*>& feeds) {
    constexpr size_t rare = 64;  // a feed that gave nothing is asked every so many rounds
    nb::gil_scoped_release release;
    std::vector<Tally> counts(feeds.size(), Tally(codes));
    std::vector<Op> ops(1024);  // small enough for the first cache
    std::vector<size_t> open(feeds.size());
    std::iota(open.begin(), open.end(), 0);
    std::vector<bool> busy(feeds.size(), true);
    bool any = true;
    for (size_t round = 0, idle = 0; !open.empty(); ++round) {
        const bool ask_all = !any || round % rare == 0;
        any = false;
        for (size_t k = 0; k < open.size(); ++k) {
            const size_t i = open[k];
            if (!busy[i] && !ask_all) continue;
            size_t given = 0;
            const Supply supply = feeds[i]->pull(ops.data(), ops.size(), given);
            count(ops.data(), given, counts[i]);
            busy[i] = given > 0;
            any = any || given > 0;
            if (supply == Supply::ended) open.erase(open.begin() + static_cast<long>(k--));
        }
        if (!any && ask_all && !open.empty()) {
            feeds[open[idle++ % open.size()]]->wait(1);
            nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
    }
    return counts;
}

// The loads and stores of feeds, as they come: threads in turn, none far ahead of the others.
class ReferenceReader {
  public:
    struct Row {
        uint64_t address;
        uint32_t size;
        uint32_t thread;
        uint8_t write;
        uint8_t spare[7];
    };
    static_assert(sizeof(Row) == 24);

    explicit ReferenceReader(std::vector<Feed*> feeds) : feeds_(std::move(feeds)) {
        open_.resize(feeds_.size());
        std::iota(open_.begin(), open_.end(), 0);
    }

    // Up to about `most` references; fewer when the program does nothing for a while. Nothing
    // more will come once `ended`.
    nb::bytes take(size_t most) {
        rows_.clear();
        {
            nb::gil_scoped_release release;
            size_t idle = 0;
            while (!open_.empty() && rows_.size() < most && idle < patience) {
                bool any = false;
                for (size_t k = 0; k < open_.size(); ++k) {
                    size_t given = 0;
                    const Supply supply = feeds_[open_[k]]->pull(ops_.data(), ops_.size(), given);
                    keep(given, static_cast<uint32_t>(open_[k]));
                    any = any || given > 0;
                    if (supply == Supply::ended) open_.erase(open_.begin() + static_cast<long>(k--));
                }
                if (any || open_.empty()) continue;
                feeds_[open_[idle++ % open_.size()]]->wait(1);
            }
        }
        return nb::bytes(reinterpret_cast<const char*>(rows_.data()), rows_.size() * sizeof(Row));
    }
    bool ended() const { return open_.empty(); }

  private:
    static constexpr size_t patience = 100;  // waits of a millisecond

    void keep(size_t given, uint32_t thread) {
        for (size_t n = 0; n < given; ++n) {
            const Op& op = ops_[n];
            const bool write = op.code == Code::store || op.code == Code::atomic;
            if (write || op.code == Code::load)
                rows_.push_back({op.value, op.size, thread, static_cast<uint8_t>(write), {}});
        }
    }

    std::vector<Feed*> feeds_;
    std::vector<size_t> open_;
    std::vector<Op> ops_ = std::vector<Op>(1024);
    std::vector<Row> rows_;
};

nb::tuple parsed(nb::bytes text, size_t piece) {
    if (piece == 0) throw std::invalid_argument("a piece of text cannot be empty");
    LackeyParser parser;
    std::vector<Op> ops;
    const std::string_view whole(text.c_str(), text.size());
    for (size_t at = 0; at < whole.size(); at += piece) parser.parse(whole.substr(at, piece), ops);
    parser.finish(ops);
    return nb::make_tuple(
        nb::bytes(reinterpret_cast<const char*>(ops.data()), ops.size() * sizeof(Op)),
        parser.instructions(), parser.ignored());
}

}  // namespace

void bind_trace(nb::module_& m) {
    nb::class_<TraceChannel>(m, "TraceChannel", "Memory shared with a traced program.")
        .def(nb::init<bool>(), "has_tasks"_a)
        .def_prop_ro("fd", &TraceChannel::fd)
        .def("close_fd", &TraceChannel::close_fd)
        .def("watch", &TraceChannel::watch, "pid"_a)
        .def("detach", &TraceChannel::detach)
        .def(
            "feed",
            [](std::shared_ptr<TraceChannel> channel, uint32_t number) {
                if (number >= GNOMON_TRACE_SLOTS) throw std::out_of_range("no such thread");
                return new TraceFeed(std::move(channel), number);
            },
            "number"_a, nb::rv_policy::take_ownership)
        .def_prop_ro("attached", [](TraceChannel& c) { return c.header().attached != 0; })
        .def_prop_ro("threads", [](TraceChannel& c) { return c.header().threads; })
        .def_prop_ro("untraced_threads", [](TraceChannel& c) { return c.header().untraced; })
        .def_prop_ro("forks", [](TraceChannel& c) { return c.header().forks; })
        .def_prop_ro("load_base", [](TraceChannel& c) { return c.header().load_base; });
    nb::class_<TraceFeed, Feed>(m, "TraceFeed", "The records of a traced thread.");
    nb::class_<LackeyFeed, Feed>(m, "LackeyFeed", "What lackey writes, read from a descriptor.")
        .def(nb::init<int>(), "fd"_a)
        .def("detach", &LackeyFeed::detach)
        .def_prop_ro("instructions",
                     [](const LackeyFeed& feed) { return feed.parser().instructions(); })
        .def_prop_ro("ignored", [](const LackeyFeed& feed) { return feed.parser().ignored(); });
    m.def("parse_lackey", &parsed, "text"_a, "piece"_a,
          "Return the operations of a text, its instructions and the lines ignored.");
    m.def("tally", &tally, "feeds"_a,
          "Pull feeds to their end and return how often each had every code.");
    nb::class_<ReferenceReader>(m, "ReferenceReader", "The loads and stores of feeds.")
        .def(nb::init<std::vector<Feed*>>(), "feeds"_a, nb::keep_alive<1, 2>())
        .def("take", &ReferenceReader::take, "most"_a,
             "Return those that follow, 24 bytes each; none for a while is no end.")
        .def_prop_ro("ended", &ReferenceReader::ended);
    m.attr("TRACE_VERSION") = GNOMON_TRACE_VERSION;
    m.attr("TRACE_SLOTS") = GNOMON_TRACE_SLOTS;
}
