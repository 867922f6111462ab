// A set-associative array of lines: finding, replacing and marking them, and nothing else.
// Caches of all levels and translation buffers are made of it.
//
// A set of up to 16 ways is searched by one byte a way, all at once, and its order of use is a
// word: so the memory of the host that most searches touch is small. Wider sets, as those of
// translation buffers, are searched way by way, with hints.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "machine/types.hh"

namespace gnomon::machine {

namespace flag {
constexpr uint8_t dirty = 1;       // newer than the level below
constexpr uint8_t writable = 2;    // no other core holds it: MESI's E, or M when dirty
constexpr uint8_t prefetched = 4;  // not asked for yet
}  // namespace flag

class Cache {
  public:
    static constexpr uint64_t no_line = ~uint64_t{0};
    static constexpr size_t none = ~size_t{0};

    Cache(uint64_t sets, uint32_t ways, Replacement replacement, uint64_t seed);

    // Where a line is, or `none`. Does not count as a use.
    size_t find(uint64_t line) const {
        if (line == recent_line_) return recent_slot_;
        if (!narrow_) return find_wide(line);
        const uint64_t set = set_of(line);
        const uint64_t* tags = tags_.data() + set * ways_;
        uint32_t maybe = heads_[set].with(mark_of(line)) & way_bits_;
        for (; maybe; maybe &= maybe - 1) {
            const auto way = static_cast<size_t>(std::countr_zero(maybe));
            if (tags[way] == line) return set * ways_ + way;
        }
        return none;
    }

    // The same for a line that is there for sure: mostly without a look at the lines.
    size_t find_present(uint64_t line) const {
        if (!narrow_ || line == recent_line_) return find(line);
        const uint64_t set = set_of(line);
        const uint32_t maybe = heads_[set].with(mark_of(line)) & way_bits_;
        if (maybe & (maybe - 1)) return find(line);
        return set * ways_ + static_cast<size_t>(std::countr_zero(maybe));
    }

    // Makes the slot of a line the most recently used of its set.
    void touch(size_t slot, uint64_t line) {
        if (slot != recent_slot_) use(slot, line);
    }

    // The slot that a new line would take: an empty one, else that of the victim. Draws a
    // random number or moves the pointer, so it is to be asked once a replacement.
    size_t choose(uint64_t line) {
        const uint64_t set = set_of(line);
        if (ordered_) return set * ways_ + heads_[set].last(ways_);
        return replacement_ == Replacement::lru ? choose_oldest(set) : choose_other(set);
    }
    // Puts a line into a slot, in place of what may be there.
    void put(size_t slot, uint64_t line, uint8_t flags) {
        if (replacement_ == Replacement::nru) forget_used(slot);
        tags_[slot] = line;
        flags_[slot] = flags;
        if (narrow_) {
            const size_t set = set_at(slot);
            heads_[set].marks[slot - set * ways_] = mark_of(line);
        }
        use(slot, line);
    }
    void clear(size_t slot);

    uint64_t line_at(size_t slot) const { return tags_[slot]; }
    uint8_t& flags(size_t slot) { return flags_[slot]; }
    uint64_t sets() const { return sets_; }
    uint32_t ways() const { return ways_; }
    size_t slots() const { return tags_.size(); }
    // The line used last, without any search; the caller compares it.
    uint64_t recent_line() const { return recent_line_; }
    size_t recent_slot() const { return recent_slot_; }
    // The line that would leave for this one, if that is easily known.
    uint64_t victim_of(uint64_t line) const {
        if (!ordered_) return no_line;
        const uint64_t set = set_of(line);
        return tags_[set * ways_ + heads_[set].last(ways_)];
    }
    // Asks the host for what a search of this line will touch.
    void expect(uint64_t line) const {
        if (narrow_) __builtin_prefetch(&heads_[set_of(line)], 1);
    }

  private:
    static constexpr uint64_t hint_mask = 1023;
    static constexpr uint32_t narrow_ways = 16;

    // What is known of a narrow set beside its lines.
    struct alignas(32) Head {
        static constexpr uint64_t each = 0x1111111111111111;
        std::array<uint8_t, narrow_ways> marks{};  // of the line in each way; most differ
        uint64_t order = 0xFEDCBA9876543210;       // ways, the one used last in the lowest bits

        uint32_t with(uint8_t mark) const {
#if defined(__SSE2__)
            const __m128i all = _mm_load_si128(reinterpret_cast<const __m128i*>(marks.data()));
            const __m128i equal = _mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(mark)));
            return static_cast<uint32_t>(_mm_movemask_epi8(equal));
#else
            uint32_t found = 0;
            for (uint32_t way = 0; way < narrow_ways; ++way)
                found |= static_cast<uint32_t>(marks[way] == mark) << way;
            return found;
#endif
        }
        uint64_t last(uint32_t ways) const { return order >> (4 * (ways - 1)) & 15; }
        // The lowest bits of the order, up to and including a way.
        uint64_t up_to(uint64_t way) const {
            const uint64_t differing = order ^ (way * each);
            const uint64_t equal = (differing - each) & ~differing & (each << 3);
            return equal ^ (equal - 1);
        }
        void to_front(uint64_t way) {
            const uint64_t moving = up_to(way);
            order = (order & ~moving) | (order << 4 & moving) | way;
        }
        void to_back(uint64_t way, uint32_t ways) {
            const uint64_t staying = up_to(way) >> 4;
            const uint64_t all = ~uint64_t{0} >> (64 - 4 * ways);
            order = (order & (staying | ~all)) | (order >> 4 & all & ~staying & all >> 4) |
                    way << (4 * (ways - 1));
        }
    };

    size_t find_wide(uint64_t line) const;
    size_t choose_oldest(uint64_t set) const;
    size_t choose_other(uint64_t set);
    uint64_t set_of(uint64_t line) const { return mask_ ? line & mask_ : line % sets_; }
    // Which set a slot belongs to; a division takes long.
    size_t set_at(size_t slot) const { return way_shift_ ? slot >> way_shift_ : slot / ways_; }
    static uint8_t mark_of(uint64_t line) {
        return static_cast<uint8_t>(line * 0x9E3779B97F4A7C15u >> 56);
    }

    void use(size_t slot, uint64_t line) {
        recent_slot_ = slot;
        recent_line_ = line;
        if (ordered_) {
            const size_t set = set_at(slot);
            heads_[set].to_front(slot - set * ways_);
        } else {
            use_otherwise(slot);
        }
    }
    void use_otherwise(size_t slot) {
        if (replacement_ == Replacement::lru)
            stamps_[slot] = ++clock_;
        else if (replacement_ == Replacement::nru)
            mark_used(slot);
        if (!narrow_) hints_[recent_line_ & hint_mask] = static_cast<uint32_t>(slot);
    }
    // When all lines of a set have been used, only the latest counts as such.
    void mark_used(size_t slot) {
        if (used_[slot]) return;
        used_[slot] = 1;
        const size_t set = set_at(slot);
        if (++used_count_[set] < ways_) return;
        for (size_t each = set * ways_; each < (set + 1) * ways_; ++each) used_[each] = 0;
        used_[slot] = 1;
        used_count_[set] = 1;
    }
    void forget_used(size_t slot) {
        used_count_[set_at(slot)] -= used_[slot];
        used_[slot] = 0;
    }

    uint64_t recent_line_ = no_line;
    size_t recent_slot_ = none;
    uint64_t mask_;
    uint32_t ways_;
    uint32_t way_shift_;  // 0: the ways are no power of two
    uint32_t way_bits_;   // of narrow sets
    bool narrow_;         // there are heads
    bool ordered_;        // they keep the order of use
    Replacement replacement_;
    uint64_t sets_;
    std::vector<uint64_t> tags_;
    std::vector<Head> heads_;
    std::vector<uint8_t> flags_;
    std::vector<uint64_t> stamps_;  // wide LRU: when a slot was used last, 0 for an empty one
    std::vector<uint8_t> used_;     // NRU: whether a slot was used lately
    std::vector<uint32_t> used_count_;
    uint64_t clock_ = 0;
    uint32_t pointer_ = 0;
    Random random_;
    // Searching a hundred ways is slow: remember where a line was seen last.
    std::vector<uint32_t> hints_;
};

}  // namespace gnomon::machine
