// The common case of a reference by itself, to be inlined where references are executed.
#pragma once

#include "machine/system.hh"

namespace gnomon::machine {

// Translated lately, in the first level, with the permission that is needed. Everything else
// goes the long way.
inline Access System::step(Thread& thread, uint64_t address, Kind kind, bool dependent) {
    Core& core = *thread.place;
    const bool fetch = kind == Kind::fetch;
    Level& first = core.level(0, fetch);
    std::optional<Cache>& buffer = fetch ? core.itlb : core.dtlb;
    const uint64_t page = memory_.page_of(address);
    const uint64_t line = address >> first.shift;
    // Mostly it is the line of the reference before, and needs no search.
    const bool same = line == first.cache.recent_line();
    const bool same_page = !buffer || page == buffer->recent_line();
    const size_t slot = same ? first.cache.recent_slot() : first.cache.find(line);
    const size_t entry = same_page ? 0 : buffer->find(page);
    if (slot != Cache::none && entry != Cache::none) [[likely]] {
        uint8_t& flags = first.cache.flags(slot);
        if (first.is_easy(flags, kind)) [[likely]] {
            if (!same_page) buffer->touch(entry, page);
            if (!same) first.cache.touch(slot, line);
            const bool store = kind == Kind::store;
            flags |= static_cast<uint8_t>(store);  // flag::dirty, without a branch
            thread.counts[static_cast<size_t>(kind)] += 1;
            const Tick latency = level_latency(first, kind);
            thread.time += dependent || (blocking_ && !store) ? latency : thread.issue;
            return {Place::l1, core.node, latency};
        }
    }
    return reference(thread, address, kind, dependent);
}

}  // namespace gnomon::machine
