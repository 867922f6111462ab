// MESI through the directory, at the granularity of its lines.
//
// A core owns a line (E or M) when no other core and no other cluster's last level has it; the
// last level of its own cluster may keep a copy that is out of date. There is no forwarding
// of shared lines: what nobody owns comes from the own last level, from another one that is
// newer than memory, or from memory.
#include "machine/system.hh"

#include <bit>

namespace gnomon::machine {

Access System::obtain(Request& request, uint64_t line, Need need) {
    Core& core = request.core;
    const uint32_t node = core.node;
    const uint64_t me = uint64_t{1} << core.id;
    Page& page = page_of(request, line << line_shift_);
    Entry& entry = memory_.entry(page, line);
    const CacheSpec& deepest = spec_.shared ? spec_.last : core.data.back().spec;
    const Tick lookup = request.kind == Kind::fetch ? deepest.fetch_latency : deepest.latency;

    size_t slot = Cache::none;
    if (spec_.shared) {
        if (entry.clusters >> core.cluster & 1) {
            slot = lasts_[core.cluster].find_present(line);
            lasts_[core.cluster].touch(slot, line);
        } else if (need.data) {
            count_miss(request, own_levels_);
        }
    }
    uint32_t supplier = node;
    bool supplied = owner_answers(request, entry, line, page, need.write, supplier);
    const int16_t dirty = entry.dirty_cluster;
    if (dirty >= 0 && static_cast<uint32_t>(dirty) != core.cluster) {
        const uint32_t place = spec_.cluster_node[static_cast<size_t>(dirty)];
        if (!supplied && need.data) {
            supplied = true;
            supplier = place;
        }
        // A writer takes the newest data along; a reader leaves them in memory.
        if (!need.write) write_memory(request, place, page.node, line);
        Cache& last = lasts_[static_cast<size_t>(dirty)];
        last.flags(last.find_present(line)) &= static_cast<uint8_t>(~flag::dirty);
        entry.dirty_cluster = -1;
    }
    const Tick acknowledged =
        need.write ? invalidate_others(request, entry, line, page.node) : 0;

    Access result{Place::l1, node, lookup};
    if (need.data) {
        const bool remote = supplier != node;
        const Tick start = request.now + lookup;
        if (supplied) {
            result.place = remote ? Place::remote_cache : Place::local_cache;
            result.node = supplier;
            request.thread.count(ThreadCount::interventions_local, remote) += 1;
            Tick now = start + transfer(request, node, page.node, start, false, 0);
            now += transfer(request, page.node, supplier, now, false, 0) + spec_.snoop;
            now += transfer(request, supplier, node, now, true, line_bytes_);
            result.latency = now - request.now;
        } else if (slot != Cache::none) {
            result.place = static_cast<Place>(own_levels_);
        } else {
            result.place = page.node == node ? Place::local_memory : Place::remote_memory;
            result.node = page.node;
            result.latency = lookup + read_memory(request, page.node, line, start);
        }
        if (spec_.shared && !(entry.clusters >> core.cluster & 1))
            fill_last(request, core.cluster, line, entry, false);
    }
    result.latency = std::max(result.latency, lookup + acknowledged);

    const bool others = entry.cores & ~me;
    const uint32_t mine = spec_.shared ? uint32_t{1} << core.cluster : 0;
    if (need.keep) entry.cores |= me;
    if (need.write)
        entry.owner = need.keep ? static_cast<int16_t>(core.id) : int16_t{-1};
    else if (need.keep && grants_ownership_ && !others && !(entry.clusters & ~mine))
        entry.owner = static_cast<int16_t>(core.id);
    request.owned = entry.owner == static_cast<int16_t>(core.id);
    return result;
}

// Asks another core that owns the line. A reader lets it keep a shared copy and sees to it
// that what was dirty is not lost; a writer invalidates it later, with all others.
bool System::owner_answers(Request& request, Entry& entry, uint64_t line, const Page& page,
                           bool write, uint32_t& node) {
    if (entry.owner < 0 || entry.owner == static_cast<int16_t>(request.core.id)) return false;
    Core& owner = cores_[static_cast<size_t>(entry.owner)];
    node = owner.node;
    core_counts_.at(owner.id, CoreCount::interventions_supplied) += 1;
    if (write) return true;
    entry.owner = -1;
    if (!demote(owner, line)) return true;
    if (spec_.shared && owner.cluster == request.core.cluster) {
        write_last(request, owner.cluster, line);
        return true;
    }
    write_memory(request, owner.node, page.node, line);
    if (entry.dirty_cluster >= 0) {
        Cache& last = lasts_[static_cast<size_t>(entry.dirty_cluster)];
        last.flags(last.find_present(line)) &= static_cast<uint8_t>(~flag::dirty);
        entry.dirty_cluster = -1;
    }
    return true;
}

// Removes all copies elsewhere; returns when the last acknowledgement is back.
Tick System::invalidate_others(Request& request, Entry& entry, uint64_t line, uint32_t home) {
    Core& core = request.core;
    const uint64_t me = uint64_t{1} << core.id;
    const uint32_t mine = spec_.shared ? uint32_t{1} << core.cluster : 0;
    if (!(entry.cores & ~me) && !(entry.clusters & ~mine)) return 0;
    const Tick asked = transfer(request, core.node, home, request.now, false, 0);
    Tick last = 0;
    auto tell = [&](uint32_t node) {
        const bool remote = node != core.node;
        request.thread.count(ThreadCount::invalidations_local, remote) += 1;
        Tick now = request.now + asked;
        now += transfer(request, home, node, now, false, 0);
        now += transfer(request, node, core.node, now, false, 0);
        last = std::max(last, now - request.now + spec_.snoop);
    };
    for (uint64_t rest = entry.cores & ~me; rest; rest &= rest - 1) {
        Core& other = cores_[static_cast<size_t>(std::countr_zero(rest))];
        drop(other, line);
        core_counts_.at(other.id, CoreCount::invalidations_received) += 1;
        tell(other.node);
    }
    for (uint32_t rest = entry.clusters & ~mine; rest; rest &= rest - 1) {
        const auto cluster = static_cast<size_t>(std::countr_zero(rest));
        lasts_[cluster].clear(lasts_[cluster].find_present(line));
        tell(spec_.cluster_node[cluster]);
    }
    entry.cores &= me;
    entry.clusters &= mine;
    return last;
}

void System::fill_last(Request& request, uint32_t cluster, uint64_t line, Entry& entry,
                       bool dirty) {
    Cache& last = lasts_[cluster];
    const size_t slot = last.choose(line);
    const uint64_t old = last.line_at(slot);
    const bool old_dirty = last.flags(slot) & flag::dirty;
    last.put(slot, line, dirty ? flag::dirty : 0);
    if (old != Cache::no_line) evict_last(request, cluster, old, old_dirty);
    entry.clusters |= uint32_t{1} << cluster;
    if (dirty) entry.dirty_cluster = static_cast<int16_t>(cluster);
}

void System::evict_last(Request& request, uint32_t cluster, uint64_t line, bool dirty) {
    Page& page = page_of(request, line << line_shift_);
    Entry& entry = memory_.entry(page, line);
    const uint32_t node = spec_.cluster_node[cluster];
    node_counts_.at(node, NodeCount::shared_evictions) += 1;
    if (spec_.last.inclusive) {
        for (uint64_t rest = entry.cores & cluster_cores_[cluster]; rest; rest &= rest - 1) {
            Core& core = cores_[static_cast<size_t>(std::countr_zero(rest))];
            dirty |= drop(core, line);
            core_counts_.at(core.id, CoreCount::back_invalidations) += 1;
            if (entry.owner == static_cast<int16_t>(core.id)) entry.owner = -1;
        }
        entry.cores &= ~cluster_cores_[cluster];
    }
    entry.clusters &= ~(uint32_t{1} << cluster);
    if (entry.dirty_cluster == static_cast<int16_t>(cluster)) entry.dirty_cluster = -1;
    if (dirty) {
        node_counts_.at(node, NodeCount::shared_writebacks) += 1;
        write_memory(request, node, page.node, line);
    }
}

// Receives what a core of the cluster writes back or writes through.
void System::write_last(Request& request, uint32_t cluster, uint64_t line) {
    Cache& last = lasts_[cluster];
    Page& page = page_of(request, line << line_shift_);
    Entry& entry = memory_.entry(page, line);
    const bool absent = !(entry.clusters >> cluster & 1);
    const bool through = spec_.last.write == WritePolicy::through ||
                         (absent && !spec_.last.allocate_on_writeback);
    if (absent) {
        if (spec_.last.allocate_on_writeback) fill_last(request, cluster, line, entry, !through);
    } else if (!through) {
        last.flags(last.find_present(line)) |= flag::dirty;
        entry.dirty_cluster = static_cast<int16_t>(cluster);
    }
    if (through) write_memory(request, spec_.cluster_node[cluster], page.node, line);
}

}  // namespace gnomon::machine
