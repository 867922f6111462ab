// Threads that work through arrays of references take turns in simulated time.
#include <algorithm>

#include "machine/lane.hh"
#include "machine/step.hh"
#include "machine/turns.hh"

namespace gnomon::machine {

// The next reference of a stream, whatever it is.
void System::run_one(Stream& stream, Thread& thread) {
    const size_t at = stream.position++;
    const uint64_t address = stream.addresses[at];
    const uint8_t operation = stream.operations ? stream.operations[at] : 0;
    const auto kind = static_cast<Kind>(operation & kind_mask);
    const bool dependent = operation & dependent_bit;
    const uint32_t line_bytes = thread.place->data.front().spec.line_bytes;
    if (stream.gaps) thread.time += stream.gaps[at] * ticks_per_cycle;
    thread.bytes = stream.sizes ? stream.sizes[at] : 0;
    if (stream.sizes && (address & (line_bytes - 1)) + stream.sizes[at] > line_bytes)
        access_lines(thread, address, stream.sizes[at], kind, dependent);
    else
        step(thread, address, kind, dependent);
}

// Finds the hits in the first level from here on that begin before a time. Changes nothing.
void System::find_hits(Lane& lane, Tick end) {
    const Stream& stream = *lane.stream;
    if (stream.operations && !stream.sizes && !stream.gaps)
        find_hits_of<true>(lane, end);
    else
        find_hits_of<false>(lane, end);
}

template <bool Simple>
inline void System::find_hits_of(Lane& lane, Tick end) {
    const uint64_t* const addresses = lane.stream->addresses;
    const uint8_t* const operations = lane.stream->operations;
    const uint8_t* const sizes = Simple ? nullptr : lane.stream->sizes;
    const uint16_t* const gaps = Simple ? nullptr : lane.stream->gaps;
    const size_t count = lane.stream->count;
    Core& core = *lane.thread->place;
    Level& first = core.data.front();
    const uint32_t shift = first.shift;
    const uint64_t offsets = first.spec.line_bytes - 1;
    const Tick issue = lane.thread->issue;
    const Tick latency = first.spec.latency;
    // Of each operation: a Kind, and whether the thread waits for it.
    const std::array<Tick, 8> cost{blocking_ ? latency : issue, issue, 0, 0, latency, latency, 0, 0};
    uint64_t stores = 0;
    uint64_t looked_line = Cache::no_line;
    uint64_t page = Cache::no_line;
    size_t entry = 0;
    size_t lines = 0;
    Tick time = lane.thread->time;
    size_t at = lane.stream->position;
    bool hard = false;
    while (at < count && time < end && lines < Lane::most_lines) {
        const uint64_t line = addresses[at] >> shift;
        const size_t far = std::min(at + Lane::lookahead, count);
        for (size_t next = lane.looked; next < far; ++next) {
            if (addresses[next] >> shift == looked_line) continue;
            looked_line = addresses[next] >> shift;
            expect(lane, core, addresses[next]);
        }
        lane.looked = std::max(lane.looked, far);
        hard = true;
        if (const uint64_t its = memory_.page_of(addresses[at]); its != page) {
            entry = core.dtlb ? core.dtlb->find(its) : 0;
            if (entry == Cache::none) break;
            page = its;
        }
        const size_t slot = first.cache.find(line);
        if (slot == Cache::none) break;
        // The operations that are simple on this line, as bits.
        const uint8_t flags = first.cache.flags(slot);
        const uint32_t simple = (first.is_easy(flags, Kind::load) ? 0b00010001u : 0) |
                                (first.is_easy(flags, Kind::store) ? 0b00100010u : 0);
        const size_t from = at;
        uint8_t mark = 0;
        do {
            const uint8_t operation = Simple || operations ? operations[at] & 7 : 0;
            const uint8_t store = operation & 1;
            hard = !(simple >> operation & 1) ||
                   (sizes && (addresses[at] & offsets) + sizes[at] > offsets + 1);
            if (hard) break;
            if (gaps) time += gaps[at] * ticks_per_cycle;
            time += cost[operation];
            mark |= store;
            stores += store;
            ++at;
        } while (at < count && time < end && addresses[at] >> shift == line);
        if (at > from) lane.hits[lines++] = {line, page, slot, entry, mark};
        if (hard) break;
    }
    lane.hard = hard;
    lane.stores = stores;
    lane.lines = lines;
    lane.position = at;
    lane.time = time;
}

// Does the hits that were found.
void System::do_hits(Lane& lane) {
    Core& core = *lane.thread->place;
    Cache& cache = core.data.front().cache;
    for (size_t i = 0; i < lane.lines; ++i) {
        const Lane::Hits& hits = lane.hits[i];
        if (core.dtlb) core.dtlb->touch(hits.entry, hits.page);
        cache.touch(hits.slot, hits.line);
        cache.flags(hits.slot) |= hits.mark;
    }
    const uint64_t count = lane.position - lane.stream->position;
    lane.thread->count(ThreadCount::loads) += count - lane.stores;
    lane.thread->count(ThreadCount::stores) += lane.stores;
    lane.thread->time = lane.time;
    lane.stream->position = lane.position;
    lane.lines = 0;
    lane.stores = 0;
}

// Asks the host for what a reference will need that is to come soon.
void System::expect(Lane& lane, Core& core, uint64_t address) {
    const uint64_t line = line_of(address);
    uint64_t& known = lane.expected[line % lane.expected.size()];
    if (known == line) return;
    known = line;
    const Level& first = core.data.front();
    if (first.cache.find(address >> first.shift) != Cache::none) return;
    for (size_t number = 1; number < own_levels_; ++number)
        core.data[number].cache.expect(address >> core.data[number].shift);
    auto expect_beyond = [&](uint64_t its_line) {
        if (spec_.shared) lasts_[core.cluster].expect(its_line);
        if (Page* page = memory_.recent(its_line << line_shift_))
            __builtin_prefetch(&memory_.entry(*page, its_line), 1);
    };
    expect_beyond(line);
    const Level& deepest = core.data.back();
    const uint64_t victim = deepest.cache.victim_of(address >> deepest.shift);
    if (victim != Cache::no_line) expect_beyond(line_of(victim << deepest.shift));
}

// Another thread, whose turn it is, takes a line away from a core.
void System::disturb(Lane& lane, uint64_t line) {
    Core& core = *lane.thread->place;
    const Level& first = core.data.front();
    // Of lines that are not used it matters only where they count in the choice of a victim.
    bool concerned = first.spec.replacement == Replacement::nru;
    for (size_t i = 0; i < lane.lines && !concerned; ++i)
        concerned = lane.hits[i].line >> (line_shift_ - first.shift) == line;
    if (!concerned) return;
    Stream& stream = *lane.stream;
    const Turns::Turn now{disturber_time_, disturber_};
    while (stream.position < lane.position &&
           Turns::Turn{lane.thread->time, lane.thread->id}.before(now))
        run_one(stream, *lane.thread);
    lane.lines = 0;
    lane.stores = 0;
    lane.position = stream.position;
    lane.time = lane.thread->time;
    disturbed_.push_back(&lane);
}

void System::advance_channels(Tick now, Tick quantum) {
    if (now < next_window_) return;
    next_window_ = never;
    for (Channel& channel : channels_)
        next_window_ = std::min(next_window_, channel.advance(now, 16 * quantum));
}

void System::run(std::vector<Stream>& streams, Tick quantum, Tick until) {
    std::vector<Lane> lanes(streams.size());
    std::vector<Lane*> of_thread(threads_.size(), nullptr);
    bool alone = true;  // every stream on its core
    for (size_t i = 0; i < streams.size(); ++i) {
        Thread& thread = threads_[streams[i].thread];
        for (size_t j = 0; j < i; ++j) alone &= lanes[j].thread->core != thread.core;
        lanes[i].stream = &streams[i];
        lanes[i].thread = &thread;
        of_thread[thread.id] = &lanes[i];
    }
    if (alone && !quantum)
        run_in_order(lanes, of_thread, until);
    else
        run_turns(lanes, of_thread, quantum, until);
}

// In the exact order of time.
void System::run_in_order(std::vector<Lane>& lanes, const std::vector<Lane*>& of_thread,
                          Tick until) {
    // Cores know the lanes only as long as there are any, whatever happens.
    struct Known {
        std::vector<Lane>& lanes;
        explicit Known(std::vector<Lane>& all) : lanes(all) {
            for (Lane& lane : lanes) lane.thread->place->lane = &lane;
        }
        Known(const Known&) = delete;
        Known& operator=(const Known&) = delete;
        ~Known() {
            for (Lane& lane : lanes) lane.thread->place->lane = nullptr;
        }
    } known(lanes);
    disturbed_.clear();
    Turns turns(threads_.size());
    auto arrange = [&](Lane& lane) {
        find_hits(lane, until);
        if (lane.position < lane.stream->count && lane.time < until)
            turns.set(lane.thread->id, lane.time);
        else
            turns.remove(lane.thread->id);
    };
    for (Lane& lane : lanes) arrange(lane);
    while (!turns.empty()) {
        disturber_ = turns.first().actor;
        disturber_time_ = turns.first().time;
        advance_channels(disturber_time_, 0);
        Lane& lane = *of_thread[disturber_];
        do_hits(lane);
        if (lane.hard) run_one(*lane.stream, *lane.thread);
        arrange(lane);
        for (Lane* other : disturbed_) arrange(*other);
        disturbed_.clear();
    }
    for (Lane& lane : lanes) do_hits(lane);
}

// Each as long as it is not too far ahead of the others.
void System::run_turns(std::vector<Lane>& lanes, const std::vector<Lane*>& of_thread,
                       Tick quantum, Tick until) {
    Turns turns(threads_.size());
    auto is_over = [&](const Lane& lane, Tick end) {
        return lane.stream->position == lane.stream->count || lane.thread->time >= end;
    };
    for (Lane& lane : lanes)
        if (!is_over(lane, until)) turns.set(lane.thread->id, lane.thread->time);
    while (!turns.empty()) {
        advance_channels(turns.first().time, quantum);
        Lane& lane = *of_thread[turns.first().actor];
        const Tick end = std::min({turns.end_of_turn(quantum), next_window_, until});
        while (!is_over(lane, end)) {
            find_hits(lane, end);
            do_hits(lane);
            if (lane.hard) run_one(*lane.stream, *lane.thread);
        }
        if (is_over(lane, until))
            turns.remove(lane.thread->id);
        else
            turns.set(lane.thread->id, lane.thread->time);
    }
}

}  // namespace gnomon::machine
