// Who acts next: the earliest, of equal ones the one with the lowest number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "machine/types.hh"

namespace gnomon::machine {

constexpr Tick never = std::numeric_limits<Tick>::max();

// A binary heap of actors that can be moved and taken out by their number.
class Turns {
  public:
    struct Turn {
        Tick time;
        uint32_t actor;
        bool before(const Turn& other) const {
            return time != other.time ? time < other.time : actor < other.actor;
        }
    };

    explicit Turns(size_t actors) : place_(actors, absent) {}

    bool empty() const { return heap_.empty(); }
    const Turn& first() const { return heap_.front(); }
    bool holds(uint32_t actor) const { return place_[actor] != absent; }

    // Until when (not including it) the first may run: it must stop before the next one's turn,
    // or when it is a quantum ahead of it.
    Tick end_of_turn(Tick quantum) const {
        const Turn& mine = first();
        if (heap_.size() == 1) return quantum ? mine.time + quantum : never;
        const bool third = heap_.size() > 2 && heap_[2].before(heap_[1]);
        const Turn& next = heap_[third ? 2 : 1];
        return next.time + quantum + (quantum > 0 || mine.actor < next.actor);
    }

    // Lets an actor act at a time, in place of any other time.
    void set(uint32_t actor, Tick time) {
        uint32_t at = place_[actor];
        if (at == absent) {
            at = static_cast<uint32_t>(heap_.size());
            heap_.push_back({time, actor});
        } else {
            heap_[at].time = time;
        }
        down(up(at));
    }
    void remove(uint32_t actor) {
        const uint32_t at = place_[actor];
        if (at == absent) return;
        place_[actor] = absent;
        const Turn last = heap_.back();
        heap_.pop_back();
        if (at == heap_.size()) return;
        heap_[at] = last;
        down(up(at));
    }

  private:
    static constexpr uint32_t absent = ~uint32_t{0};

    uint32_t up(uint32_t at) {
        const Turn moved = heap_[at];
        while (at > 0 && moved.before(heap_[(at - 1) / 2])) {
            put(at, heap_[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        put(at, moved);
        return at;
    }
    void down(uint32_t at) {
        const Turn moved = heap_[at];
        const auto size = static_cast<uint32_t>(heap_.size());
        for (uint32_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
            child += child + 1 < size && heap_[child + 1].before(heap_[child]);
            if (!heap_[child].before(moved)) break;
            put(at, heap_[child]);
            at = child;
        }
        put(at, moved);
    }
    void put(uint32_t at, const Turn& turn) {
        heap_[at] = turn;
        place_[turn.actor] = at;
    }

    std::vector<Turn> heap_;
    std::vector<uint32_t> place_;
};

}  // namespace gnomon::machine
