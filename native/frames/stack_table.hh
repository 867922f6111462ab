// Frames and stacks, each kept once and known by a number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "frames/module.hh"

namespace gnomon::frames {

// How a frame was found; of a whole stack, what is found after a weaker step is as weak.
enum class Quality : uint8_t {
    cfi,            // by unwind tables, or sampled itself
    frame_pointer,  // by a chain of frame pointers or a saved return address, checked to follow a call
    scan,           // the nearest word of the stack that follows a call: a guess
    python,         // a function of Python, read from the interpreter
};

struct Frame {
    uint64_t address = 0;  // in the file's own addresses; of Python: function << 32 | line
    uint32_t module = 0;
    Quality quality = Quality::cfi;
    bool exact = true;     // the next instruction itself, not the one after a call

    bool operator==(const Frame&) const = default;
};

constexpr uint32_t python_module = 0xfffffffe;

// A hash table of numbers of things that are kept elsewhere.
class Numbers {
  public:
    // The number of an equal thing, or `next` for a new one.
    template <typename Equal>
    uint32_t find_or_add(uint64_t hash, uint32_t next, Equal equal) {
        if (2 * used_ >= slots_.size()) grow();
        const size_t mask = slots_.size() - 1;
        size_t i = spread(hash) & mask;
        while (slots_[i].number != no_id) {
            if (slots_[i].hash == hash && equal(slots_[i].number)) return slots_[i].number;
            i = (i + 1) & mask;
        }
        slots_[i] = {hash, next};
        ++used_;
        return next;
    }
    size_t memory() const { return slots_.size() * sizeof(Slot); }

  private:
    struct Slot {
        uint64_t hash = 0;
        uint32_t number = no_id;
    };
    static size_t spread(uint64_t hash) {
        return static_cast<size_t>((hash * 0x9e3779b97f4a7c15ull) >> 32);
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 256 : 2 * slots_.size());
        old.swap(slots_);
        const size_t mask = slots_.size() - 1;
        for (const Slot& each : old) {
            if (each.number == no_id) continue;
            size_t i = spread(each.hash) & mask;
            while (slots_[i].number != no_id) i = (i + 1) & mask;
            slots_[i] = each;
        }
    }
    std::vector<Slot> slots_;
    size_t used_ = 0;
};

class StackTable {
  public:
    uint32_t frame(const Frame& frame) {
        const uint64_t hash = (frame.address ^ uint64_t{frame.module} << 40) * 0x9e3779b97f4a7c15ull +
                              static_cast<uint64_t>(frame.quality) * 2 + frame.exact;
        const auto next = static_cast<uint32_t>(frames_.size());
        const uint32_t number = frame_numbers_.find_or_add(
            hash, next, [&](uint32_t other) { return frames_[other] == frame; });
        if (number == next) frames_.push_back(frame);
        return number;
    }

    // Leaf first.
    uint32_t stack(std::span<const uint32_t> frames) {
        uint64_t hash = frames.size();
        for (uint32_t each : frames) hash = (hash ^ each) * 0x9e3779b97f4a7c15ull + (hash >> 29);
        const auto next = static_cast<uint32_t>(ends_.size());
        const uint32_t number = stack_numbers_.find_or_add(hash, next, [&](uint32_t other) {
            const auto kept = frames_of(other);
            return kept.size() == frames.size() &&
                   std::equal(kept.begin(), kept.end(), frames.begin());
        });
        if (number == next) {
            parts_.insert(parts_.end(), frames.begin(), frames.end());
            ends_.push_back(parts_.size());
        }
        return number;
    }

    std::span<const uint32_t> frames_of(uint32_t stack) const {
        const size_t start = stack ? ends_[stack - 1] : 0;
        return std::span<const uint32_t>(parts_).subspan(start, ends_[stack] - start);
    }
    const std::vector<Frame>& frames() const { return frames_; }
    size_t stacks() const { return ends_.size(); }
    size_t memory() const {
        return frames_.capacity() * sizeof(Frame) + parts_.capacity() * sizeof(uint32_t) +
               ends_.capacity() * sizeof(size_t) + frame_numbers_.memory() +
               stack_numbers_.memory();
    }

  private:
    std::vector<Frame> frames_;
    std::vector<uint32_t> parts_;
    std::vector<size_t> ends_;
    Numbers frame_numbers_, stack_numbers_;
};

}  // namespace gnomon::frames
