// The common case of a reference by itself, to be inlined where references are executed.
#pragma once

#include "machine_system.hh"

namespace gnomon::machine {

// Translated lately, in the first level, with the permission that is needed. Everything else
// goes the long way.
inline Access System::step(Thread& thread, uint64_t address, Kind kind, bool dependent) {
    Core& core = cores_[thread.core];
    const bool fetch = kind == Kind::fetch;
    Level& first = core.level(0, fetch);
    std::optional<Cache>& buffer = fetch ? core.itlb : core.dtlb;
    if (spec_.cache_remote) [[likely]] {
        const size_t entry = buffer ? buffer->find(memory_.page_of(address)) : 0;
        const size_t slot = first.cache.find(address >> first.shift);
        if (entry != Cache::none && slot != Cache::none) [[likely]] {
            uint8_t& flags = first.cache.flags(slot);
            const bool store = kind == Kind::store;
            const bool easy =
                store ? (flags & (flag::writable | flag::prefetched)) == flag::writable &&
                            first.spec.write == WritePolicy::back
                      : !(flags & flag::prefetched);
            if (easy) [[likely]] {
                if (buffer) buffer->touch(entry);
                first.cache.touch(slot);
                flags |= store ? flag::dirty : 0;
                thread.counts[static_cast<size_t>(kind)] += 1;
                const Tick latency = level_latency(first, kind);
                const bool waits = dependent || (spec_.blocking && !store);
                thread.time += waits ? latency : thread.issue;
                return {Place::l1, core.node, latency};
            }
        }
    }
    return reference(thread, address, kind, dependent);
}

}  // namespace gnomon::machine
