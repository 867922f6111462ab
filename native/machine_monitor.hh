// Who wants to know of references that leave their node, as a locality monitor does.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "machine_types.hh"

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
};

class Monitor {
  public:
    virtual ~Monitor() = default;
    virtual void remote(const RemoteReference& reference) = 0;
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
