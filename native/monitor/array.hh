// The counter array of the SMiLE monitor: few counters that follow the accesses to memory.
//
// A counter's tag is a range of words within a page (Hockauf et al., section 3.3). An access
// within a range increments its counter; one next to a range extends it; any other gets a
// counter of its own, and the one that was used least recently is flushed to a ring buffer.
// The hybrid scheme has, beside them, counters that many pages share (monitor/shared.hh), and
// its ranges may follow a stream from page to page (monitor/streams.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "monitor/ring.hh"
#include "monitor/shared.hh"

namespace gnomon::monitor {

struct Setup {
    uint32_t counters = 16;
    uint32_t shared = 0;       // counters of many pages among them; 0 is the plain scheme
    uint64_t range_words = 1;  // that one tag may name
    uint64_t gap_words = 0;    // between an access and a range that it still extends
    uint64_t gap_pages = 0;    // the same for shared counters
    uint32_t page_shift = 12;
    uint32_t count_limit = Record::most;
    RingSetup ring;
    std::vector<std::pair<uint64_t, uint64_t>> fixed;  // static counters: [start, end), sorted
};

struct Fixed {
    uint64_t start, end;
    uint64_t count = 0, writes = 0;
};

class CounterArray {
  public:
    explicit CounterArray(const Setup& setup);

    void count(const int64_t* time, const uint64_t* address, const uint32_t* size,
               const uint8_t* write, size_t accesses) {
        for (size_t i = 0; i < accesses; ++i) one(time[i], address[i], size[i], write[i] != 0);
    }
    void one(int64_t time, uint64_t address, uint32_t size, bool write);
    // Reads what is left in the counters, as software does at the end: no record is lost here.
    void finish(int64_t time);

    Ring& ring() { return ring_; }
    const std::vector<Fixed>& fixed() const { return fixed_; }
    uint64_t accesses() const { return accesses_; }
    uint64_t fixed_accesses() const { return fixed_accesses_; }
    uint64_t extensions() const { return extensions_; }
    uint64_t at_end() const { return at_end_; }

  private:
    static constexpr uint32_t none = ~uint32_t{0};
    // As long as an epoch is, what was accessed is hot; then it begins to be forgotten.
    static constexpr uint64_t epoch_accesses = 64;  // a counter

    struct Counter {
        uint64_t first = 1, last = 0;  // words, both within
        uint64_t page = 0;
        Tally tally;
        uint64_t heat = 0;
        bool stream = false;  // has left its page: in `streams_`, not in a bucket
        uint32_t newer = none, older = none;          // in order of use
        uint32_t chain_next = none, chain_back = none;  // of a bucket, in the same order
    };

    bool counted_as_fixed(uint64_t address, bool write);
    void add(Counter& counter, int64_t time, bool write);
    void use(uint32_t index);
    void unlink(uint32_t index);
    void link(uint32_t index);
    void unchain(uint32_t index);
    void chain(uint32_t index);
    void begin(uint32_t index, uint64_t page, uint64_t first, uint64_t last, int64_t time,
               bool write);
    void leave(uint32_t index);
    void admit(uint64_t page, uint64_t first, uint64_t last, int64_t time, bool write);
    uint32_t coldest();
    void end_epoch(int64_t time);
    // Of streams: the counter that has the access after this, `none` if it is in no stream.
    uint32_t in_stream(uint64_t first, uint64_t last, int64_t time);
    uint32_t begun_stream(uint64_t page, uint64_t first, uint64_t last, int64_t time);
    uint32_t over_border(uint64_t page, bool upwards) const;
    bool follows(uint64_t before, uint64_t after) const;
    bool fits(const Counter& counter, uint64_t first, uint64_t last) const;
    size_t stream_after(uint64_t word) const;
    void grow_stream(uint32_t index, uint64_t first, uint64_t last, int64_t time);
    void join(uint32_t into, uint32_t gone, int64_t time);
    uint64_t page_first(uint64_t page) const { return page << (setup_.page_shift - 2); }
    uint64_t page_last(uint64_t page) const { return page_first(page + 1) - 1; }
    uint32_t bucket(uint64_t page) const {
        return static_cast<uint32_t>(page * 0x9E3779B97F4A7C15u >> bucket_shift_);
    }

    Setup setup_;
    std::vector<Counter> counters_;
    std::vector<uint32_t> buckets_;
    uint32_t bucket_shift_;
    uint32_t used_ = 0;
    std::vector<uint32_t> free_;     // below `used_`
    bool follows_streams_;
    std::vector<uint32_t> streams_;  // by address; they do not overlap
    uint32_t newest_ = none, oldest_ = none;
    Ring ring_;
    Shared shared_;
    uint64_t epoch_;
    uint64_t until_epoch_;
    uint64_t least_heat_ = 0;  // no counter has less
    std::vector<Fixed> fixed_;
    uint64_t accesses_ = 0, fixed_accesses_ = 0, extensions_ = 0, at_end_ = 0;
};

}  // namespace gnomon::monitor
