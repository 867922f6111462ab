// What will happen, in the order of time; what happens at one moment keeps the order in which it
// was planned, so that a run depends on nothing but its seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gnomon::messages {

enum class Kind : uint64_t { completion, arrival, delivery, wake, poll, quantum };

// Small, since the queue moves them about: the kind is in the lowest bits of the order.
struct Event {
    static constexpr int kind_bits = 3;

    int64_t time;
    uint64_t order;
    uint32_t subject;
    uint32_t version;

    Kind kind() const { return static_cast<Kind>(order & ((1u << kind_bits) - 1)); }

    // Without a branch: which of two events comes first is anybody's guess.
    bool before(const Event& other) const {
        return (time < other.time) | ((time == other.time) & (order < other.order));
    }
};

// A heap of four children a node: half as deep as one of two, and siblings share cache lines.
class EventQueue {
public:
    bool empty() const { return events_.empty(); }
    const Event& first() const { return events_.front(); }

    void plan(int64_t time, Kind kind, uint32_t subject, uint32_t version = 0) {
        const uint64_t order = planned_++ << Event::kind_bits | static_cast<uint64_t>(kind);
        const Event event{time, order, subject, version};
        events_.push_back(event);
        rise(events_.size() - 1, event);
    }

    Event take() {
        const Event taken = events_.front();
        const Event last = events_.back();
        events_.pop_back();
        if (!events_.empty()) sink(last);
        return taken;
    }

private:
    // The gap at the top goes all the way down, then what was last comes up to its place: it
    // belongs near the bottom most of the time, so that nothing is compared with it on the way.
    void sink(const Event& event) {
        const size_t count = events_.size();
        size_t at = 0;
        for (size_t first = 1; first < count; first = 4 * at + 1) {
            size_t least = first;
            if (first + 4 <= count) {
                const size_t left = first + events_[first + 1].before(events_[first]);
                const size_t right = first + 2 + events_[first + 3].before(events_[first + 2]);
                least = events_[right].before(events_[left]) ? right : left;
            } else {
                for (size_t child = first + 1; child < count; ++child)
                    if (events_[child].before(events_[least])) least = child;
            }
            events_[at] = events_[least];
            at = least;
        }
        rise(at, event);
    }

    void rise(size_t at, const Event& event) {
        while (at > 0) {
            const size_t parent = (at - 1) / 4;
            if (!event.before(events_[parent])) break;
            events_[at] = events_[parent];
            at = parent;
        }
        events_[at] = event;
    }

    std::vector<Event> events_;
    uint64_t planned_ = 0;
};

}  // namespace gnomon::messages
