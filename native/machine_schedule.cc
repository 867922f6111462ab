// Threads take turns in simulated time.
#include <algorithm>
#include <limits>

#include "machine_system.hh"

namespace gnomon::machine {

// The common case by itself: translated lately, in the first level, with the permission that
// is needed. Everything else goes the long way.
inline void System::step(Thread& thread, uint64_t address, uint8_t operation) {
    Core& core = cores_[thread.core];
    const auto kind = static_cast<Kind>(operation & kind_mask);
    const bool fetch = kind == Kind::fetch;
    Level& first = core.level(0, fetch);
    std::optional<Cache>& buffer = fetch ? core.itlb : core.dtlb;
    if (spec_.cache_remote) [[likely]] {
        const size_t entry = buffer ? buffer->find(memory_.page_of(address)) : 0;
        const size_t slot = first.cache.find(address >> first.shift);
        if (entry != Cache::none && slot != Cache::none) [[likely]] {
            uint8_t& flags = first.cache.flags(slot);
            const bool store = kind == Kind::store;
            const bool easy =
                store ? (flags & (flag::writable | flag::prefetched)) == flag::writable &&
                            first.spec.write == WritePolicy::back
                      : !(flags & flag::prefetched);
            if (easy) [[likely]] {
                if (buffer) buffer->touch(entry);
                first.cache.touch(slot);
                flags |= store ? flag::dirty : 0;
                thread_counts_.row(thread.id)[static_cast<size_t>(kind)] += 1;
                const bool waits = operation & dependent_bit || (spec_.blocking && !store);
                thread.time += waits ? level_latency(first, kind) : spec_.issue;
                return;
            }
        }
    }
    reference(thread, address, kind, operation & dependent_bit);
}

// Lets a stream run while it is before `limit`, or at it when that is allowed.
void System::run_turn(Stream& stream, Tick limit, bool inclusive) {
    Thread& thread = threads_[stream.thread];
    const Tick end = inclusive ? limit + 1 : limit;
    const uint32_t line_bytes = cores_[thread.core].data.front().spec.line_bytes;
    size_t at = stream.position;
    for (; at < stream.count && thread.time < end; ++at) {
        const uint64_t address = stream.addresses[at];
        const uint8_t operation = stream.operations ? stream.operations[at] : 0;
        if (stream.gaps) thread.time += stream.gaps[at] * ticks_per_cycle;
        if (stream.sizes && (address % line_bytes) + stream.sizes[at] > line_bytes)
            access_lines(stream.thread, address, stream.sizes[at],
                         static_cast<Kind>(operation & kind_mask), operation & dependent_bit);
        else
            step(thread, address, operation);
    }
    stream.position = at;
}

void System::advance_channels(Tick now, Tick quantum) {
    if (now < next_window_) return;
    Tick shortest = std::numeric_limits<Tick>::max();
    for (Channel& channel : channels_) {
        channel.advance(now, 16 * quantum);
        shortest = std::min(shortest, Channel::window_slots * channel.slot_ticks());
    }
    next_window_ = now + shortest;
}

void System::run(std::vector<Stream>& streams, Tick quantum, Tick until) {
    // The earliest first; of equal ones the lower thread.
    auto later = [this](const Stream* a, const Stream* b) {
        const Tick x = threads_[a->thread].time, y = threads_[b->thread].time;
        return x != y ? x > y : a->thread > b->thread;
    };
    auto waiting = [&](const Stream& stream) {
        return stream.position < stream.count && threads_[stream.thread].time < until;
    };
    std::vector<Stream*> heap;
    for (Stream& stream : streams)
        if (waiting(stream)) heap.push_back(&stream);
    std::make_heap(heap.begin(), heap.end(), later);
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), later);
        Stream& stream = *heap.back();
        heap.pop_back();
        const Tick now = threads_[stream.thread].time;
        advance_channels(now, quantum);
        if (heap.empty()) {
            // Alone: stop now and then, because channels have windows to close.
            run_turn(stream, std::min(until, std::max(next_window_, now + 1)), false);
        } else {
            const Stream& next = *heap.front();
            const Tick limit = threads_[next.thread].time + quantum;
            if (limit >= until)
                run_turn(stream, until, false);
            else
                run_turn(stream, limit, quantum > 0 || stream.thread < next.thread);
        }
        if (waiting(stream)) {
            heap.push_back(&stream);
            std::push_heap(heap.begin(), heap.end(), later);
        }
    }
}

}  // namespace gnomon::machine
