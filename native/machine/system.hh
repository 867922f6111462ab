// The memory system of a simulated machine: one reference after the other, in simulated time.
//
// A reference changes all caches and the directory at once, at the moment of its issue; only
// its latency depends on the load of what it crossed. machine/reference.cc follows it through
// the core, machine/coherence.cc beyond it, machine/transport.cc over the links, and
// machine/schedule.cc lets threads take turns.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/channel.hh"
#include "machine/core.hh"
#include "machine/counters.hh"
#include "machine/lane.hh"
#include "machine/memory.hh"
#include "machine/monitor.hh"
#include "machine/types.hh"

namespace gnomon::machine {

struct Access {
    Place place = Place::l1;
    uint32_t node = 0;  // where the answer came from
    Tick latency = 0;
};

class System {
  public:
    explicit System(const SystemSpec& spec);
    System(const System&) = delete;
    System& operator=(const System&) = delete;

    // One reference by itself; the thread's time moves on.
    Access access(uint32_t thread, uint64_t address, uint64_t bytes, Kind kind, bool dependent);
    // Runs streams of different threads until all have ended or reached the time `until`.
    // A thread may be up to `quantum` ahead of the slowest: 0 is the exact order.
    void run(std::vector<Stream>& streams, Tick quantum, Tick until);
    // Moves the pages of a range; `thread` does the work and loses the time it takes.
    void migrate(uint32_t thread, uint64_t start, uint64_t bytes, uint32_t node);
    Tick longest_quantum() const;

    // For a scheduler: the common case of a reference by itself (machine/step.hh), all lines of
    // one that may cross them, and one whose thread waits only for what a hit would not cost.
    Access step(Thread& thread, uint64_t address, Kind kind, bool dependent);
    Access access_lines(Thread& thread, uint64_t address, uint64_t bytes, Kind kind,
                        bool dependent);
    void fetch_ahead(Thread& thread, uint64_t address, uint64_t bytes = 1);
    // Ends the windows of the channels that are over; no thread is earlier than `now`. Nobody
    // may run beyond `next_window` before.
    void advance_channels(Tick now, Tick quantum);
    Tick next_window() const { return next_window_; }
    // Is told of references that another node answers; none by default.
    void set_monitor(Monitor* monitor) {
        monitor_ = monitor;
        monitor_sees_local_ = monitor && monitor->sees_local_memory();
    }

    Memory& memory() { return memory_; }
    Thread& thread(uint32_t id) { return threads_[id]; }
    Core& core(uint32_t id) { return cores_[id]; }
    const SystemSpec& spec() const { return spec_; }
    Counts<ThreadCount>& thread_counts() { return thread_counts_; }
    Counts<CoreCount>& core_counts() { return core_counts_; }
    Counts<NodeCount>& node_counts() { return node_counts_; }
    Counts<LinkCount>& link_counts() { return link_counts_; }

    // For inspection: MESI state of a line in a core, and the levels (bits) that hold it.
    char state(uint32_t core, uint64_t address);
    uint32_t levels(uint32_t core, uint64_t address);
    Entry directory(uint64_t address);
    // The same of a shared last level: 0 absent, 1 clean, 2 dirty.
    int last_level(uint32_t cluster, uint64_t address);

  private:
    struct Request {
        Thread& thread;
        Core& core;
        uint64_t address;
        Kind kind;
        Tick now;
        bool demand;
        // Where the line is in the first level, of a demand; whether the core owns it, after it
        // was obtained.
        size_t slot = Cache::none;
        bool owned = false;
    };

    // machine/schedule.cc
    void run_in_order(std::vector<Lane>& lanes, const std::vector<Lane*>& of_thread, Tick until);
    void run_turns(std::vector<Lane>& lanes, const std::vector<Lane*>& of_thread, Tick quantum,
                   Tick until);
    void run_one(Stream& stream, Thread& thread);
    void find_hits(Lane& lane, Tick end);
    template <bool Simple>
    void find_hits_of(Lane& lane, Tick end);
    void do_hits(Lane& lane);
    void expect(Lane& lane, Core& core, uint64_t address);
    void disturb(Lane& lane, uint64_t line);

    // machine/reference.cc
    Access reference(Thread& thread, uint64_t address, Kind kind, bool dependent);
    void look_up_below(Thread& thread, uint64_t address, Kind kind);
    Access read(Request& request, size_t first_level);
    Access store(Request& request);
    Access store_through(Request& request);
    Access uncached(Request& request, uint32_t home);
    static bool crosses_nodes(Place place) {
        return place == Place::remote_cache || place == Place::remote_memory;
    }
    void tell_monitor(const Request& request, const Access& found);
    Tick translate(Thread& thread, Core& core, uint64_t address, Kind kind);
    Tick walk(Thread& thread, Core& core, uint64_t page, Kind kind, Tick now);
    Tick level_latency(const Level& level, Kind kind) const {
        return kind == Kind::fetch ? level.spec.fetch_latency : level.spec.latency;
    }
    Tick arrival(Request& request, Level& level, size_t slot, Tick latency);
    void count_miss(const Request& request, size_t level);

    // machine/prefetch.cc
    void prefetch_after(const Request& miss);
    void prefetch_line(const Request& miss, uint64_t line);

    // machine/fill.cc: what enters and leaves the caches of a core
    void insert(Request& request, size_t level, uint64_t line, uint8_t flags);
    void expel_twin(Request& request, uint64_t line);
    void evicted(Request& request, size_t level, uint64_t line, uint8_t flags);
    void write_down(Request& request, size_t level, uint64_t address);
    bool holds(Core& core, uint64_t line, const Level* without = nullptr);
    bool drop(Core& core, uint64_t line);
    bool demote(Core& core, uint64_t line);
    void set_writable(Core& core, uint64_t line);
    void set_writable_after_miss(const Request& request, uint64_t line);
    bool remove_parts(Level& level, uint64_t address, uint64_t bytes);

    // machine/coherence.cc: MESI through the directory
    struct Need {
        bool write;
        bool data;  // false: the core has a copy and lacks only the permission
        bool keep;  // whether the core will hold a copy of its own
    };
    Access obtain(Request& request, uint64_t line, Need need);
    bool owner_answers(Request& request, Entry& entry, uint64_t line, const Page& page,
                       bool write, uint32_t& node);
    Tick invalidate_others(Request& request, Entry& entry, uint64_t line, uint32_t home);
    void fill_last(Request& request, uint32_t cluster, uint64_t line, Entry& entry, bool dirty);
    void evict_last(Request& request, uint32_t cluster, uint64_t line, bool dirty);
    void write_last(Request& request, uint32_t cluster, uint64_t line);

    // machine/transport.cc: time and traffic on links and controllers
    Tick transfer(const Request& request, uint32_t from, uint32_t to, Tick now, bool data,
                  int64_t payload);
    Tick read_memory(Request& request, uint32_t home, uint64_t line, Tick now);
    void write_memory(Request& request, uint32_t from, uint32_t home, uint64_t line);
    Tick control(Thread& thread, uint32_t home, uint64_t line, Tick now, int64_t bytes);
    Page& page_of(const Request& request, uint64_t address) {
        if (Page* page = memory_.recent(address)) return *page;
        return find_page(request, address);
    }
    Page& find_page(const Request& request, uint64_t address);

    const std::vector<uint32_t>& route(uint32_t from, uint32_t to) const {
        return spec_.routes[from * spec_.nodes.size() + to];
    }
    uint64_t line_of(uint64_t address) const { return address >> line_shift_; }

    SystemSpec spec_;
    uint32_t line_bytes_;  // of the directory: that of the last level
    uint32_t line_shift_;
    size_t own_levels_;
    bool blocking_;
    bool grants_ownership_;
    bool same_lines_;  // in all levels
    std::vector<Core> cores_;
    std::vector<Cache> lasts_;
    std::vector<uint64_t> cluster_cores_;
    std::vector<Thread> threads_;
    std::vector<Channel> channels_;
    Memory memory_;
    Counts<ThreadCount> thread_counts_;
    Counts<CoreCount> core_counts_;
    Counts<NodeCount> node_counts_;
    Counts<LinkCount> link_counts_;
    Tick next_window_ = 0;
    // Whose turn it is, and whom that has disturbed.
    uint32_t disturber_ = 0;
    Tick disturber_time_ = 0;
    std::vector<Lane*> disturbed_;
    Monitor* monitor_ = nullptr;
    bool monitor_sees_local_ = false;
};

}  // namespace gnomon::machine
