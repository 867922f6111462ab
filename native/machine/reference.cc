// A reference on its way through the core: translation, its own caches, and beyond.
#include <array>

#include "machine/step.hh"

namespace gnomon::machine {

namespace {
// Page tables live above all addresses that a trace may use.
constexpr uint64_t table_base = uint64_t{1} << 60;
constexpr uint32_t table_bits = 9;
constexpr uint32_t word_bytes = 8;  // what an uncached access moves
}  // namespace

Access System::access(uint32_t id, uint64_t address, uint64_t bytes, Kind kind,
                      bool dependent) {
    advance_channels(threads_[id].time, 0);
    threads_[id].bytes = static_cast<uint32_t>(bytes);
    return access_lines(threads_[id], address, bytes, kind, dependent);
}

// An access that crosses lines touches each of them, and is one reference that misses a level
// once at most, as processors count what retires.
Access System::access_lines(Thread& thread, uint64_t address, uint64_t bytes, Kind kind,
                            bool dependent) {
    const Level& first = cores_[thread.core].level(0, kind == Kind::fetch);
    const uint64_t last = (address + (bytes ? bytes - 1 : 0)) >> first.shift;
    const auto number = static_cast<size_t>(kind);
    const std::array<uint64_t*, 4> counts{
        thread.counts + number, &thread.count(ThreadCount::l1_load_misses, number),
        &thread.count(ThreadCount::l2_load_misses, number),
        &thread.count(ThreadCount::l3_load_misses, number)};
    std::array<uint64_t, 4> before;
    for (size_t i = 0; i < counts.size(); ++i) before[i] = *counts[i];
    const Tick start = thread.time;
    Access worst;
    auto each_part = [&](auto&& deed) {
        for (uint64_t line = address >> first.shift; line <= last; ++line)
            deed(std::max(address, line << first.shift));
    };
    uint64_t hits = 0;  // of the first lines, as bits
    uint64_t bit = 1;
    each_part([&](uint64_t part) {
        const Tick now = thread.time;
        const uint64_t missed = *counts[1];
        Access part_of = reference(thread, part, kind, dependent);
        part_of.latency += now - start;
        if (part_of.latency >= worst.latency) worst = part_of;
        if (*counts[1] == missed) hits |= bit;
        bit <<= 1;
    });
    if (spec_.whole_splits && *counts[1] > before[1])
        each_part([&](uint64_t part) {
            if (hits & 1) look_up_below(thread, part, kind);
            hits >>= 1;
        });
    for (size_t i = 0; i < counts.size(); ++i) *counts[i] = std::min(*counts[i], before[i] + 1);
    return worst;
}

// What was in the first level is looked up in the second one, too, because another part of the
// same reference was not there.
void System::look_up_below(Thread& thread, uint64_t address, Kind kind) {
    if (own_levels_ < 2) return;
    Core& core = cores_[thread.core];
    Request request{thread, core, address, kind, thread.time, true};
    Level& level = core.level(1, kind == Kind::fetch);
    const uint64_t line = address >> level.shift;
    if (const size_t slot = level.cache.find(line); slot != Cache::none)
        return level.cache.touch(slot, line);
    count_miss(request, 1);
    Level& first = core.level(0, kind == Kind::fetch);
    const size_t above = first.cache.find(address >> first.shift);
    if (above == Cache::none) return;
    insert(request, 1, line, first.cache.flags(above) & flag::writable);
}

// One reference within a line of the first level. Counts it, and moves the thread's time on:
// to the end of the access when it waits for the result, else by the cost of the issue.
Access System::reference(Thread& thread, uint64_t address, Kind kind, bool dependent) {
    Core& core = cores_[thread.core];
    thread.counts[static_cast<size_t>(kind)] += 1;
    const Tick start = thread.time;
    const Tick translated = translate(thread, core, address, kind);
    Request request{thread, core, address, kind, start + translated, true};
    if (!spec_.cache_remote) {
        const uint32_t home = page_of(request, address).node;
        if (home != core.node) return uncached(request, home);
    }
    const Level& first = core.level(0, kind == Kind::fetch);
    request.slot = first.cache.find(address >> first.shift);
    const bool hit = request.slot != Cache::none;
    size_t fill = 0;
    if (!hit) fill = thread.reserve(request.now);
    const Tick issued = request.now;
    Access result = kind == Kind::store ? store(request) : read(request, 0);
    if (!hit) {
        const Tick filled = issued + result.latency;
        thread.fills[fill] = filled;
        if (kind == Kind::load) {
            thread.pend(0, issued, filled);
            if (result.place > Place::l2) thread.pend(1, issued, filled);
        }
    }
    const bool waits = dependent || (spec_.blocking && kind != Kind::store);
    thread.time = waits ? issued + result.latency : issued + thread.issue;
    result.latency += issued - start;
    if (monitor_ && (crosses_nodes(result.place) ||
                     (monitor_sees_local_ && result.place == Place::local_memory)))
        tell_monitor(request, result);
    if (!hit && kind != Kind::fetch && spec_.prefetch != Prefetch::off) prefetch_after(request);
    return result;
}

void System::count_miss(const Request& request, size_t level) {
    if (!request.demand) return;
    request.thread.count(ThreadCount::l1_load_misses,
                      3 * level + static_cast<size_t>(request.kind)) += 1;
}

// The latency of a hit, longer when a prefetched line is still under way.
Tick System::arrival(Request& request, Level& level, size_t slot, Tick latency) {
    uint8_t& flags = level.cache.flags(slot);
    if (!(flags & flag::prefetched) || !request.demand) return latency;
    flags &= static_cast<uint8_t>(~flag::prefetched);
    request.thread.count(ThreadCount::useful_prefetches) += 1;
    return std::max(latency, level.ready[slot] - request.now);
}

Access System::read(Request& request, size_t first_level) {
    Core& core = request.core;
    const bool fetch = request.kind == Kind::fetch;
    Access result;
    uint8_t flags = 0;
    size_t found = first_level;
    for (; found < own_levels_; ++found) {
        Level& level = core.level(found, fetch);
        const size_t slot = found == 0 && request.demand
                                ? request.slot
                                : level.cache.find(request.address >> level.shift);
        if (slot == Cache::none) {
            count_miss(request, found);
            continue;
        }
        level.cache.touch(slot, request.address >> level.shift);
        const Tick latency = arrival(request, level, slot, level_latency(level, request.kind));
        flags = level.cache.flags(slot) & flag::writable;
        result = {static_cast<Place>(found), core.node, latency};
        break;
    }
    if (found == own_levels_) {
        const uint64_t line = line_of(request.address);
        const bool keep = first_level < own_levels_;
        result = obtain(request, line, {false, true, keep});
        if (request.owned) {
            flags = flag::writable;
            if (first_level == 0)
                set_writable_after_miss(request, line);
            else
                set_writable(core, line);
        }
    }
    for (size_t number = found; number-- > first_level;)
        insert(request, number, request.address >> core.level(number, fetch).shift, flags);
    return result;
}

Access System::store(Request& request) {
    Core& core = request.core;
    const uint64_t line = line_of(request.address);
    const size_t keeper = core.keeps_writes;
    for (size_t number = 0; number < keeper; ++number) {
        Level& level = core.data[number];
        const uint64_t own = request.address >> level.shift;
        const size_t slot = level.cache.find(own);
        if (slot != Cache::none)
            level.cache.touch(slot, own);
        else
            count_miss(request, number);
    }
    if (keeper == own_levels_) return store_through(request);

    Access result;
    size_t found = keeper;
    size_t slot = Cache::none;
    for (; found < own_levels_; ++found) {
        Level& level = core.data[found];
        slot = found == 0 ? request.slot : level.cache.find(request.address >> level.shift);
        if (slot != Cache::none) break;
        count_miss(request, found);
    }
    if (found < own_levels_) {
        Level& level = core.data[found];
        level.cache.touch(slot, request.address >> level.shift);
        const Tick latency = arrival(request, level, slot, level_latency(level, request.kind));
        result = {static_cast<Place>(found), core.node, latency};
        if (!(level.cache.flags(slot) & flag::writable)) {
            request.thread.count(ThreadCount::upgrades) += 1;
            const Access asked = obtain(request, line, {true, false, true});
            result.latency = std::max(latency, asked.latency);
            set_writable(core, line);
        }
    } else {
        result = obtain(request, line, {true, true, true});
        if (keeper == 0)
            set_writable_after_miss(request, line);
        else
            set_writable(core, line);
    }
    for (size_t number = found; number-- > keeper;)
        insert(request, number, request.address >> core.data[number].shift, flag::writable);
    Level& target = core.data[keeper];
    target.cache.flags(target.cache.find(request.address >> target.shift)) |= flag::dirty;
    for (size_t number = keeper; number-- > 0;) {
        Level& level = core.data[number];
        const uint64_t own = request.address >> level.shift;
        if (level.spec.allocate_on_write && level.cache.find(own) == Cache::none)
            insert(request, number, own, flag::writable);
    }
    return result;
}

// No cache of the core keeps what it writes: every store goes to the shared level or to
// memory, and copies in other cores become invalid.
Access System::store_through(Request& request) {
    Core& core = request.core;
    const uint64_t line = line_of(request.address);
    bool allocates = false;
    for (const Level& level : core.data) allocates |= level.spec.allocate_on_write;
    const bool keeps = holds(core, line) || allocates;
    const Access result = obtain(request, line, {true, spec_.shared || allocates, keeps});
    Page& page = page_of(request, request.address);
    memory_.entry(page, line).owner = -1;
    if (allocates)
        for (size_t number = own_levels_; number-- > 0;) {
            const uint64_t own = request.address >> core.data[number].shift;
            if (core.data[number].cache.find(own) == Cache::none)
                insert(request, number, own, 0);
        }
    if (spec_.shared)
        write_last(request, core.cluster, line);
    else
        write_memory(request, core.node, page.node, line);
    return result;
}

// Remote memory that no cache may hold, as behind an SCI adapter: a read waits for the
// answer, a write is posted at a fixed cost.
Access System::uncached(Request& request, uint32_t home) {
    const uint32_t node = request.core.node;
    Thread& thread = request.thread;
    const bool write = request.kind == Kind::store;
    Access result{Place::remote_memory, home, spec_.posted_write};
    if (write) {
        transfer(request, node, home, request.now, true, word_bytes);
        thread.count(ThreadCount::uncached_writes) += 1;
        node_counts_.at(home, NodeCount::remote_writes) += 1;
        node_counts_.at(home, NodeCount::memory_writes) += 1;
    } else {
        Tick now = request.now + transfer(request, node, home, request.now, false, 0);
        now += spec_.nodes[home].read_latency;
        now += transfer(request, home, node, now, true, word_bytes);
        result.latency = now - request.now;
        thread.count(ThreadCount::uncached_reads) += 1;
        node_counts_.at(home, NodeCount::remote_reads) += 1;
        node_counts_.at(home, NodeCount::memory_reads) += 1;
    }
    result.latency += request.now - thread.time;
    thread.time += result.latency;
    if (monitor_) tell_monitor(request, result);
    return result;
}

void System::tell_monitor(const Request& request, const Access& found) {
    const uint32_t home = memory_.page(request.address, request.core.node).node;
    const auto offset = static_cast<uint32_t>(request.address & (line_bytes_ - 1));
    monitor_->remote({request.thread.id, request.thread.task, request.core.node, found.node,
                      home, request.address, request.kind, found.place,
                      spec_.cache_remote ? line_bytes_ : word_bytes,
                      std::min<uint32_t>(request.thread.bytes, line_bytes_ - offset),
                      request.now});
}

// The front of a core runs ahead: a fetch that hits costs no time, another one stalls the
// thread for as long as it takes beyond a hit.
void System::fetch_ahead(Thread& thread, uint64_t address, uint64_t bytes) {
    const Tick start = thread.time;
    const Level& first = cores_[thread.core].level(0, true);
    Tick hits = first.spec.fetch_latency;
    if (const uint64_t end = (address & (first.spec.line_bytes - 1)) + bytes;
        end > first.spec.line_bytes) [[unlikely]] {
        access_lines(thread, address, bytes, Kind::fetch, true);
        hits *= static_cast<Tick>((end + first.spec.line_bytes - 1) >> first.shift);
    } else {
        step(thread, address, Kind::fetch, true);
    }
    thread.time = std::max(start, thread.time - hits);
}

Tick System::translate(Thread& thread, Core& core, uint64_t address, Kind kind) {
    const bool fetch = kind == Kind::fetch;
    std::optional<Cache>& buffer = fetch ? core.itlb : core.dtlb;
    if (!buffer) return 0;
    const uint64_t page = memory_.page_of(address);
    auto remember = [page](Cache& cache) {
        cache.put(cache.choose(page), page, 0);
    };
    if (const size_t slot = buffer->find(page); slot != Cache::none) {
        buffer->touch(slot, page);
        return 0;
    }
    thread.count(fetch ? ThreadCount::itlb_misses : ThreadCount::dtlb_misses) += 1;
    Tick latency = 0;
    bool known = false;
    if (core.stlb) {
        latency = spec_.stlb.latency;
        if (const size_t slot = core.stlb->find(page); slot != Cache::none) {
            core.stlb->touch(slot, page);
            known = true;
        } else {
            thread.count(ThreadCount::stlb_misses) += 1;
        }
    }
    if (!known) {
        latency += walk(thread, core, page, kind, thread.time + latency);
        if (core.stlb) remember(*core.stlb);
    }
    remember(*buffer);
    return latency;
}

// Reads one entry a level of a radix table, each from the second level of caches on.
Tick System::walk(Thread& thread, Core& core, uint64_t page, Kind kind, Tick now) {
    const Tick start = now;
    for (uint32_t level = spec_.walk_reads; level-- > 0;) {
        const uint64_t entry = table_base + (uint64_t{level} << 56) +
                               (page >> (table_bits * level)) * sizeof(uint64_t);
        Request request{thread, core, entry, Kind::load, now, false};
        const Access found = read(request, std::min<size_t>(1, own_levels_));
        now += found.latency;
        thread.count(ThreadCount::walk_reads) += 1;
        if (found.place >= Place::local_memory)
            thread.count(ThreadCount::dtlb_walk_memory_reads, kind == Kind::fetch) += 1;
    }
    return now - start;
}

}  // namespace gnomon::machine
