// A thread that works through an array of references, and what it may do ahead of its turn.
#pragma once

#include <array>
#include <cstdint>

#include "machine/cache.hh"
#include "machine/types.hh"

namespace gnomon::machine {

struct Thread;

// A part of a trace: what one thread does, in order.
struct Stream {
    uint32_t thread = 0;
    const uint64_t* addresses = nullptr;
    const uint8_t* operations = nullptr;  // may be missing: independent loads
    const uint8_t* sizes = nullptr;       // may be missing: within a line
    const uint16_t* gaps = nullptr;       // may be missing: cycles of work before a reference
    size_t count = 0;
    size_t position = 0;
};

// Hits in the first level concern nobody else. So they are only found at first, all up to the
// next reference that is more than that, and done at once when it has its turn. Should another
// thread take away one of these lines before, those that come earlier than that are done and
// the others are looked for again: the result is that of strict turns.
struct Lane {
    static constexpr size_t most_lines = 48;
    static constexpr size_t lookahead = 24;  // references for which the host is asked beforehand
    // Hits that follow each other on one line.
    struct Hits {
        uint64_t line;
        uint64_t page;
        size_t slot;   // in the first level
        size_t entry;  // in the translation buffer
        uint8_t mark;  // flag::dirty when there is a store
    };

    Stream* stream = nullptr;
    Thread* thread = nullptr;
    // After the hits that were found: where the next reference is, and when.
    size_t position = 0;
    Tick time = 0;
    bool hard = false;  // it is known to be no simple hit
    uint64_t stores = 0;
    size_t lines = 0;
    std::array<Hits, most_lines> hits;
    size_t looked = 0;                    // how far that was done
    std::array<uint64_t, 16> expected{};  // the lines of late
};

}  // namespace gnomon::machine
