// A link controller: stripper, bypass FIFO, output multiplexer, and the buffers around them.
#include <algorithm>

#include "fabric/fabric.hh"

namespace gnomon::fabric {

void Fabric::emit(uint32_t me, Time time, const Event& event, bool own, bool retried) {
    Controller& self = controllers_[me];
    Event sent = event;
    sent.time = time + setup_.delay;
    controllers_[self.next].in.push(sent);
    wake_[self.next] = std::min(wake_[self.next], sent.time);
    if (event.kind == Kind::go) return;
    ++hops_;
    const uint64_t gap = static_cast<uint64_t>(time - self.link_end);
    self.link_end = time + event.length;
    ++self.counts.gaps;
    self.counts.idles += gap;
    self.counts.single_idles += gap == 1;
    if (!setup_.records) return;
    Row row{time, 0, 0, static_cast<uint32_t>(std::min<uint64_t>(gap, UINT32_MAX)),
            static_cast<uint16_t>(me), 0, 0, type_sync, 0, 0};
    if (event.kind == Kind::sync) {
        row.source = static_cast<uint16_t>(self.node);
        row.target = static_cast<uint16_t>(controllers_[self.next].node);
        row.flags = flag_own;
    } else {
        const Packet& packet = packets_[event.packet];
        const bool echo = event.kind == Kind::echo;
        row.address = packet.address;
        row.age = static_cast<uint32_t>(std::min<Time>(time - packet.begun, UINT32_MAX));
        row.source = packet.source;
        row.target = packet.target;
        row.transaction = packet.transaction;
        row.type = !echo                              ? packet.type
                   : packet.group() == response ? type_response_echo
                                                      : type_request_echo;
        const bool busy = echo && event.status != done;
        row.flags = static_cast<uint8_t>((busy ? flag_busy : 0) |
                                         (event.status != done ? event.status * flag_label : 0) |
                                         (own ? flag_own : 0) |
                                         (retried ? flag_retry : 0));
    }
    recorder_.add(now_, row);
}

void Fabric::go(Controller& self, Time time) {
    self.go_since = time;
    if (setup_.go_bits)
        emit(static_cast<uint32_t>(&self - controllers_.data()), time,
             {time, nobody, -1, 0, Kind::go, 0}, false, false);
}

void Fabric::pass(uint32_t me, Time time, const Event& event) {
    Counts& counts = controllers_[me].counts;
    if (event.kind == Kind::echo) {
        // Made here, of a send that arrived, or on its way.
        const bool own = packets_[event.packet].to == me;
        ++(own ? counts.echoes : counts.passed_echoes);
        (own ? counts.own_symbols : counts.passed_symbols) += event.length;
        counts.bypass_wait += static_cast<uint64_t>(time - event.time);
        emit(me, time, event, own, false);
        return;
    }
    ++counts.passed_sends;
    counts.passed_symbols += event.length;
    counts.bypass_wait += static_cast<uint64_t>(time - event.time);
    emit(me, time, event, false, event.packet != nobody && packets_[event.packet].retried);
}

// ---- what arrives --------------------------------------------------------------------------------

// Returns whether the multiplexer sees the event; what is for us becomes idles, a send an echo.
bool Fabric::strip(uint32_t me, const Event& event) {
    if (event.kind == Kind::go || event.to != static_cast<int32_t>(me)) return true;
    Controller& self = controllers_[me];
    self.in_go = false;  // idles made of a packet are stop: a go bit must come from upstream
    if (event.kind == Kind::sync) return false;
    if (event.kind == Kind::echo) {
        absorb(me, event);
        return false;
    }
    const uint8_t status = judge(me, event);
    self.echo = {event.time + event.length - echo_symbols,
                 event.packet,
                 static_cast<int32_t>(packets_[event.packet].from),
                 echo_symbols,
                 Kind::echo,
                 status};
    self.has_echo = true;
    return false;
}

void Fabric::absorb(uint32_t me, const Event& event) {
    Controller& self = controllers_[me];
    Packet& packet = packets_[event.packet];
    Lane& lane = self.lanes[static_cast<size_t>(packet.group())];
    const Time free = event.time + echo_symbols;
    lane.active_free = free;
    ++self.counts.active_samples;
    self.counts.active_seen += lane.active;
    if (event.status == done) {
        --lane.active;
        self.counts.active += static_cast<uint64_t>(free - packet.started);
        // Without a response, this is all that the adapter hears of it.
        if (packet.answer == 0 && packet.group() == request && packet.source == self.node)
            release(self.node, free + setup_.blink, me, packet.category);
        spare_.push_back(event.packet);
        return;
    }
    --lane.active;  // until it is sent again, which goes before everything that is new
    packet.phase = event.status;
    packet.ready = free;
    packet.retried = 1;
    ++self.counts.retries;
    size_t place = lane.retries.size();
    while (place && packets_[lane.retries[place - 1]].queued > packet.queued) --place;
    lane.retries.insert(place, event.packet);
}

// A-B ageing: what is busied gets the label that is not served, and its turn comes.
uint8_t Fabric::judge(uint32_t me, const Event& event) {
    Controller& self = controllers_[me];
    Packet& packet = packets_[event.packet];
    const auto group = static_cast<size_t>(packet.group());
    Lane& lane = self.lanes[group];
    while (!lane.served.empty() && lane.served.front() <= event.time) lane.served.pop();
    const bool turn = lane.serving == 0 || packet.phase == lane.label;
    const uint8_t other = lane.label == label_a ? label_b : label_a;
    uint8_t status = done;
    if (turn && lane.served.size() < setup_.input && has_place(me, packet, event.time)) {
        if (packet.phase == lane.label) --lane.serving;
        else if (packet.phase == other) --lane.others;
        if (packet.phase != fresh)
            self.counts.worst_age =
                std::max(self.counts.worst_age, lane.accepts - packet.busied_at);
        ++lane.accepts;
        ++self.counts.accepted[group];
        accept(me, event);
    } else {
        ++self.counts.busied[group];
        status = packet.phase;
        if (packet.phase == fresh) {
            status = other;
            ++lane.others;
            packet.busied_at = lane.accepts;
        }
    }
    if (lane.serving == 0 && lane.others) {
        lane.label = lane.label == label_a ? label_b : label_a;
        std::swap(lane.serving, lane.others);
    }
    return status;
}

void Fabric::accept(uint32_t me, const Event& event) {
    Controller& self = controllers_[me];
    Lane& lane = self.lanes[static_cast<size_t>(packets_[event.packet].group())];
    const Time last = event.time + event.length;
    const Time out = lane.last_served = std::max(last, lane.last_served) + setup_.service;
    lane.served.push(out);
    ++self.counts.input_samples;
    self.counts.input_seen += lane.served.size();
    self.counts.input += static_cast<uint64_t>(out - event.time);
    const bool here = packets_[event.packet].target == self.node;
    if (here) {
        ++self.counts.delivered[static_cast<size_t>(packets_[event.packet].group())];
        self.counts.delivered_symbols += event.length;
    }
    // What follows may move the packets.
    leave(me, event.packet, out);
    if (here && packets_[event.packet].answer) {
        const uint32_t made = make();
        const Packet& asked = packets_[event.packet];
        Packet& answer = packets_[made];
        answer.source = asked.target;
        answer.target = asked.source;
        answer.type = asked.answer;
        answer.category = asked.category;
        answer.transaction = asked.transaction;
        answer.address = asked.address;
        answer.born = out;
        answer.begun = asked.begun;
        answer.feeder = self.local;
        enqueue(made, out + setup_.blink, event.time, static_cast<int32_t>(me));
    } else if (!here) {
        const uint32_t made = make();
        const Packet& asked = packets_[event.packet];
        Packet& onwards = packets_[made];
        onwards.source = asked.source;
        onwards.target = asked.target;
        onwards.type = asked.type;
        onwards.answer = asked.answer;
        onwards.category = asked.category;
        onwards.transaction = asked.transaction;
        onwards.address = asked.address;
        onwards.born = asked.born;
        onwards.begun = asked.begun;
        onwards.feeder = self.local;
        enqueue(made, out + setup_.blink, event.time, static_cast<int32_t>(me));
    }
}

// ---- what leaves ---------------------------------------------------------------------------------

Fabric::Start Fabric::next_start(const Controller& given) {
    auto& self = const_cast<Controller&>(given);
    Start best;
    const Time open = !setup_.go_bits           ? self.gap + 1
                      : self.go_since == never ? never
                                                : self.go_since + 1;
    if (open == never) return best;
    if (self.next_sync != never) best.at = std::max(self.next_sync, open);
    for (const int group : {response, request}) {
        Lane& lane = self.lanes[static_cast<size_t>(group)];
        const bool retry = !lane.retries.empty();
        if (!retry && lane.fresh.empty()) continue;
        if (lane.active >= setup_.active) continue;
        const uint32_t packet = retry ? lane.retries.front() : lane.fresh.front();
        Time at = std::max(packets_[packet].ready, open);
        if (lane.active == setup_.active - 1) at = std::max(at, lane.active_free);
        if (at < best.at) best = {at, group, retry};
    }
    return best;
}

void Fabric::start(uint32_t me, const Start& what, bool head_now) {
    Controller& self = controllers_[me];
    const Time time = what.at;
    self.saved = self.in_go && !head_now;
    self.busy = true;
    if (what.lane < 0) {
        self.next_sync += setup_.sync_period;
        ++self.counts.syncs;
        self.counts.own_symbols += sync_symbols;
        self.end = time + sync_symbols;
        emit(me, time, {time, nobody, static_cast<int32_t>(self.next), sync_symbols, Kind::sync, 0},
             true, false);
        return;
    }
    Lane& lane = self.lanes[static_cast<size_t>(what.lane)];
    Fifo<uint32_t>& queue = what.retry ? lane.retries : lane.fresh;
    const uint32_t number = queue.front();
    queue.pop();
    ++lane.active;
    Packet& packet = packets_[number];
    Counts& counts = self.counts;
    counts.wait += static_cast<uint64_t>(time - packet.ready);
    counts.own_symbols += packet.length;
    ++counts.active_samples;
    counts.active_seen += lane.active;
    self.end = time + packet.length;
    if (what.retry) {
        if (packet.retried < UINT8_MAX) ++packet.retried;
        counts.most_retries = std::max<uint64_t>(counts.most_retries, packet.retried - 1u);
    } else {
        ++counts.sends[static_cast<size_t>(what.lane)];
        ++counts.queue_samples;
        size_t before = 0, after = queue.size();
        while (before < after) {
            const size_t middle = (before + after) / 2;
            if (packets_[queue[middle]].ready <= time) before = middle + 1;
            else after = middle;
        }
        counts.queue_seen += before;
        packet.started = time;
    }
    emit(me, time,
         {time, number, static_cast<int32_t>(packet.to), packet.length, Kind::send, packet.phase},
         true, what.retry);
    if (!what.retry) admit_next(me, number, time);
}

void Fabric::run_controller(uint32_t me, Time stop) {
    Controller& self = controllers_[me];
    const auto mine = static_cast<int32_t>(me);
    for (;;) {
        const Event* first = self.has_echo       ? &self.echo
                             : self.in.empty() ? nullptr
                                                 : &self.in.front();
        const Time arrival = first ? first->time : never;
        const auto take = [&] {
            const Event event = *first;
            if (self.has_echo) self.has_echo = false;
            else self.in.pop();
            return event;
        };
        if (self.busy) {  // sending, or emptying the bypass FIFO
            if (arrival <= self.end && arrival < stop) {
                const bool made = self.has_echo;
                const Event event = take();
                if (!made && !strip(me, event)) continue;
                if (event.kind == Kind::go) {
                    self.in_go = self.saved = true;
                } else {
                    self.in_go = false;
                    self.bypass.push(event);
                }
            } else if (self.end < stop) {
                if (!self.bypass.empty()) {
                    const Event event = self.bypass.front();
                    self.bypass.pop();
                    pass(me, self.end + 1, event);
                    self.end += 1 + event.length;
                } else {
                    self.busy = false;
                    self.gap = self.end;
                    self.go_since = never;
                    if (self.saved) go(self, self.end);
                    self.saved = false;
                }
            } else {
                wake_[me] = std::min(arrival, self.end);
                return;
            }
            continue;
        }
        const Start next = next_start(self);
        // What the stripper will remove is no head to the multiplexer: look through it first.
        if (arrival < stop && arrival <= next.at && !self.has_echo && first->kind != Kind::go &&
            first->to == mine) {
            strip(me, take());
            continue;
        }
        if (next.at <= arrival && next.at < stop) {
            start(me, next, arrival == next.at && first->kind != Kind::go);
            continue;
        }
        if (arrival >= stop) {
            wake_[me] = std::min(arrival, next.at);
            return;
        }
        const Event event = take();
        if (event.kind == Kind::go) {
            self.in_go = true;
            if (self.go_since == never) go(self, event.time);
        } else {
            self.in_go = false;
            pass(me, event.time, event);
            self.gap = event.time + event.length;
            self.go_since = never;
        }
    }
}

}  // namespace gnomon::fabric
