// The caches and translation buffers of one core, and the state of its threads.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "machine/cache.hh"
#include "machine/counters.hh"
#include "machine/lane.hh"
#include "machine/types.hh"

namespace gnomon::machine {

// A level of a core's own caches, with what the machine says of it.
struct Level {
    Level(const CacheSpec& spec, uint32_t coherence_bytes, uint64_t seed)
        : cache(spec.sets, spec.ways, spec.replacement, seed),
          spec(spec),
          shift(static_cast<uint32_t>(std::countr_zero(spec.line_bytes))),
          // Lines of the directory may be longer than those of this cache.
          parts(coherence_bytes / spec.line_bytes) {
        if (spec.write == WritePolicy::through) forbid(Kind::store);
    }

    // Whether a hit of this kind on a line with these flags concerns nobody else and waits for
    // nothing. One comparison for all the reasons why it may not.
    bool is_easy(uint8_t flags, Kind kind) const {
        const auto number = static_cast<size_t>(kind);
        return (flags & easy_mask[number]) == easy_flags[number];
    }
    void forbid(Kind kind) {
        easy_mask[static_cast<size_t>(kind)] = 0;
        easy_flags[static_cast<size_t>(kind)] = 1;
    }

    Cache cache;
    CacheSpec spec;
    uint32_t shift;
    uint32_t parts;
    std::array<uint8_t, 3> easy_mask{flag::prefetched, flag::writable | flag::prefetched,
                                     flag::prefetched};
    std::array<uint8_t, 3> easy_flags{0, flag::writable, 0};
    std::vector<Tick> ready;  // when a prefetched line arrives, a slot each
};

// A stream that the stride prefetcher watches: one a page, because traces name no instruction.
struct Streak {
    uint64_t page = ~uint64_t{0};
    int64_t last = 0;
    int64_t stride = 0;
    uint32_t seen = 0;
};

struct Core {
    static constexpr size_t streaks = 32;

    uint32_t id = 0;
    uint32_t node = 0;
    uint32_t cluster = 0;
    std::vector<Level> data;
    std::optional<Level> instruction;
    std::optional<Cache> dtlb, itlb, stlb;
    std::vector<Streak> strides;
    Lane* lane = nullptr;  // that may have found hits which are not done yet
    // The first level that keeps what is written; all of them pass it on: data.size().
    size_t keeps_writes = 0;

    Level& level(size_t number, bool fetch) {
        return number == 0 && fetch && instruction ? *instruction : data[number];
    }
};

struct Thread {
    uint32_t id = 0;
    uint32_t core = 0;
    Core* place = nullptr;
    uint32_t task = 0;  // the software thread that it runs
    uint32_t bytes = 0;  // that the reference under way asks for, for monitors
    Tick time = 0;
    Tick issue = ticks_per_cycle;  // what a reference costs that nobody waits for
    uint64_t* counts = nullptr;    // a row of ThreadCount: of this thread, or of what it runs
    std::vector<Tick> fills;  // when each outstanding miss will be over
    std::array<Tick, 2> pending{};  // until when a load is under way that missed a level
    size_t hand = 0;          // the fill buffer that was taken last

    uint64_t& count(ThreadCount name, size_t offset = 0) {
        return counts[static_cast<size_t>(name) + offset];
    }
    // Waits for a free fill buffer; returns its number and moves `now` on.
    size_t reserve(Tick& now) {
        // Most misses end in the order of their beginning, so the next one is often free. All
        // that are free are alike: time does not go back.
        hand = hand + 1 < fills.size() ? hand + 1 : 0;
        if (fills[hand] <= now) return hand;
        size_t first = 0;
        for (size_t i = 1; i < fills.size(); ++i)
            if (fills[i] < fills[first]) first = i;
        if (fills[first] > now) {
            now = fills[first];
            count(ThreadCount::fill_buffer_waits) += 1;
        }
        return first;
    }
    // Counts the time of a load that missed a level, as far as no other was under way then.
    void pend(size_t level, Tick from, Tick until) {
        Tick& known = pending[level];
        if (until <= known) return;
        count(ThreadCount::l1_pending_ticks, level) +=
            static_cast<uint64_t>(until - std::max(from, known));
        known = until;
    }
};

}  // namespace gnomon::machine
