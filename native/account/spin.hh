// Whether a thread only waits in a loop, by the instructions at the address where it was seen.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gnomon::account {

enum class Loop : uint8_t {
    none,   // no short loop here, one that computes, or instructions that are not known
    spins,  // reads memory that others write, or pauses
    calls,  // pauses, but calls something that may compute
};

// `at` is the offset of an instruction in x86-64 code.
Loop loop_at(const uint8_t* code, size_t size, size_t at);

}  // namespace gnomon::account
