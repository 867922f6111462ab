// Walks a copied stack from a sample's registers outward.
#pragma once

#include <vector>

#include "frames/expression.hh"
#include "frames/space.hh"

namespace gnomon::frames {

enum class Stop : uint8_t {
    end,         // the outermost frame
    truncated,   // the copy of the stack ends
    no_table,    // no unwind table, and nothing else that can be trusted
    lost,        // a register is needed that nobody knows any more
    bad_address, // what was read is no place of code, or the stack would not grow
    too_deep,
};

struct StackCopy {
    uint64_t start = 0;  // where it lies: the stack pointer
    Bytes bytes;
};

struct Step {
    uint64_t pc = 0;
    uint64_t sp = 0;      // as the frame sees it; the next frame's is where this one ends
    const Mapping* where = nullptr;
    uint32_t frame = no_id;
    Quality quality = Quality::cfi;
    bool exact = true;
};

struct Walk {
    std::vector<Step> steps;  // leaf first
    std::vector<Registers> registers;  // of each step, where they were asked for
    Stop stop = Stop::end;
};

struct WalkOptions {
    bool guesses = true;           // else unwind tables alone
    bool keep_registers = false;
};

constexpr size_t deepest_walk = 512;

// Fills a walk, whose room is used again.
void walk_stack(const Space& space, const StackCopy& stack, const Registers& registers,
                WalkOptions options, Walk& walk);

// Whether an address follows a call: `direct` of `function`, or of anything where that is zero;
// `indirect` through a register, memory or a PLT; `unreadable` in code that has no file.
enum class Call : uint8_t { none, unreadable, indirect, direct };
Call call_before(const Space& space, uint64_t address, uint64_t function);

}  // namespace gnomon::frames
