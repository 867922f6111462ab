// What enters and leaves the caches of one core.
#include "machine/system.hh"

namespace gnomon::machine {

void System::insert(Request& request, size_t number, uint64_t line, uint8_t flags) {
    if (number == 0) expel_twin(request, line);
    Level& level = request.core.level(number, request.kind == Kind::fetch);
    const size_t slot = level.cache.choose(line);
    const uint64_t old = level.cache.line_at(slot);
    const uint8_t old_flags = level.cache.flags(slot);
    // The new line first: the old one may be another part of the same line of the directory.
    level.cache.put(slot, line, flags);
    if (old != Cache::no_line) evicted(request, number, old, old_flags);
}

// On some machines a line is in the instruction or the data cache of a core, never in both.
void System::expel_twin(Request& request, uint64_t line) {
    Core& core = request.core;
    if (!spec_.exclusive_code || !core.instruction) return;
    const bool fetch = request.kind == Kind::fetch;
    const Level& into = core.level(0, fetch);
    Level& other = core.level(0, !fetch);
    const uint64_t address = line << into.shift;
    if (remove_parts(other, address, into.spec.line_bytes)) write_down(request, 0, address);
}

// Removes all lines of a level that overlap a range; returns whether one was dirty.
bool System::remove_parts(Level& level, uint64_t address, uint64_t bytes) {
    bool dirty = false;
    const uint64_t end = (address + bytes - 1) >> level.shift;
    for (uint64_t line = address >> level.shift; line <= end; ++line) {
        const size_t slot = level.cache.find(line);
        if (slot == Cache::none) continue;
        dirty |= level.cache.flags(slot) & flag::dirty;
        level.cache.clear(slot);
    }
    return dirty;
}

void System::evicted(Request& request, size_t number, uint64_t line, uint8_t flags) {
    Core& core = request.core;
    const bool fetch = request.kind == Kind::fetch;
    Level& level = core.level(number, fetch);
    const uint64_t address = line << level.shift;
    bool dirty = flags & flag::dirty;
    core_counts_.at(core.id, CoreCount::l1_evictions, number) += 1;
    if (number > 0 && level.spec.inclusive) {
        for (size_t above = 0; above < number; ++above)
            dirty |= remove_parts(core.data[above], address, level.spec.line_bytes);
        if (core.instruction) remove_parts(*core.instruction, address, level.spec.line_bytes);
    }
    if (dirty) {
        core_counts_.at(core.id, CoreCount::l1_writebacks, number) += 1;
        write_down(request, number, address);
    }
    // Below an inclusive level the line is still there.
    if (number + 1 < own_levels_ && core.data[number + 1].spec.inclusive) return;
    if (holds(core, line_of(address), level.parts == 1 ? &level : nullptr)) return;
    Entry& entry = memory_.entry(page_of(request, address), line_of(address));
    entry.cores &= ~(uint64_t{1} << core.id);
    if (entry.owner == static_cast<int16_t>(core.id)) entry.owner = -1;
}

// Hands what is newer than the levels below to the first of them that keeps it.
void System::write_down(Request& request, size_t number, uint64_t address) {
    Core& core = request.core;
    for (size_t below = number + 1; below < own_levels_; ++below) {
        Level& level = core.data[below];
        const uint64_t line = address >> level.shift;
        const size_t slot = level.cache.find(line);
        if (level.spec.write == WritePolicy::through) continue;
        if (slot == Cache::none && !level.spec.allocate_on_writeback) continue;
        if (slot != Cache::none)
            level.cache.flags(slot) |= flag::dirty;
        else
            insert(request, below, line, flag::dirty | flag::writable);
        return;
    }
    const uint64_t line = line_of(address);
    if (spec_.shared)
        write_last(request, core.cluster, line);
    else
        write_memory(request, core.node, page_of(request, address).node, line);
}

// Whether a core has a copy, in another level than the one in which there is none for sure.
bool System::holds(Core& core, uint64_t line, const Level* without) {
    auto in = [&](Level& level) {
        if (&level == without) return false;
        const uint64_t base = line << (line_shift_ - level.shift);
        for (uint32_t part = 0; part < level.parts; ++part)
            if (level.cache.find(base + part) != Cache::none) return true;
        return false;
    };
    // The largest first: it is the most likely one.
    for (size_t number = core.data.size(); number-- > 0;)
        if (in(core.data[number])) return true;
    return core.instruction && in(*core.instruction);
}

// Removes a line of the directory from a core; returns whether it was dirty.
bool System::drop(Core& core, uint64_t line) {
    if (core.lane) disturb(*core.lane, line);
    bool dirty = false;
    const uint64_t address = line << line_shift_;
    for (Level& level : core.data) dirty |= remove_parts(level, address, line_bytes_);
    if (core.instruction) remove_parts(*core.instruction, address, line_bytes_);
    return dirty;
}

// Takes the permission to write from a core; returns whether the line was dirty.
bool System::demote(Core& core, uint64_t line) {
    if (core.lane) disturb(*core.lane, line);
    bool dirty = false;
    auto clean = [&](Level& level) {
        const uint64_t base = line << (line_shift_ - level.shift);
        for (uint32_t part = 0; part < level.parts; ++part) {
            const size_t slot = level.cache.find(base + part);
            if (slot == Cache::none) continue;
            uint8_t& flags = level.cache.flags(slot);
            dirty |= flags & flag::dirty;
            flags &= static_cast<uint8_t>(~(flag::dirty | flag::writable));
        }
    };
    for (Level& level : core.data) clean(level);
    if (core.instruction) clean(*core.instruction);
    return dirty;
}

void System::set_writable(Core& core, uint64_t line) {
    auto mark = [&](Level& level) {
        const uint64_t base = line << (line_shift_ - level.shift);
        for (uint32_t part = 0; part < level.parts; ++part)
            if (const size_t slot = level.cache.find(base + part); slot != Cache::none)
                level.cache.flags(slot) |= flag::writable;
    };
    for (Level& level : core.data) mark(level);
    if (core.instruction) mark(*core.instruction);
}

// The same when all levels were searched and none had the line: only the other one of two
// first levels may.
void System::set_writable_after_miss(const Request& request, uint64_t line) {
    if (!same_lines_) return set_writable(request.core, line);
    if (!request.core.instruction) return;
    Level& other = request.core.level(0, request.kind != Kind::fetch);
    if (const size_t slot = other.cache.find(line); slot != Cache::none)
        other.cache.flags(slot) |= flag::writable;
}

}  // namespace gnomon::machine
