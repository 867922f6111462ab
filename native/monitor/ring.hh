// Flush records and the ring buffer that they go through.
#pragma once

#include <cstdint>
#include <vector>

namespace gnomon::monitor {

// What crosses the bus: 46 bits of the first word, 34 of the number of words less one, and two
// counters of 24 bits.
struct Record {
    static constexpr uint32_t most = (1u << 24) - 1;
    static constexpr uint32_t length_low_bits = 18;
    static constexpr uint64_t most_words = uint64_t{1} << 34;

    uint64_t tag;
    uint64_t counts;

    static Record of(uint64_t first, uint64_t words, uint32_t count, uint32_t writes) {
        const uint64_t length = words - 1;
        return {first << length_low_bits | (length & ((1u << length_low_bits) - 1)),
                length >> length_low_bits << 48 | uint64_t{count} << 24 | writes};
    }
};
static_assert(sizeof(Record) == 16);

// A counter: accesses since `begin`, and how many of them wrote.
struct Tally {
    uint32_t count = 0, writes = 0;
    int64_t begin = 0;
};

// A record and, beside it, the time of its counter: of the simulation, not of the bus.
struct Stored {
    Record record;
    int64_t begin, end;
};

struct RingSetup {
    uint64_t records = 65536;
    int64_t empty_every = 0;  // ns; 0: only when the ring is full
    int64_t fetch_delay = 0;  // ns from the signal of a full ring until it is empty
};

// The ring in main memory. Software empties it in turns and when it is full; what is flushed
// into a full ring before that is lost, and counted.
class Ring {
  public:
    explicit Ring(const RingSetup& setup) : setup_(setup) {}

    void push(uint64_t first, uint64_t words, const Tally& tally, int64_t time) {
        if (time >= fetch_at_ || (setup_.empty_every > 0 && time >= empty_at_)) empty(time);
        ++pushed_;
        if (in_ring_ == setup_.records) {
            ++lost_;
            lost_accesses_ += tally.count;
            return;
        }
        store(first, words, tally, time);
        if (++in_ring_ > most_in_ring_) most_in_ring_ = in_ring_;
        if (in_ring_ < setup_.records) return;
        ++signals_;
        fetch_at_ = time + setup_.fetch_delay;
        if (setup_.fetch_delay == 0) empty(time);
    }
    // Software reads a counter itself.
    void store(uint64_t first, uint64_t words, const Tally& tally, int64_t time) {
        stored_.push_back({Record::of(first, words, tally.count, tally.writes), tally.begin, time});
    }

    const std::vector<Stored>& stored() const { return stored_; }
    void forget() { stored_.clear(); }
    uint64_t pushed() const { return pushed_; }
    uint64_t signals() const { return signals_; }
    uint64_t lost() const { return lost_; }
    uint64_t lost_accesses() const { return lost_accesses_; }
    uint64_t most_in_ring() const { return most_in_ring_; }

  private:
    static constexpr int64_t never = INT64_MAX;

    void empty(int64_t time) {
        in_ring_ = 0;
        fetch_at_ = never;
        if (setup_.empty_every > 0)
            empty_at_ = time / setup_.empty_every * setup_.empty_every + setup_.empty_every;
    }

    RingSetup setup_;
    uint64_t in_ring_ = 0, most_in_ring_ = 0;
    int64_t fetch_at_ = never;
    int64_t empty_at_ = 0;
    std::vector<Stored> stored_;
    uint64_t pushed_ = 0, signals_ = 0, lost_ = 0, lost_accesses_ = 0;
};

}  // namespace gnomon::monitor
