// A simulator of SCI rings that is exact in symbol time, packet by packet.
//
// What a node sends between two packets is stop idles, then go idles, so one number tells a gap:
// its first go idle. A link is a queue of heads and such numbers. Links have a delay, so each
// link controller runs alone over a window of that length: there is no heap of events, and the
// order of controllers does not matter. The rules are explained in docs/explanation/fabrics.md.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fabric/packet.hh"
#include "fabric/records.hh"
#include "fabric/traffic.hh"

namespace gnomon::fabric {

struct Setup {
    Time delay = 4;             // of a link
    bool go_bits = true;
    uint32_t queue = 0;         // places of an output queue, a class and a feeder; 0: any number
    uint32_t active = 64;       // sends without a final echo, a class
    uint32_t input = 64;        // input buffers, a class
    Time service = 0;           // from an input buffer onto the Blink
    Time blink = 8;             // over the Blink, at least `delay`
    Time sync_period = 0;       // 0: no sync packets
    double symbol_ns = 3;
    bool records = false, blink_records = false;
    uint64_t seed = 1;
    std::array<uint32_t, categories> outstanding{};  // of a node, by category; 0: any number
    std::array<uint16_t, types> lengths{};           // symbols of each type
};

struct Topology {
    uint32_t nodes = 0;
    std::vector<uint32_t> node, next;   // of each controller
    std::vector<int32_t> first;         // (node, target): the controller that it leaves by
    std::vector<int32_t> leg;           // (controller, target): where it leaves that ring
};

// What a controller and the link behind it have counted.
struct Counts {
    std::array<uint64_t, classes> sends{}, accepted{}, busied{}, delivered{};
    uint64_t retries = 0, syncs = 0, echoes = 0, passed_sends = 0, passed_echoes = 0;
    uint64_t own_symbols = 0, passed_symbols = 0;  // without the idle that each packet has
    uint64_t delivered_symbols = 0;
    uint64_t wait = 0;             // of source packets in the output queue: its integral
    uint64_t active = 0, input = 0;  // integrals of the other two buffers
    uint64_t queue_samples = 0, queue_seen = 0, active_samples = 0, active_seen = 0,
             input_samples = 0, input_seen = 0;  // occupancy at each insertion and removal
    uint64_t bypass_wait = 0;
    uint64_t gaps = 0, idles = 0;  // before the packets on the link, and how many idles in them
    uint64_t single_idles = 0;     // gaps of one idle: the link is full
    uint64_t worst_age = 0, most_retries = 0;
};

struct NodeCounts {
    uint64_t transactions = 0, latency = 0;       // ended here, and their times together
    uint64_t packets = 0, packet_latency = 0;     // that were delivered here
    uint64_t offered = 0;                         // transactions that were begun
};

class Fabric {
  public:
    Fabric(Setup setup, Topology topology, Load load);

    // Transactions to be made at their times, which must not be in the past.
    void schedule(const Transaction* all, size_t count);
    // Goes on to a moment, or until that many rows are there to be taken.
    void run(Time until, size_t most_rows);

    Time now() const { return now_; }
    uint64_t hops() const { return hops_; }
    size_t live() const { return packets_.size() - spare_.size(); }
    // Transactions that wait for the adapter or for a place in an output queue.
    size_t waiting() const { return waiting_; }
    const Counts& counts(size_t controller) const { return controllers_[controller].counts; }
    // Integrals of what waits now and has not left yet.
    uint64_t waiting_now(size_t controller);
    const NodeCounts& node_counts(size_t node) const { return nodes_[node].counts; }
    const std::vector<uint64_t>& latencies() const { return latencies_; }
    size_t controllers() const { return controllers_.size(); }
    size_t node_count() const { return nodes_.size(); }
    Recorder& recorder() { return recorder_; }
    bool idle() const;

  private:
    // What requests and responses have apart.
    struct Lane {
        Fifo<uint32_t> fresh, retries;
        std::vector<Places> places;  // by feeder, the host last
        uint32_t active = 0;
        Time active_free = 0;
        Fifo<Time> served;           // when each input buffer is free again
        Time last_served = 0;
        uint64_t accepts = 0;
        uint32_t serving = 0, others = 0;  // outstanding packets of the served label, of the other
        uint8_t label = label_a;
    };
    struct Controller {
        uint32_t node = 0, next = 0;
        uint8_t local = 0;           // which of its node's
        bool has_echo = false, busy = false, in_go = true, saved = false;
        Time end = -1;               // of the packet that goes out: the idle behind it
        Time gap = -1, go_since = -1;
        Time next_sync = never, link_end = 0;
        Event echo{};                // that the stripper makes of a send
        Fifo<Event> in, bypass;
        std::array<Lane, classes> lanes;
        Fifo<uint32_t> backlog;      // of the host, for places in the output queue
        Counts counts;
    };
    struct Node {
        Source source;
        NodeCounts counts;
        std::vector<uint32_t> controllers;
        std::array<uint32_t, categories> outstanding{};
        std::array<Fifo<Transaction>, categories> pending;
        std::vector<Release> releases;  // a heap, the first on top
        uint8_t transaction = 0;
    };
    struct Start {
        Time at = never;
        int lane = -1;  // -1: a sync packet
        bool retry = false;
    };

    // controller.cc
    void run_controller(uint32_t me, Time stop);
    Start next_start(const Controller& self);
    void start(uint32_t me, const Start& what, bool head_now);
    bool strip(uint32_t me, const Event& event);
    void absorb(uint32_t me, const Event& event);
    uint8_t judge(uint32_t me, const Event& event);
    void accept(uint32_t me, const Event& event);
    void pass(uint32_t me, Time time, const Event& event);
    void go(Controller& self, Time time);
    void emit(uint32_t me, Time time, const Event& event, bool own, bool retried);

    // fabric.cc
    uint32_t make();
    void enqueue(uint32_t packet, Time ready, Time made, int32_t by);
    bool has_place(uint32_t me, const Packet& packet, Time now);
    void leave(uint32_t me, uint32_t packet, Time time);
    void admit_next(uint32_t me, uint32_t packet, Time time);
    void begin_window(Time stop);
    void wake_node(uint32_t number, Time stop);
    void issue(uint32_t number, const Transaction& what, Time time);
    void release(uint32_t node, Time time, uint32_t by, int32_t what);
    void end_transaction(uint32_t node, const Packet& packet, Time time);
    void record_blink(uint32_t me, const Packet& packet, Time time, uint8_t flags);
    size_t at(uint32_t row, uint32_t target) const { return size_t{row} * nodes_.size() + target; }

    Setup setup_;
    Topology topology_;
    Load load_;
    std::vector<Controller> controllers_;
    std::vector<Time> wake_;  // of each controller: nothing happens there before
    std::vector<Node> nodes_;
    std::vector<Time> node_next_;
    std::vector<Packet> packets_;
    std::vector<uint32_t> spare_;
    std::vector<uint64_t> latencies_;
    Recorder recorder_;
    Time now_ = 0;
    uint64_t hops_ = 0;
    size_t waiting_ = 0;
};

// Buckets of a histogram of times: 16 to an octave, so that none is wider than 6.3 %.
constexpr size_t latency_buckets = 16 * 60;
size_t latency_bucket(uint64_t symbols);

}  // namespace gnomon::fabric
