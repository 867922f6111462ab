// Messages that wait to be received, found at once by what the receiver asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::messages {

constexpr uint32_t nobody = UINT32_MAX;

struct Message {
    int64_t number = 0;  // in the order of sending, from 1
    int64_t sent = 0;
    int64_t bytes = 0;
    int64_t tag = 0;
    int64_t user = 0;
    uint32_t to = nobody;     // mailboxes
    uint32_t reply = nobody;
    uint32_t source = nobody;
    uint32_t next = nobody;   // in its queue, or among those free
};

// Messages live in one place and are known by number.
class Messages {
public:
    Message& operator[](uint32_t number) { return all_[number]; }

    uint32_t make() {
        if (free_ == nobody) {
            all_.emplace_back();
            return static_cast<uint32_t>(all_.size() - 1);
        }
        const uint32_t number = free_;
        free_ = all_[number].next;
        all_[number] = Message{};
        return number;
    }

    void drop(uint32_t number) {
        all_[number].next = free_;
        free_ = number;
    }

private:
    std::vector<Message> all_;
    uint32_t free_ = nobody;
};

enum class Matching : uint8_t { any, tag, source_and_tag };

struct Queue {
    uint32_t first = nobody;
    uint32_t last = nobody;
};

// Queues by their key, in one block of memory: one that was asked for stays, empty or not.
class Queues {
public:
    Queue& of(uint64_t key) {
        if (2 * used_ >= slots_.size()) grow();
        Slot& slot = slots_[place_of(key)];
        if (slot.key == no_key) {
            slot.key = key;
            ++used_;
        }
        return slot.queue;
    }

private:
    static constexpr uint64_t no_key = UINT64_MAX;  // sources and tags are never that large

    struct Slot {
        uint64_t key = no_key;
        Queue queue{};
    };

    size_t place_of(uint64_t key) const {
        const size_t mask = slots_.size() - 1;
        // Sources that follow each other lie side by side, as programs ask for them.
        size_t at = ((key >> 32) + static_cast<uint32_t>(key) * 0x9E3779B1u) & mask;
        while (slots_[at].key != no_key && slots_[at].key != key) at = (at + 1) & mask;
        return at;
    }

    void grow() {
        std::vector<Slot> before(slots_.empty() ? 8 : 2 * slots_.size());
        before.swap(slots_);
        for (const Slot& slot : before)
            if (slot.key != no_key) slots_[place_of(slot.key)] = slot;
    }

    std::vector<Slot> slots_;
    size_t used_ = 0;
};

class Mailbox {
public:
    Mailbox(uint32_t node, Matching matching) : node(node), matching_(matching) {}

    uint64_t key(uint32_t source, int64_t tag) const {
        switch (matching_) {
            case Matching::any: return 0;
            case Matching::tag: return static_cast<uint64_t>(tag);
            default: return (static_cast<uint64_t>(source) << 32) ^ static_cast<uint64_t>(tag);
        }
    }

    void put(uint32_t number, Messages& messages) {
        Message& message = messages[number];
        message.next = nobody;
        Queue& queue = queue_of(key(message.source, message.tag));
        (queue.first == nobody ? queue.first : messages[queue.last].next) = number;
        queue.last = number;
        ++waiting_messages;
    }

    bool has(uint64_t key) { return queue_of(key).first != nobody; }

    // The number of the first message of this key, or `nobody`.
    uint32_t take(uint64_t key, Messages& messages) {
        Queue& queue = queue_of(key);
        const uint32_t number = queue.first;
        if (number != nobody) {
            queue.first = messages[number].next;
            --waiting_messages;
        }
        return number;
    }

    const uint32_t node;
    std::vector<uint32_t> waiters;  // threads, those that came first at the front
    bool interrupts = false;
    int64_t waiting_messages = 0;

private:
    Queue& queue_of(uint64_t key) { return matching_ == Matching::any ? only_ : queues_.of(key); }

    Matching matching_;
    Queue only_;
    Queues queues_;
};

}  // namespace gnomon::messages
