// Who wants to know of references that leave their node, as a locality monitor does.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "machine/types.hh"

namespace gnomon::machine {

struct RemoteReference {
    uint32_t thread;    // of the hardware
    uint32_t task;      // the software thread on it
    uint32_t node;      // that asks
    uint32_t supplier;  // that answers
    uint32_t home;      // where the page is
    uint64_t address;
    Kind kind;
    Place place;  // remote_cache or remote_memory
    uint32_t bytes;  // that crossed the links: a line, or a word where nothing is cached
    uint32_t size;   // bytes that the program asked for, as far as they are in one line
    Tick time;       // of the issue
};

class Monitor {
  public:
    virtual ~Monitor() = default;
    virtual void remote(const RemoteReference& reference) = 0;
    // Whether it is told of what the memory of the same node answers, too.
    virtual bool sees_local_memory() const { return false; }
};

// Keeps every load and store that it is told of, in order, until they are taken.
class StreamMonitor final : public Monitor {
  public:
    struct Row {
        int64_t time;  // ticks
        uint64_t address;
        uint32_t size;
        uint32_t task;
        uint16_t node;
        uint16_t home;
        uint8_t write;
        uint8_t place;
        uint16_t spare;
    };
    static_assert(sizeof(Row) == 32);

    explicit StreamMonitor(bool local_memory) : local_memory_(local_memory) {}
    bool sees_local_memory() const override { return local_memory_; }
    void remote(const RemoteReference& r) override {
        // Code is not what a program decides to put somewhere.
        if (r.kind == Kind::fetch) return;
        rows_.push_back({r.time, r.address, r.size, r.task, static_cast<uint16_t>(r.node),
                         static_cast<uint16_t>(r.home),
                         static_cast<uint8_t>(r.kind == Kind::store),
                         static_cast<uint8_t>(r.place), 0});
    }
    std::vector<Row>& rows() { return rows_; }

  private:
    bool local_memory_;
    std::vector<Row> rows_;
};

// Counts remote references a page, node that asks and kind: the truth for other monitors.
class PageMonitor final : public Monitor {
  public:
    struct Key {
        uint64_t page;
        uint32_t node;
        Kind kind;
        bool operator==(const Key&) const = default;
    };
    explicit PageMonitor(uint64_t page_bytes) : page_bytes_(page_bytes) {}
    void remote(const RemoteReference& reference) override {
        const Key key{reference.address / page_bytes_, reference.node, reference.kind};
        // References come in runs within a page.
        if (!recent_ || !(key == recent_key_)) {
            recent_key_ = key;
            recent_ = &counts_[key];
        }
        ++*recent_;
    }
    struct Hash {
        size_t operator()(const Key& key) const {
            const uint64_t mixed = key.page * 0x9E3779B97F4A7C15u +
                                   key.node * 0xD6E8FEB86659FD93u +
                                   static_cast<uint64_t>(key.kind) * 0xA0761D6478BD642Fu;
            return mixed ^ (mixed >> 29);
        }
    };
    using Table = std::unordered_map<Key, uint64_t, Hash>;
    const Table& counts() const { return counts_; }

  private:
    uint64_t page_bytes_;
    Table counts_;  // its elements do not move
    Key recent_key_{};
    uint64_t* recent_ = nullptr;
};

}  // namespace gnomon::machine
