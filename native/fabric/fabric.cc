#include "fabric/fabric.hh"

#include <algorithm>
#include <bit>
#include <utility>

namespace gnomon::fabric {

namespace {

constexpr uint8_t transactions = 64;  // a transaction id has 6 bits

bool later(const Release& one, const Release& other) {
    return std::tie(one.time, one.by, one.what) > std::tie(other.time, other.by, other.what);
}

}  // namespace

size_t latency_bucket(uint64_t symbols) {
    if (symbols < 16) return symbols;
    const int octave = std::bit_width(symbols) - 5;  // 16 buckets from 16 << octave
    return std::min<size_t>(16u * static_cast<size_t>(octave + 1) +
                                static_cast<size_t>((symbols >> octave) & 15),
                            latency_buckets - 1);
}

Fabric::Fabric(Setup setup, Topology topology, Load load)
    : setup_(setup), topology_(std::move(topology)), load_(std::move(load)),
      controllers_(topology_.node.size()), wake_(topology_.node.size()),
      latencies_(latency_buckets),
      recorder_(setup_.delay, setup_.symbol_ns) {
    nodes_.reserve(topology_.nodes);
    for (uint32_t node = 0; node < topology_.nodes; ++node)
        nodes_.push_back(Node{Source(node, load_.hosts, topology_.nodes, setup_.seed), {}, {}, {}, {}, {}});
    for (uint32_t i = 0; i < controllers_.size(); ++i) {
        Controller& self = controllers_[i];
        self.node = topology_.node[i];
        self.next = topology_.next[i];
        auto& all = nodes_[self.node].controllers;
        self.local = static_cast<uint8_t>(all.size());
        all.push_back(i);
        if (setup_.sync_period) self.next_sync = setup_.sync_period;
    }
    for (Controller& self : controllers_)
        for (Lane& lane : self.lanes)
            lane.places.resize(nodes_[self.node].controllers.size() + 1, Places{setup_.queue, {}});
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
        if (node < load_.hosts) nodes_[node].source.begin(load_);
        node_next_.push_back(nodes_[node].source.next());
        if (node < load_.hosts && load_.arrivals == Arrivals::saturated)
            for (uint32_t i = 0; i < load_.depth; ++i)
                release(node, 0, 0, -1);
    }
}

void Fabric::schedule(const Transaction* all, size_t count) {
    for (size_t i = 0; i < count; ++i) nodes_[all[i].source].source.add(all[i]);
    for (uint32_t node = 0; node < nodes_.size(); ++node)
        node_next_[node] = std::min(node_next_[node], nodes_[node].source.next());
}

void Fabric::run(Time until, size_t most_rows) {
    while (now_ < until && recorder_.size() < most_rows) {
        const Time stop = std::min(now_ + setup_.delay, until);
        begin_window(stop);
        for (uint32_t i = 0; i < wake_.size(); ++i)
            if (wake_[i] < stop) run_controller(i, stop);
        if (setup_.records || setup_.blink_records) recorder_.close(now_, stop - now_);
        now_ = stop;
    }
}

// ---- nodes: what begins in a window ---------------------------------------------------------------

void Fabric::begin_window(Time stop) {
    for (uint32_t node = 0; node < nodes_.size(); ++node)
        if (node_next_[node] < stop) wake_node(node, stop);
}

void Fabric::wake_node(uint32_t number, Time stop) {
    Node& node = nodes_[number];
    for (;;) {
        const Time born = node.source.next();
        const Time released = node.releases.empty() ? never : node.releases.front().time;
        node_next_[number] = std::min(born, released);
        if (node_next_[number] >= stop) return;
        if (born < released) {
            issue(number, node.source.take(load_), born);
            continue;
        }
        std::pop_heap(node.releases.begin(), node.releases.end(), later);
        const Release what = node.releases.back();
        node.releases.pop_back();
        if (what.what < 0) {
            if (what.time < load_.stop)
                issue(number, node.source.draw(load_, what.time), what.time);
            continue;
        }
        const auto category = static_cast<size_t>(what.what);
        --node.outstanding[category];
        if (!node.pending[category].empty()) {
            const Transaction next = node.pending[category].front();
            node.pending[category].pop();
            --waiting_;
            --node.counts.offered;  // issue counts it again
            issue(number, next, what.time);
        }
    }
}

// Hands a transaction to the adapter, which may have too many of its sort already.
void Fabric::issue(uint32_t number, const Transaction& what, Time time) {
    Node& node = nodes_[number];
    ++node.counts.offered;
    const uint32_t limit = setup_.outstanding[what.category];
    if (limit && node.outstanding[what.category] >= limit) {
        node.pending[what.category].push(what);
        ++waiting_;
        return;
    }
    ++node.outstanding[what.category];
    const uint32_t made = make();
    Packet& packet = packets_[made];
    packet.source = what.source;
    packet.target = what.target;
    packet.type = what.type;
    packet.answer = what.answer;
    packet.category = what.category;
    packet.address = what.address;
    packet.born = packet.begun = what.time;
    packet.transaction = node.transaction++ % transactions;
    const auto by = static_cast<uint32_t>(topology_.first[at(number, what.target)]);
    Controller& out = controllers_[by];
    packet.feeder = static_cast<uint8_t>(node.controllers.size());
    if (setup_.queue) {
        Places& places = out.lanes[request].places[packet.feeder];
        if (places.any(time)) {
            --places.free;
        } else if (!places.back.empty()) {
            time = places.back.front();
            places.back.pop();
        } else {
            ++waiting_;
            out.backlog.push(made);
            return;
        }
    }
    enqueue(made, time, -1, -1);
}

void Fabric::release(uint32_t number, Time time, uint32_t by, int32_t what) {
    Node& node = nodes_[number];
    node.releases.push_back({time, by, what});
    std::push_heap(node.releases.begin(), node.releases.end(), later);
    node_next_[number] = std::min(node_next_[number], node.releases.front().time);
}

void Fabric::end_transaction(uint32_t number, const Packet& packet, Time time) {
    NodeCounts& counts = nodes_[number].counts;
    const auto took = static_cast<uint64_t>(time - packet.begun);
    ++counts.transactions;
    counts.latency += took;
    ++latencies_[latency_bucket(took)];
}

// ---- packets and their places ---------------------------------------------------------------------

uint32_t Fabric::make() {
    if (spare_.empty()) {
        packets_.emplace_back();
        return static_cast<uint32_t>(packets_.size() - 1);
    }
    const uint32_t number = spare_.back();
    spare_.pop_back();
    packets_[number] = Packet{};
    return number;
}

// Puts a packet into the output queue of its first controller of this node; its feeder is set.
void Fabric::enqueue(uint32_t number, Time ready, Time made, int32_t by) {
    Packet& packet = packets_[number];
    const uint32_t node = by < 0 ? packet.source : controllers_[static_cast<uint32_t>(by)].node;
    packet.length = setup_.lengths[packet.type];
    packet.from = static_cast<uint32_t>(topology_.first[at(node, packet.target)]);
    packet.to = static_cast<uint32_t>(topology_.leg[at(packet.from, packet.target)]);
    packet.queued = packet.ready = ready;
    packet.made = made;
    packet.by = by;
    Fifo<uint32_t>& queue = controllers_[packet.from].lanes[static_cast<size_t>(packet.group())].fresh;
    size_t place = queue.size();
    while (place) {
        const Packet& before = packets_[queue[place - 1]];
        if (std::tie(before.ready, before.made, before.by) <= std::tie(ready, made, by)) break;
        --place;
    }
    queue.insert(place, number);
    wake_[packet.from] = std::min(wake_[packet.from], ready);
    if (setup_.blink_records) record_blink(packet.from, packet, ready, flag_to_ring);
}

// Whether what the packet becomes has a place in an output queue of this node; it is taken then.
bool Fabric::has_place(uint32_t me, const Packet& packet, Time now) {
    const Controller& self = controllers_[me];
    const bool here = packet.target == self.node;
    if (!setup_.queue || (here && !packet.answer)) return true;
    const uint16_t target = here ? packet.source : packet.target;
    const auto out = static_cast<uint32_t>(topology_.first[at(self.node, target)]);
    const int group = here ? response : packet.group();
    Places& places = controllers_[out].lanes[static_cast<size_t>(group)].places[self.local];
    if (!places.any(now)) return false;
    --places.free;
    return true;
}

// A packet left an output queue: its place, and what that lets in.
void Fabric::admit_next(uint32_t me, uint32_t number, Time time) {
    Controller& self = controllers_[me];
    const Packet& packet = packets_[number];
    const bool of_host = packet.feeder == nodes_[self.node].controllers.size();
    if (of_host && load_.arrivals == Arrivals::saturated)
        release(self.node, time + setup_.blink, me, -1);
    if (!setup_.queue) return;
    const Time back = time + setup_.blink;
    if (of_host && !self.backlog.empty()) {
        const uint32_t next = self.backlog.front();
        self.backlog.pop();
        --waiting_;
        enqueue(next, back, -1, -1);
        return;
    }
    self.lanes[static_cast<size_t>(packet.group())].places[packet.feeder].back.push(back);
}

// A packet leaves an input buffer: to the host of this node, or to another of its controllers.
void Fabric::leave(uint32_t me, uint32_t number, Time time) {
    const Controller& self = controllers_[me];
    const Packet& packet = packets_[number];
    if (setup_.blink_records && packet.target == self.node)
        record_blink(me, packet, time + setup_.blink, 0);
    if (packet.target != self.node) return;
    NodeCounts& counts = nodes_[self.node].counts;
    ++counts.packets;
    counts.packet_latency += static_cast<uint64_t>(time - packet.born);
    if (packet.group() == response) {
        release(self.node, time + setup_.blink, me, packet.category);
        end_transaction(self.node, packet, time);
    } else if (packet.answer == 0) {
        end_transaction(self.node, packet, time);
    }
}

void Fabric::record_blink(uint32_t me, const Packet& packet, Time time, uint8_t flags) {
    recorder_.later({time, packet.address,
                     static_cast<uint32_t>(std::min<Time>(std::max<Time>(time - packet.begun, 0), UINT32_MAX)),
                     0,
                     static_cast<uint16_t>(me), packet.source, packet.target,
                     static_cast<uint8_t>(packet.type <= 8 ? packet.type + blink_types
                                                           : packet.type + blink_types - 1),
                     flags, packet.transaction});
}

// ---- what can be asked ----------------------------------------------------------------------------

uint64_t Fabric::waiting_now(size_t number) {
    Controller& self = controllers_[number];
    uint64_t sum = 0;
    for (Lane& lane : self.lanes)
        for (Fifo<uint32_t>* queue : {&lane.fresh, &lane.retries})
            for (size_t i = 0; i < queue->size(); ++i)
                sum += static_cast<uint64_t>(std::max<Time>(0, now_ - packets_[(*queue)[i]].ready));
    return sum;
}

bool Fabric::idle() const {
    if (waiting_ || live()) return false;
    return std::all_of(node_next_.begin(), node_next_.end(), [](Time each) { return each >= never; });
}

}  // namespace gnomon::fabric
