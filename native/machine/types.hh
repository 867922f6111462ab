// Words that all parts of the simulated memory system share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::machine {

// Time is counted in thousandths of a core cycle. Integers, because the order in which a
// compiler adds floating-point numbers may differ, and the same seed must give the same bytes.
using Tick = int64_t;
constexpr Tick ticks_per_cycle = 1000;

enum class Kind : uint8_t { load, store, fetch };

// One byte of a trace: a Kind, and whether the thread waits for the result.
constexpr uint8_t kind_mask = 3;
constexpr uint8_t dependent_bit = 4;

// Where an access was answered. A cache of another core counts as such only when the
// directory says that it may hold the only valid copy.
enum class Place : uint8_t { l1, l2, l3, local_cache, remote_cache, local_memory, remote_memory };

enum class Replacement : uint8_t { lru, nru, random };
enum class WritePolicy : uint8_t { back, through };
enum class Placement : uint8_t { first_touch, interleave, bind, round_robin };
enum class Prefetch : uint8_t { off, next_line, stride };

struct CacheSpec {
    uint64_t sets = 0;
    uint32_t ways = 0;
    uint32_t line_bytes = 0;
    Replacement replacement = Replacement::lru;
    WritePolicy write = WritePolicy::back;
    bool allocate_on_write = true;
    bool inclusive = false;
    // Whether what the level above writes back is brought in where it is not there.
    bool allocate_on_writeback = true;
    Tick latency = 0;        // of a load that hits here, from its issue
    Tick fetch_latency = 0;  // the same for an instruction
};

struct TlbSpec {
    uint32_t sets = 0;  // none: there is no such buffer
    uint32_t ways = 0;
    Replacement replacement = Replacement::lru;
    Tick latency = 0;
};

// A direction of a link, or a memory controller: something with a limited rate.
struct ChannelSpec {
    Tick slot_ticks = 0;  // how long it takes for Channel::slot_bytes
};

struct DirectionSpec {
    uint32_t channel = 0;  // both directions of a half-duplex link share one
    Tick latency = 0;      // of one way
};

struct NodeSpec {
    Tick read_latency = 0;
    Tick write_latency = 0;
    std::vector<uint32_t> controllers;  // channels, lines taken in turn
};

struct SystemSpec {
    std::vector<CacheSpec> data;  // of a core, first level first
    bool split = false;           // whether instructions have a first level of their own
    CacheSpec instruction;
    bool exclusive_code = false;  // a line is in the first level of one kind, never of both
    bool shared = false;  // whether cores share a last level
    CacheSpec last;
    TlbSpec dtlb, itlb, stlb;
    uint32_t walk_reads = 0;
    uint64_t page_bytes = 4096;
    std::vector<uint32_t> core_node;
    std::vector<uint32_t> core_cluster;  // the last-level cache of each core
    std::vector<uint32_t> cluster_node;
    std::vector<uint32_t> thread_core;
    std::vector<NodeSpec> nodes;
    std::vector<ChannelSpec> channels;
    std::vector<DirectionSpec> directions;
    std::vector<std::vector<uint32_t>> routes;  // [from * nodes + to]: directions
    Tick issue = ticks_per_cycle;
    Tick snoop = 0;  // what an answer from another core's cache adds
    uint32_t outstanding = 1;
    bool blocking = false;
    bool whole_splits = false;  // a reference across lines that misses looks up all of them
    bool cache_remote = true;
    Tick posted_write = 0;  // cost of a write to uncached remote memory
    uint32_t header_bytes = 0;
    uint32_t request_bytes = 0;
    Prefetch prefetch = Prefetch::off;
    uint32_t prefetch_degree = 1;
    Placement placement = Placement::first_touch;
    uint64_t seed = 1;
};

// Marsaglia's xorshift with a multiplied output: small, fast, the same everywhere.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du) {
        if (!state_) state_ = 1;
    }
    uint32_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<uint32_t>((state_ * 0x2545F4914F6CDD1Du) >> 32);
    }

  private:
    uint64_t state_;
};

}  // namespace gnomon::machine
