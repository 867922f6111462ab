// What travels in a fabric, and what waits there. The unit of time is one symbol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::fabric {

using Time = int64_t;
constexpr Time never = INT64_MAX / 4;
constexpr uint32_t nobody = ~uint32_t{0};
constexpr int echo_symbols = 4, sync_symbols = 8;
constexpr uint8_t type_request_echo = 9, type_response_echo = 18, type_sync = 20;
constexpr uint8_t types = 37;       // packet types are 1 to 36
constexpr uint8_t blink_types = 20;  // a send of type t is of type t + 20 on the Blink
constexpr int request = 0, response = 1, classes = 2;
// Reads, writes and messages are limited apart by the adapter; what is limited by nothing is last.
constexpr int categories = 4;

enum class Kind : uint8_t { send, echo, sync, go };

// The label of a send, or what an echo says of it: retry under this label, or done.
enum Phase : uint8_t { fresh, label_a, label_b, done };

// On a link: the head of a packet, or the first go idle of a gap.
struct Event {
    Time time;
    uint32_t packet;
    int32_t to;  // the controller that strips it
    uint16_t length;
    Kind kind;
    uint8_t status;
};

// A send, from one controller of a ring to another one of the same ring.
struct Packet {
    Time born = 0;            // of this packet, at its source
    Time begun = 0;           // of its transaction
    Time queued = 0;          // in its first queue of this ring: the order of retries
    Time ready = 0;           // from when it may be sent
    Time made = -1;           // with `by`: the order of equal ready times
    Time started = -1;
    uint64_t address = 0;
    uint64_t busied_at = 0;   // how many others the receiver had accepted at the first busy
    int32_t by = -1;
    uint32_t from = 0, to = 0;  // controllers
    uint16_t source = 0, target = 0;  // nodes
    uint16_t length = 0;
    uint8_t type = 0, answer = 0;  // answer: type of the response, 0 for none
    uint8_t category = 0, transaction = 0, phase = fresh, feeder = 0, retried = 0;
    int group() const { return type >= type_request_echo ? response : request; }
};

// A queue that keeps its memory: cheaper than std::deque where events come and go all the time.
template <typename T>
class Fifo {
  public:
    void push(const T& each) {
        if (size_ == slots_.size()) grow();
        slots_[(head_ + size_++) & (slots_.size() - 1)] = each;
    }
    T& front() { return slots_[head_]; }
    const T& front() const { return slots_[head_]; }
    void pop() {
        head_ = (head_ + 1) & (slots_.size() - 1);
        --size_;
    }
    T& operator[](size_t at) { return slots_[(head_ + at) & (slots_.size() - 1)]; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    // Puts one before that at `at`.
    void insert(size_t at, const T& each) {
        push(each);
        for (size_t i = size_ - 1; i > at; --i) (*this)[i] = (*this)[i - 1];
        (*this)[at] = each;
    }

  private:
    void grow() {
        std::vector<T> more(2 * slots_.size());
        for (size_t i = 0; i < size_; ++i) more[i] = (*this)[i];
        slots_.swap(more);
        head_ = 0;
    }
    std::vector<T> slots_ = std::vector<T>(8);
    size_t head_ = 0, size_ = 0;
};

// Places of an output queue that one feeder may use: a controller of the same node, or the host.
// What leaves the queue gives its place back over the Blink.
struct Places {
    uint32_t free = 0;
    Fifo<Time> back;

    bool any(Time now) {
        while (!back.empty() && back.front() <= now) {
            back.pop();
            ++free;
        }
        return free > 0;
    }
};

}  // namespace gnomon::fabric
