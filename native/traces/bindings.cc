#include "bindings.hh"

#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "traces/capture.hh"
#include "traces/segment.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::traces;

namespace {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Times = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ends = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Any = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
nb::bytes packed(const std::vector<T>& values) {
    return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::vector<Column> columns_of(const std::vector<std::vector<std::string>>& named) {
    std::vector<Column> columns;
    for (const auto& each : named) {
        Column column{};
        if (each.size() != 2 || each[0].empty() || each[0].size() >= sizeof column.name ||
            each[1].size() != 2)
            throw std::invalid_argument("a column is a name below 24 bytes and a type");
        std::memcpy(column.name, each[0].data(), each[0].size());
        std::memcpy(column.type, each[1].data(), 2);
        columns.push_back(column);
    }
    return columns;
}

// Ends of payloads must not decrease, nor leave the bytes that they are ends in.
void check_ends(const Ends& ends, size_t bytes) {
    uint64_t last = 0;
    for (size_t i = 0; i < ends.shape(0); ++i) {
        if (ends.data()[i] < last || ends.data()[i] > bytes)
            throw std::invalid_argument("payloads end where they cannot");
        last = ends.data()[i];
    }
}

int64_t append(Segment& segment, const std::vector<Any>& arrays, size_t from, const Ends& ends,
               const Bytes& payload) {
    const size_t count = arrays.empty() ? 0 : arrays[0].shape(0);
    if (arrays.size() != segment.header().columns) throw std::invalid_argument("other columns");
    std::vector<const void*> at;
    for (int k = 0; k < static_cast<int>(arrays.size()); ++k) {
        const auto width = static_cast<size_t>(segment.width(k));
        if (k == segment.payload_column()) {
            if (ends.shape(0) != count) throw std::invalid_argument("payloads of other rows");
            check_ends(ends, payload.shape(0));
            at.push_back(nullptr);
            continue;
        }
        if (arrays[k].shape(0) != count || arrays[k].itemsize() != width)
            throw std::invalid_argument("columns of other lengths or types");
        at.push_back(static_cast<const char*>(arrays[k].data()) + from * width);
    }
    if (from >= count) return 0;
    const bool has = segment.payload_column() >= 0;
    const uint64_t* first = has ? ends.data() + from : nullptr;
    const uint64_t begin = has && from ? ends.data()[from - 1] : 0;
    const auto* bytes = reinterpret_cast<const char*>(payload.data());
    nb::gil_scoped_release release;
    return segment.append(at.data(), count - from, first, begin, bytes);
}

nb::object column(nb::handle self, const std::string& name) {
    auto& segment = nb::cast<Segment&>(self);
    for (uint32_t i = 0; i < segment.header().columns; ++i) {
        const Column& column = segment.header().column[i];
        if (name != column.name) continue;
        const char kind = column.type[0];
        const auto code = static_cast<uint8_t>(kind == 'i' ? nb::dlpack::dtype_code::Int
                                                           : nb::dlpack::dtype_code::UInt);
        const auto bits = static_cast<uint8_t>(segment.width(static_cast<int>(i)) * 8);
        const size_t shape[1] = {segment.header().capacity};
        return nb::cast(nb::ndarray<nb::numpy, nb::ro>(
            const_cast<char*>(segment.column(static_cast<int>(i))), 1, shape, self, nullptr,
            nb::dlpack::dtype{code, bits, 1}));
    }
    throw nb::key_error(name.c_str());
}

nb::list columns(const Segment& segment) {
    nb::list found;
    for (uint32_t i = 0; i < segment.header().columns; ++i) {
        const Column& column = segment.header().column[i];
        found.append(nb::make_tuple(nb::str(column.name), nb::str(column.type)));
    }
    return found;
}

nb::bytes payloads(const Segment& segment, uint64_t from, uint64_t to) {
    if (segment.payload_column() < 0 || from >= to || to > segment.rows()) return nb::bytes("", 0);
    const auto* ends = reinterpret_cast<const uint64_t*>(segment.column(segment.payload_column()));
    const std::string bytes = segment.read_payload(from ? ends[from - 1] : 0, ends[to - 1]);
    return nb::bytes(bytes.data(), bytes.size());
}

nb::bytes summed(const nb::list& segments, const std::vector<uint64_t>& rows, int64_t t0,
                 int64_t t1, uint32_t pixels) {
    std::vector<const Segment*> found;
    for (const nb::handle each : segments) found.push_back(nb::cast<const Segment*>(each));
    if (found.size() != rows.size() || t1 <= t0 || !pixels || pixels > 1'000'000)
        throw std::invalid_argument("an overview needs a stretch of time and up to 10^6 pixels");
    for (size_t i = 0; i < rows.size(); ++i)
        if (rows[i] > found[i]->rows()) throw std::invalid_argument("rows that are not there");
    std::vector<uint32_t> out(static_cast<size_t>(pixels) * kClasses);
    {
        nb::gil_scoped_release release;
        overview(found, rows, t0, t1, pixels, out.data());
    }
    return packed(out);
}

nb::dict taken(CaptureDecoder& decoder) {
    const Packets p = decoder.take();
    nb::dict out;
    out["time"] = packed(p.time);
    out["lc"] = packed(p.lc);
    out["type"] = packed(p.type);
    out["flags"] = packed(p.flags);
    out["src"] = packed(p.src);
    out["dst"] = packed(p.dst);
    out["source"] = packed(p.source);
    out["destination"] = packed(p.destination);
    out["length"] = packed(p.length);
    out["ethertype"] = packed(p.ethertype);
    out["vlan"] = packed(p.vlan);
    out["protocol"] = packed(p.protocol);
    out["sport"] = packed(p.sport);
    out["dport"] = packed(p.dport);
    out["seq"] = packed(p.seq);
    out["ack"] = packed(p.ack);
    out["win"] = packed(p.window);
    out["opcode"] = packed(p.opcode);
    out["qp"] = packed(p.qp);
    out["ends"] = packed(p.ends);
    out["payload"] = nb::bytes(p.payload.data(), p.payload.size());
    return out;
}

void bind_segments_of_traces(nb::module_& m) {
    nb::class_<Segment>(m, "TraceSegment", "A mapped file of columns to which rows are appended.")
        .def_static(
            "create",
            [](const std::string& path, const std::vector<std::vector<std::string>>& columns,
               uint64_t capacity, uint64_t first, const nb::bytes& classes) {
                if (classes.size() != 256) throw std::invalid_argument("a class for each type");
                const auto* of = reinterpret_cast<const uint8_t*>(classes.c_str());
                for (size_t i = 0; i < 256; ++i)
                    if (of[i] >= kClasses) throw std::invalid_argument("classes are 0 to 3");
                return Segment::create(path, columns_of(columns), capacity, first, of);
            },
            "path"_a, "columns"_a, "capacity"_a, "first"_a, "classes"_a,
            nb::rv_policy::take_ownership)
        .def_static("open", &Segment::open, "path"_a, "writable"_a = false,
                    nb::rv_policy::take_ownership)
        .def("append", &append, "columns"_a, "start"_a, "ends"_a, "payload"_a,
             "Append rows from `start` on; how many there was room for, or -1 - row for its time.")
        .def("column", [](nb::handle self, const std::string& name) { return column(self, name); },
             "name"_a, "The column as an array of the segment's capacity.")
        .def("columns", &columns, "Names and types.")
        .def("payloads", &payloads, "start"_a, "stop"_a, "The payloads of some rows, joined.")
        .def(
            "index",
            [](const Segment& segment, uint64_t rows) {
                if (rows > segment.rows()) throw std::invalid_argument("rows that are not there");
                return nb::bytes(reinterpret_cast<const char*>(segment.index()),
                                 segment.blocks(rows) * sizeof(Block));
            },
            "rows"_a, "An entry for each block of the first rows.")
        .def("sync", &Segment::sync, nb::call_guard<nb::gil_scoped_release>())
        .def("seal", &Segment::seal, nb::call_guard<nb::gil_scoped_release>())
        .def("recover", &Segment::recover, nb::call_guard<nb::gil_scoped_release>(),
             "Cut it back to the rows that check, and seal it.")
        .def("verify", &Segment::verify, nb::call_guard<nb::gil_scoped_release>(),
             "The first block that does not check; -2 for the index, -1 for none.")
        .def_prop_ro("rows", &Segment::rows)
        .def_prop_ro("sealed", [](const Segment& s) { return s.header().sealed != 0; })
        .def_prop_ro("capacity", [](const Segment& s) { return s.header().capacity; })
        .def_prop_ro("first", [](const Segment& s) { return s.header().first; });
    m.def("trace_overview", &summed, "segments"_a, "rows"_a, "t0"_a, "t1"_a, "pixels"_a,
          "Rows of each of four classes in equal stretches of time, as uint32.");
}

}  // namespace

void bind_traces(nb::module_& m) {
    bind_segments_of_traces(m);
    nb::class_<CaptureDecoder>(m, "CaptureDecoder", "Decodes pcap and pcapng piece by piece.")
        .def(nb::init<>())
        .def(
            "feed",
            [](CaptureDecoder& decoder, const nb::bytes& data) {
                decoder.feed(data.c_str(), data.size());
            },
            "data"_a, "Take the next bytes; ValueError says where they cannot be right.")
        .def("take", &taken, "What was decoded since the last call: columns as bytes.")
        .def_prop_ro("pending", &CaptureDecoder::pending)
        .def_prop_ro("begun", &CaptureDecoder::begun)
        .def_prop_ro("decoded", &CaptureDecoder::decoded)
        .def_prop_ro("untimed", &CaptureDecoder::untimed)
        .def_prop_ro("interfaces",
                     [](const CaptureDecoder& decoder) {
                         nb::list found;
                         for (const Interface& each : decoder.interfaces())
                             found.append(nb::make_tuple(
                                 nb::bytes(each.name.data(), each.name.size()), each.link));
                         return found;
                     })
        .def(
            "addresses",
            [](const CaptureDecoder& decoder, size_t from) {
                nb::list found;
                for (size_t i = from; i < decoder.addresses().size(); ++i)
                    found.append(nb::bytes(
                        reinterpret_cast<const char*>(decoder.addresses()[i].data()), 17));
                return found;
            },
            "start"_a, "Addresses from number `start` + 1 on.");
    m.def(
        "pcap_records",
        [](const Times& time, const Words& length, const Ends& ends, const Bytes& payload) {
            const size_t count = time.shape(0);
            if (length.shape(0) != count || ends.shape(0) != count)
                throw std::invalid_argument("columns of other lengths");
            check_ends(ends, payload.shape(0));
            const std::string out =
                pcap_records(time.data(), length.data(), ends.data(),
                             reinterpret_cast<const char*>(payload.data()), count);
            return nb::bytes(out.data(), out.size());
        },
        "time"_a, "length"_a, "ends"_a, "payload"_a, "Packets as a pcap file has them.");
}
