// Something with a limited rate that several threads share: a direction of a link, or a
// memory controller.
//
// Time is cut into slots, each with a contingent of bytes that is reduced on use (Sterz 1.3);
// what finds no room in its slot waits for a later one. A calendar rather than a queue,
// because threads may book slightly out of order when they run a quantum ahead of each other.
//
// A calendar alone serves whoever asks most. Once it is full, each thread (flow) is therefore
// paced at the max-min fair share, found anew in every window: what flows leave unused that
// want less than their share is divided among the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine/types.hh"

namespace gnomon::machine {

class Channel {
  public:
    static constexpr int64_t slot_bytes = 1024;
    static constexpr int64_t slots = 4096;
    static constexpr int64_t window_slots = 64;

    Channel(Tick slot_ticks, size_t flows)
        : slot_ticks_(slot_ticks), calendar_(slots), flows_(flows) {}

    // Books bytes of a flow that arrive at `now`; returns how long they wait.
    Tick send(uint32_t flow, Tick now, int64_t bytes);
    // Ends the windows that are over and returns when the next one will be; no thread is
    // earlier than `now`. Windows follow each other without gaps, whenever this is called.
    Tick advance(Tick now, Tick window);
    // How far ahead of each other two threads may book.
    Tick span() const { return slots / 4 * slot_ticks_; }
    Tick slot_ticks() const { return slot_ticks_; }

  private:
    static constexpr uint32_t nobody = ~uint32_t{0};
    static constexpr uint32_t several = nobody - 1;
    struct Slot {
        int64_t number = -1;
        int64_t used = 0;
        uint32_t flow = nobody;  // who uses it
    };
    struct Flow {
        Tick next = 0;     // earliest time of its next transfer when paced
        int64_t used = 0;  // bytes in this window
        int64_t held = 0;  // of these, bytes that had to wait
    };
    Slot& slot(int64_t number) {
        Slot& found = calendar_[static_cast<size_t>(number & (slots - 1))];
        if (found.number != number) found = {number, 0, nobody};
        return found;
    }
    // The load that a flow meets: nobody waits for what it sent itself.
    int64_t load_before(int64_t number, uint32_t flow) const {
        const Slot& found = calendar_[static_cast<size_t>((number - 1) & (slots - 1))];
        return found.number == number - 1 && found.flow != flow ? found.used : 0;
    }
    void book(int64_t number, uint32_t id, int64_t bytes, int64_t limit);
    void end_window(Tick elapsed);
    int64_t fair_share(int64_t capacity, int64_t hungry);

    Tick slot_ticks_;
    std::vector<Slot> calendar_;
    std::vector<Flow> flows_;
    std::vector<int64_t> modest_;  // bytes of the flows that want no more, kept for its memory
    Tick pace_ = 0;  // ticks for slot_bytes of one flow, 0 when none is paced
    Tick window_start_ = 0;
};

}  // namespace gnomon::machine
