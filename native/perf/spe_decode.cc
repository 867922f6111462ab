#include "perf/spe_decode.hh"

namespace gnomon::spe {

namespace {

enum class Kind { pad, end, timestamp, events, source, context, operation, address, counter };

struct Packet {
    Kind kind;
    uint8_t index;    // of an address or a counter; the class of an operation
    uint64_t payload;
    size_t size;
};

// No record is longer, whatever the core.
constexpr size_t longest = 2048;

// Bits 5:4 of a header tell how many bytes follow it.
size_t payload_bytes(uint8_t header) { return size_t{1} << (header >> 4 & 3); }

uint64_t little_endian(const unsigned char* at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | at[i];
    return value;
}

// Reads the packet at the beginning; false when it is not whole.
bool next(const unsigned char* data, size_t size, uint64_t position, Packet& packet) {
    const uint8_t first = data[0];
    const bool extended = (first & 0xFC) == 0x20;
    if (extended && size < 2) return false;
    const uint8_t header = extended ? data[1] : first;
    if (extended && header == 0) {  // fills up to the next multiple of a power of two
        const uint64_t to = uint64_t{2} << (first & 0xF);
        packet = {Kind::pad, 0, 0, static_cast<size_t>(to - (position & (to - 1)))};
        return packet.size <= size;
    }
    const size_t skip = extended ? 2 : 1;
    const uint8_t index =
        static_cast<uint8_t>(extended ? (first & 3) << 3 | (header & 7) : header & 7);
    size_t bytes = payload_bytes(header);
    Kind kind = Kind::pad;
    if ((header & 0xF8) == 0xB0)
        kind = Kind::address;
    else if ((header & 0xF8) == 0x98)
        kind = Kind::counter;
    else if (extended)
        kind = Kind::pad;
    else if (header == 0x71)
        kind = Kind::timestamp;
    else if ((header & 0xCF) == 0x42)
        kind = Kind::events;
    else if ((header & 0xCF) == 0x43)
        kind = Kind::source;
    else if ((header & 0xFC) == 0x64)
        kind = Kind::context;
    else if ((header & 0xFC) == 0x48)
        kind = Kind::operation;
    else if (header == 0x01) {
        kind = Kind::end;
        bytes = 0;
    } else if (header < 0x20) {
        bytes = 0;  // padding is a single byte
    }
    if (size < skip + bytes) return false;
    packet = {kind, index, little_endian(data + skip, bytes), skip + bytes};
    return true;
}

void note(const Packet& packet, Record& record) {
    // The upper byte of an address has flags; bit 55 tells the kernel's half of addresses.
    const auto plain = [](uint64_t address) {
        const uint64_t low = address & 0x00FFFFFFFFFFFFFF;
        return low >> 55 & 1 ? low | 0xFF00000000000000 : low;
    };
    switch (packet.kind) {
        case Kind::address:
            if (packet.index == 0) record.ip = plain(packet.payload);
            if (packet.index == 2) record.address = plain(packet.payload);
            break;
        case Kind::counter:
            if (packet.index == 0) record.latency = packet.payload;
            break;
        case Kind::events: record.events = packet.payload; break;
        case Kind::context: record.context = static_cast<uint32_t>(packet.payload); break;
        case Kind::source:
            record.source = static_cast<uint16_t>(packet.payload);
            record.sourced = true;
            break;
        case Kind::operation:
            if ((packet.index & 3) != 1) break;  // no load or store
            record.store = packet.payload & 1;
            record.load = !record.store;
            record.atomic = (packet.payload & 0xE2) == 0x02 && (packet.payload & 0x04);
            break;
        default: break;
    }
}

}  // namespace

size_t decode(const unsigned char* data, size_t size, uint64_t position,
              std::vector<Record>& records) {
    size_t at = 0, whole = 0;
    bool begun = false;
    Record record;
    Packet packet;
    while (at < size && next(data + at, size - at, position + at, packet)) {
        at += packet.size;
        if (packet.kind == Kind::end || packet.kind == Kind::timestamp) {
            if (begun) records.push_back(record);
            record = {};
            begun = false;
        } else if (packet.kind != Kind::pad) {
            note(packet, record);
            begun = true;
        }
        if (begun && at - whole > longest) {  // not what SPE writes: go on behind it
            record = {};
            begun = false;
        }
        if (!begun) whole = at;
    }
    return whole;
}

namespace {

// Fields of perf_mem_data_src: see src/gnomon/sources/latency.py, which reads them.
constexpr uint64_t is_load = 0x02, is_store = 0x04, is_other = 0x01;
constexpr uint64_t hit = 0x02 << 5, miss = 0x04 << 5;
constexpr uint64_t l1 = 0x08 << 5, l2 = 0x20 << 5, l3 = 0x40 << 5, memory = 0x80 << 5;
constexpr uint64_t some_cache = uint64_t{0xB} << 33;
constexpr uint64_t remote = uint64_t{1} << 37, from_peer = uint64_t{2} << 38;
constexpr uint64_t of_another_core = uint64_t{1} << 43;
constexpr uint64_t locked = uint64_t{2} << 24, tlb_hit = uint64_t{2} << 26, tlb_miss = uint64_t{4} << 26;

enum Event : uint64_t {
    l1_access = 1 << 2,
    l1_refill = 1 << 3,
    tlb_access = 1 << 4,
    tlb_walk = 1 << 5,
    last_level_access = 1 << 8,
    last_level_miss = 1 << 9,
    remote_access = 1 << 10,
};

// By the numbers that ARM's own cores use.
uint64_t by_source(uint16_t source) {
    switch (source) {
        case 0x0: return hit | l1;
        case 0x8: return hit | l2;
        case 0x9: return some_cache | of_another_core;
        case 0xA: return hit | l3 | from_peer;
        case 0xB: return hit | l3;
        case 0xC: return some_cache | from_peer;
        case 0xD: return some_cache | remote;
        case 0xE: return hit | memory;
        default: return 0;
    }
}

// By what every core tells.
uint64_t by_events(uint64_t events) {
    if (events & remote_access) return remote;
    if (events & last_level_miss) return miss | l3;
    if (events & last_level_access) return hit | l3;
    if (events & l1_refill) return miss | l1;
    if (events & l1_access) return hit | l1;
    return 0;
}

}  // namespace

uint64_t data_source(const Record& record, bool common_sources) {
    uint64_t word = record.load ? is_load : record.store ? is_store : is_other;
    uint64_t level = common_sources && record.sourced ? by_source(record.source) : 0;
    word |= level ? level : by_events(record.events);
    if (record.events & tlb_walk)
        word |= tlb_miss;
    else if (record.events & tlb_access)
        word |= tlb_hit;
    return record.atomic ? word | locked : word;
}

}  // namespace gnomon::spe
