#include "account/parse.hh"

#include <cstring>

#include "frames/cursor.hh"

namespace gnomon::account {

namespace {

using frames::Cursor;

// pid, tid, time, cpu, reserved, id: what PERF_SAMPLE_TID, TIME, CPU and IDENTIFIER ask for.
constexpr size_t header_bytes = 8, trailer_bytes = 32;
constexpr uint64_t most_chain = 512;

// The kernel's order: ax bx cx dx si di bp sp ip r8 ... r15; the numbers are DWARF's.
constexpr uint8_t order[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};

std::string_view text_of(Bytes bytes) {
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return all.substr(0, all.find('\0'));
}

void take_header(Bytes bytes, Record& record) {
    Cursor cursor(bytes);
    record.type = cursor.read<uint32_t>();
    record.misc = cursor.read<uint16_t>();
}

}  // namespace

bool time_of(Bytes bytes, int64_t& time) {
    if (bytes.size() < header_bytes + trailer_bytes) return false;
    uint32_t type;
    std::memcpy(&type, bytes.data(), sizeof type);
    // A sample has id, ip, pid and tid before it; all others have the trailer.
    const size_t at =
        type == static_cast<uint32_t>(Type::sample) ? 32 : bytes.size() - trailer_bytes + 8;
    if (at + sizeof time > bytes.size()) return false;
    std::memcpy(&time, bytes.data() + at, sizeof time);
    return true;
}

uint64_t sample_id(Bytes bytes) {
    uint64_t id = 0;
    if (bytes.size() >= header_bytes + sizeof id)
        std::memcpy(&id, bytes.data() + header_bytes, sizeof id);
    return id;
}

bool parse_plain(Bytes bytes, Record& record) {
    if (bytes.size() < header_bytes + trailer_bytes) return false;
    take_header(bytes, record);
    Cursor trailer(bytes, bytes.size() - trailer_bytes);
    record.pid = trailer.read<uint32_t>();
    record.tid = trailer.read<uint32_t>();
    record.time = trailer.read<int64_t>();
    record.cpu = trailer.read<uint32_t>();
    trailer.skip(4);
    record.id = trailer.read<uint64_t>();
    const Bytes body = bytes.subspan(header_bytes, bytes.size() - header_bytes - trailer_bytes);
    Cursor cursor(body);
    switch (static_cast<Type>(record.type)) {
        case Type::switched:
        case Type::switched_on_cpu: return true;
        case Type::fork:
        case Type::exit:
            record.pid = cursor.read<uint32_t>();
            record.parent_pid = cursor.read<uint32_t>();
            record.tid = cursor.read<uint32_t>();
            record.parent_tid = cursor.read<uint32_t>();
            record.time = cursor.read<int64_t>();
            return cursor.ok();
        case Type::comm:
            record.pid = cursor.read<uint32_t>();
            record.tid = cursor.read<uint32_t>();
            record.text = text_of(cursor.take(cursor.left()));
            return cursor.ok();
        case Type::map:
            record.pid = cursor.read<uint32_t>();
            record.tid = cursor.read<uint32_t>();
            record.start = cursor.read<uint64_t>();
            record.length = cursor.read<uint64_t>();
            record.offset = cursor.read<uint64_t>();
            cursor.skip(8);  // device
            record.inode = cursor.read<uint64_t>();
            cursor.skip(16);  // generation, protection, flags
            record.text = text_of(cursor.take(cursor.left()));
            return cursor.ok();
        case Type::lost:
            cursor.skip(8);  // which event
            record.lost = cursor.read<uint64_t>();
            return cursor.ok();
        case Type::lost_samples:
            record.lost = cursor.read<uint64_t>();
            return cursor.ok();
        default: return false;
    }
}

bool parse_sample(Bytes bytes, const RecordLayout& layout, bool with_stack, Record& record) {
    take_header(bytes, record);
    Cursor cursor(bytes, header_bytes);
    record.id = cursor.read<uint64_t>();
    record.ip = cursor.read<uint64_t>();
    record.pid = cursor.read<uint32_t>();
    record.tid = cursor.read<uint32_t>();
    record.time = cursor.read<int64_t>();
    record.cpu = cursor.read<uint32_t>();
    cursor.skip(4);
    if (!with_stack || !cursor.ok()) return cursor.ok();
    if (layout.kernel_chain) {
        const auto words = cursor.read<uint64_t>();
        if (words > most_chain) return false;
        record.chain = cursor.take(words * sizeof(uint64_t));
    }
    // Registers are of 64 bits, 32 bits or, of a thread of the kernel, not there.
    constexpr uint64_t none = 0, wide = 2;
    const auto abi = cursor.read<uint64_t>();
    if (abi != none) {
        for (uint32_t i = 0; i < layout.register_count; ++i) {
            const auto word = cursor.read<uint64_t>();
            if (i < sizeof order) record.registers.set(order[i], word);
        }
        record.has_registers = abi == wide && cursor.ok();
    }
    const auto size = cursor.read<uint64_t>();
    if (size == 0 || !cursor.ok()) return cursor.ok();
    const Bytes copied = cursor.take(size);
    const auto used = cursor.read<uint64_t>();
    if (!cursor.ok() || used > size) return false;
    record.stack = copied.first(used);
    return true;
}

}  // namespace gnomon::account
