#include "machine/system.hh"

#include <bit>

namespace gnomon::machine {

namespace {

const CacheSpec& last_of(const SystemSpec& spec) {
    return spec.shared ? spec.last : spec.data.back();
}

std::vector<uint32_t> nodes_with_memory(const SystemSpec& spec) {
    std::vector<uint32_t> found;
    for (uint32_t node = 0; node < spec.nodes.size(); ++node)
        if (!spec.nodes[node].controllers.empty()) found.push_back(node);
    return found;
}

std::optional<Cache> buffer(const TlbSpec& spec, uint64_t seed) {
    if (!spec.sets) return std::nullopt;
    return Cache(spec.sets, spec.ways, spec.replacement, seed);
}

Core make_core(const SystemSpec& spec, uint32_t id, uint32_t line_bytes) {
    // Every array draws from a sequence of its own, so that adding one changes no other.
    const uint64_t seed = spec.seed * 1000003 + id * 16;
    Core core;
    core.id = id;
    core.node = spec.core_node[id];
    core.cluster = spec.shared ? spec.core_cluster[id] : 0;
    for (size_t i = 0; i < spec.data.size(); ++i)
        core.data.emplace_back(spec.data[i], line_bytes, seed + i);
    if (spec.split) core.instruction.emplace(spec.instruction, line_bytes, seed + 4);
    core.dtlb = buffer(spec.dtlb, seed + 5);
    core.itlb = buffer(spec.itlb, seed + 6);
    core.stlb = buffer(spec.stlb, seed + 7);
    core.strides.resize(Core::streaks);
    // What may be uncached has to look for its node.
    if (!spec.cache_remote)
        for (const Kind kind : {Kind::load, Kind::store, Kind::fetch}) {
            core.data.front().forbid(kind);
            if (core.instruction) core.instruction->forbid(kind);
        }
    while (core.keeps_writes < core.data.size() &&
           core.data[core.keeps_writes].spec.write == WritePolicy::through)
        ++core.keeps_writes;
    if (spec.prefetch != Prefetch::off) {
        Level& target = core.data[std::min<size_t>(1, core.data.size() - 1)];
        target.ready.resize(target.cache.slots(), 0);
    }
    return core;
}

}  // namespace

System::System(const SystemSpec& spec)
    : spec_(spec),
      line_bytes_(last_of(spec).line_bytes),
      line_shift_(static_cast<uint32_t>(std::countr_zero(line_bytes_))),
      own_levels_(spec.data.size()),
      blocking_(spec.blocking),
      grants_ownership_(false),
      same_lines_(!spec.split || spec.instruction.line_bytes == line_bytes_),
      memory_(spec.page_bytes, line_bytes_, spec.placement, nodes_with_memory(spec)),
      thread_counts_(spec.thread_core.size()),
      core_counts_(spec.core_node.size()),
      node_counts_(spec.nodes.size()),
      link_counts_(spec.directions.size()) {
    for (const CacheSpec& level : spec.data) {
        grants_ownership_ |= level.write == WritePolicy::back;
        same_lines_ &= level.line_bytes == line_bytes_;
    }
    for (uint32_t id = 0; id < spec.core_node.size(); ++id)
        cores_.push_back(make_core(spec, id, line_bytes_));
    if (spec.shared) {
        cluster_cores_.resize(spec.cluster_node.size(), 0);
        for (const Core& core : cores_) cluster_cores_[core.cluster] |= uint64_t{1} << core.id;
        for (size_t i = 0; i < spec.cluster_node.size(); ++i)
            lasts_.emplace_back(spec.last.sets, spec.last.ways, spec.last.replacement,
                                spec.seed * 1000003 + 4096 + i);
    }
    for (uint32_t id = 0; id < spec.thread_core.size(); ++id) {
        Thread thread;
        thread.id = id;
        thread.core = spec.thread_core[id];
        thread.place = &cores_[thread.core];
        thread.issue = spec.issue;
        thread.counts = thread_counts_.row(id);
        thread.fills.resize(spec.outstanding, 0);
        threads_.push_back(std::move(thread));
    }
    for (const ChannelSpec& channel : spec.channels)
        channels_.emplace_back(channel.slot_ticks, threads_.size());
}

Tick System::longest_quantum() const {
    Tick longest = Tick{1} << 40;
    for (const Channel& channel : channels_) longest = std::min(longest, channel.span());
    return longest;
}

char System::state(uint32_t id, uint64_t address) {
    Core& core = cores_[id];
    uint8_t all = 0;
    bool found = false;
    auto look = [&](Level& level) {
        const uint64_t base = line_of(address) << (line_shift_ - level.shift);
        for (uint32_t part = 0; part < level.parts; ++part) {
            const size_t slot = level.cache.find(base + part);
            if (slot == Cache::none) continue;
            found = true;
            all |= level.cache.flags(slot);
        }
    };
    for (Level& level : core.data) look(level);
    if (core.instruction) look(*core.instruction);
    if (!found) return 'I';
    if (all & flag::dirty) return 'M';
    return all & flag::writable ? 'E' : 'S';
}

uint32_t System::levels(uint32_t id, uint64_t address) {
    Core& core = cores_[id];
    uint32_t bits = 0;
    for (size_t i = 0; i < core.data.size(); ++i)
        if (core.data[i].cache.find(address >> core.data[i].shift) != Cache::none)
            bits |= 1u << i;
    if (core.instruction &&
        core.instruction->cache.find(address >> core.instruction->shift) != Cache::none)
        bits |= 8;
    return bits;
}

Entry System::directory(uint64_t address) {
    Page* page = memory_.find(address);
    return page ? memory_.entry(*page, line_of(address)) : Entry{};
}

int System::last_level(uint32_t cluster, uint64_t address) {
    Cache& last = lasts_[cluster];
    const size_t slot = last.find(line_of(address));
    if (slot == Cache::none) return 0;
    return last.flags(slot) & flag::dirty ? 2 : 1;
}

}  // namespace gnomon::machine
