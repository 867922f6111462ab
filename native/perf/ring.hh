// Sampled events: one ring buffer a CPU, drained into columns.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

#include "perf/event.hh"

namespace gnomon {

// What the rings held, column by column; chains[i] are the frames
// chain_frames[chain_ends[i-1] .. chain_ends[i]).
struct SampleColumns {
    std::vector<uint32_t> event;
    std::vector<uint64_t> time, ip, address, period, weight, data_source;
    std::vector<uint32_t> pid, tid, cpu;
    std::vector<uint64_t> chain_frames;
    std::vector<uint64_t> chain_ends;
};

struct MappedFile {
    uint32_t pid;
    uint64_t time, start, length, offset;
    std::string path;
};

class Sampler {
  public:
    // `pages` of ring a CPU, a power of two. All events or none; throws OpenFailure.
    Sampler(const std::vector<EventSpec>& specs, const std::vector<SampleSpec>& sampling,
            pid_t pid, const std::vector<int>& cpus, size_t pages);
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    void enable();
    void disable();
    void close() noexcept;
    bool is_open() const { return !rings_.empty(); }
    // Waits until a ring is filling up or the time is over; true when there is something.
    bool wait(int timeout_ms);
    SampleColumns drain();
    std::vector<MappedFile> take_maps();
    // Samples that did not fit into a ring, those not yet reported in it included.
    uint64_t lost() const;
    uint64_t throttled() const { return throttled_; }
    // Sum of counts of one event over all CPUs, with the times, as three words.
    void totals(size_t event, uint64_t out[3]) const;

  private:
    struct Ring {
        int fd;
        void* memory;
        size_t bytes;
        int cpu = -1;
        pid_t pid = -1;
        uint32_t event = 0;  // which one the packets are of
        void* packets = nullptr;
        size_t packet_bytes = 0;
    };
    // Asks for the buffer of packets beside a ring; returns errno, or 0.
    static int map_packets(Ring& ring);
    void drain_packets(Ring& ring, SampleColumns& columns);
    void drain_ring(Ring& ring, SampleColumns& columns);
    void take_record(const unsigned char* record, SampleColumns& columns);
    void take_sample(const unsigned char* body, SampleColumns& columns);
    void take_map(const unsigned char* body, size_t bytes);

    std::vector<std::vector<int>> fds_;  // by event, then by CPU
    std::vector<SampleSpec> sampling_;
    std::unordered_map<uint64_t, uint32_t> event_of_id_;
    std::vector<Ring> rings_;
    std::vector<MappedFile> maps_;
    std::vector<unsigned char> scratch_;
    uint64_t lost_ = 0;
    uint64_t throttled_ = 0;
};

}  // namespace gnomon
