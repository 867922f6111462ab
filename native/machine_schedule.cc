// Threads that work through arrays of references take turns in simulated time.
#include "machine_step.hh"
#include "machine_turns.hh"

namespace gnomon::machine {

// Lets a stream run while it is before `end`.
void System::run_turn(Stream& stream, Tick end) {
    Thread& thread = threads_[stream.thread];
    const uint32_t line_bytes = cores_[thread.core].data.front().spec.line_bytes;
    size_t at = stream.position;
    for (; at < stream.count && thread.time < end; ++at) {
        const uint64_t address = stream.addresses[at];
        const uint8_t operation = stream.operations ? stream.operations[at] : 0;
        const auto kind = static_cast<Kind>(operation & kind_mask);
        const bool dependent = operation & dependent_bit;
        if (stream.gaps) thread.time += stream.gaps[at] * ticks_per_cycle;
        if (stream.sizes && (address % line_bytes) + stream.sizes[at] > line_bytes)
            access_lines(thread, address, stream.sizes[at], kind, dependent);
        else
            step(thread, address, kind, dependent);
    }
    stream.position = at;
}

void System::advance_channels(Tick now, Tick quantum) {
    if (now < next_window_) return;
    next_window_ = never;
    for (Channel& channel : channels_)
        next_window_ = std::min(next_window_, channel.advance(now, 16 * quantum));
}

void System::run(std::vector<Stream>& streams, Tick quantum, Tick until) {
    Turns turns(threads_.size());
    std::vector<Stream*> of_thread(threads_.size(), nullptr);
    auto arrange = [&](const Stream& stream) {
        const Tick time = threads_[stream.thread].time;
        if (stream.position < stream.count && time < until)
            turns.set(stream.thread, time);
        else
            turns.remove(stream.thread);
    };
    for (Stream& stream : streams) {
        of_thread[stream.thread] = &stream;
        arrange(stream);
    }
    while (!turns.empty()) {
        advance_channels(turns.first().time, quantum);
        Stream& stream = *of_thread[turns.first().actor];
        run_turn(stream, std::min({turns.end_of_turn(quantum), next_window_, until}));
        arrange(stream);
    }
}

}  // namespace gnomon::machine
