// Records of the kernel's rings, taken apart: every field is checked to lie in its record.
#pragma once

#include <cstdint>
#include <string_view>

#include "frames/row.hh"

namespace gnomon::account {

using frames::Bytes;

// How the events of a ring were asked for; all have the same trailer (see rings.cc).
struct RecordLayout {
    uint32_t register_count = 17;
    bool kernel_chain = false;  // samples of the clocks have the kernel's call chain
};

enum class Type : uint32_t {
    lost = 2,
    comm = 3,
    exit = 4,
    fork = 7,
    sample = 9,
    map = 10,
    lost_samples = 13,
    switched = 14,
    switched_on_cpu = 15,
};

// The fields that a type does not have are zero.
struct Record {
    uint32_t type = 0;
    uint16_t misc = 0;
    uint32_t pid = 0, tid = 0, cpu = 0;
    uint64_t id = 0;
    int64_t time = 0;
    uint32_t parent_pid = 0, parent_tid = 0;  // fork
    uint64_t start = 0, length = 0, offset = 0, inode = 0;  // map
    std::string_view text;                    // comm: its name, map: its path
    uint64_t lost = 0;
    uint64_t ip = 0;                          // sample
    Bytes chain;                              // words of the kernel's call chain, with its markers
    bool has_registers = false;
    frames::Registers registers;
    Bytes stack;

    bool out() const { return misc & 1u << 13; }
    bool preempted() const { return misc & 1u << 14; }
    bool by_exec() const { return misc & 1u << 13; }
    bool in_kernel() const { return (misc & 7) == 1; }
};

// False when the bytes are no record that we ask for, or cut short. `with_stack` tells by its id
// whether a sample has registers and a stack.
template <typename HasStack>
bool parse_record(Bytes bytes, const RecordLayout& layout, HasStack with_stack, Record& record);

// The time of a record, without the rest; false for what parse_record refuses by its length.
bool time_of(Bytes bytes, int64_t& time);

bool parse_plain(Bytes bytes, Record& record);
bool parse_sample(Bytes bytes, const RecordLayout& layout, bool with_stack, Record& record);
uint64_t sample_id(Bytes bytes);

template <typename HasStack>
bool parse_record(Bytes bytes, const RecordLayout& layout, HasStack with_stack, Record& record) {
    record = {};
    uint32_t type = 0;
    if (bytes.size() < 8) return false;
    std::memcpy(&type, bytes.data(), sizeof type);
    if (type != static_cast<uint32_t>(Type::sample)) return parse_plain(bytes, record);
    return parse_sample(bytes, layout, with_stack(sample_id(bytes)), record);
}

}  // namespace gnomon::account
