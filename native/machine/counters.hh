// What is counted, for whom. The lists are the only place with the names; Python reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::machine {

// Misses of a level are counted a kind of access: load, store, fetch, in this order. Pending is
// the time in which at least one load was under way that had missed a level.
#define GNOMON_THREAD_COUNTS(X)                                                             \
    X(loads) X(stores) X(fetches)                                                           \
    X(l1_load_misses) X(l1_store_misses) X(l1_fetch_misses)                                 \
    X(l2_load_misses) X(l2_store_misses) X(l2_fetch_misses)                                 \
    X(l3_load_misses) X(l3_store_misses) X(l3_fetch_misses)                                 \
    X(dtlb_misses) X(itlb_misses) X(stlb_misses)                                            \
    X(walk_reads) X(dtlb_walk_memory_reads) X(itlb_walk_memory_reads)                       \
    X(prefetches) X(useful_prefetches)                                                      \
    X(upgrades) X(invalidations_local) X(invalidations_remote)                              \
    X(interventions_local) X(interventions_remote)                                          \
    X(memory_reads_local) X(memory_reads_remote)                                            \
    X(memory_writes_local) X(memory_writes_remote)                                          \
    X(uncached_reads) X(uncached_writes) X(first_touches) X(wait_ticks)                     \
    X(fill_buffer_waits) X(l1_pending_ticks) X(l2_pending_ticks)

// What an execution counts beside that. Classes of instructions come first, in the order of
// their operations (machine/program.hh). Ticks are time on a hardware thread, the part of it
// that was spent waiting for references that were more than a simple hit, and that of atomics
// from when they ask for the line until they are done.
#define GNOMON_EXECUTION_COUNTS(X)                                                          \
    X(integer) X(multiply) X(fp_add) X(fp_multiply) X(fp_divide)                            \
    X(branch_taken) X(branch_not_taken) X(special) X(other)                             \
    X(atomics) X(continued_references) X(branch_mispredicts) X(split_references) X(traps)    \
    X(context_switches) X(migrations) X(ticks) X(stall_ticks) X(atomic_ticks)

#define GNOMON_CORE_COUNTS(X)                                                               \
    X(invalidations_received) X(interventions_supplied) X(back_invalidations)               \
    X(l1_evictions) X(l2_evictions) X(l3_evictions)                                         \
    X(l1_writebacks) X(l2_writebacks) X(l3_writebacks)

#define GNOMON_NODE_COUNTS(X)                                                               \
    X(memory_reads) X(memory_writes) X(remote_reads) X(remote_writes) X(bytes)              \
    X(shared_evictions) X(shared_writebacks) X(pages) X(migrations_in) X(migrations_out)    \
    X(wait_ticks)

#define GNOMON_LINK_COUNTS(X) X(messages) X(data_messages) X(bytes) X(wait_ticks)

#define GNOMON_ENUMERATOR(name) name,
enum class ThreadCount : uint32_t { GNOMON_THREAD_COUNTS(GNOMON_ENUMERATOR) size };
// A row of these begins with one of ThreadCount.
enum class LedgerCount : uint32_t {
    GNOMON_THREAD_COUNTS(GNOMON_ENUMERATOR) GNOMON_EXECUTION_COUNTS(GNOMON_ENUMERATOR) size
};
enum class CoreCount : uint32_t { GNOMON_CORE_COUNTS(GNOMON_ENUMERATOR) size };
enum class NodeCount : uint32_t { GNOMON_NODE_COUNTS(GNOMON_ENUMERATOR) size };
enum class LinkCount : uint32_t { GNOMON_LINK_COUNTS(GNOMON_ENUMERATOR) size };
#undef GNOMON_ENUMERATOR

// A table of counts: a row a thread, core, node or direction of a link.
template <typename Name>
class Counts {
  public:
    static constexpr size_t columns = static_cast<size_t>(Name::size);
    explicit Counts(size_t rows) : cells_(rows * columns, 0) {}
    uint64_t& at(size_t row, Name name) {
        return cells_[row * columns + static_cast<size_t>(name)];
    }
    uint64_t& at(size_t row, Name first, size_t offset) {
        return cells_[row * columns + static_cast<size_t>(first) + offset];
    }
    uint64_t* row(size_t row) { return cells_.data() + row * columns; }
    const std::vector<uint64_t>& cells() const { return cells_; }
    void clear() { cells_.assign(cells_.size(), 0); }

  private:
    std::vector<uint64_t> cells_;
};

}  // namespace gnomon::machine
