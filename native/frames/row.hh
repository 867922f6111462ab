// What call frame instructions say of one address: where the caller's registers are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "frames/cursor.hh"

namespace gnomon::frames {

// DWARF numbers of x86-64: 3 rbx, 6 rbp, 7 rsp, 12 to 15 r12 to r15, 16 the return address.
constexpr size_t register_count = 17;
constexpr size_t frame_register = 6, stack_register = 7, return_register = 16;

struct Registers {
    std::array<uint64_t, register_count> value{};
    uint32_t known = 0;  // a bit a register

    bool knows(size_t number) const { return known >> number & 1; }
    void set(size_t number, uint64_t to) {
        value[number] = to;
        known |= uint32_t{1} << number;
    }
    void forget(size_t number) { known &= ~(uint32_t{1} << number); }
};

enum class Rule : uint8_t {
    same,              // not said: kept by functions that the ABI makes keep it, else unknown
    at_offset,         // in memory at CFA + value
    undefined,         // lost; of the return address: there is no caller
    at_expression,     // in memory where an expression says
    is_expression,     // the value of an expression
    is_offset,         // CFA + value
    in_register,       // in the register of that number
};

constexpr uint8_t cfa_by_expression = 255;

// Expressions are given by their place in the file, where their length stands first.
struct Row {
    bool valid = false;
    bool signal = false;  // the frame of a signal handler: its caller was interrupted, not calling
    uint8_t cfa_register = stack_register;
    uint64_t cfa_value = 0;
    std::array<Rule, register_count> rule{};
    std::array<uint64_t, register_count> value{};

    bool operator==(const Row&) const = default;
};

// Two programs of a function: what holds for all that share a CIE, and its own.
struct FrameProgram {
    uint64_t start = 0, length = 0;  // addresses that it covers
    uint64_t code_align = 1;
    int64_t data_align = 1;
    uint8_t encoding = 0;  // of addresses
    bool signal = false;
    Bytes initial, own;
    uint64_t own_address = 0;   // where its own program is loaded, for relative addresses
};

// The row of an address; not valid when the programs are malformed. `file` holds both programs.
Row row_at(Bytes file, const FrameProgram& program, uint64_t address);

// An address as .eh_frame writes it; nothing is followed. `here` is where the cursor's first byte
// is loaded, `data` what data-relative addresses count from.
uint64_t encoded_address(Cursor& cursor, uint8_t encoding, uint64_t here, uint64_t data);

}  // namespace gnomon::frames
