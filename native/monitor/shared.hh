// Counters that many seldom accessed pages share: our own addition to the counter array.
//
// Ranges of pages in order of address. A page that is in none extends the nearest one, or two
// neighbours become one, whichever leaves the smaller gap within (bounded gap merging). Each
// counter votes for the page that it sees most (as Space-Saving with one entry does), so that
// a page that deserves a counter of its own is found. A range that is accessed more than
// others is cut in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "monitor/ring.hh"

namespace gnomon::monitor {

class Shared {
  public:
    struct Span {
        uint64_t first, last;  // pages, both within
        Tally tally;
        uint64_t heat = 0;
        uint64_t candidate = 0;
        uint64_t votes = 0;
    };

    Shared(uint32_t counters, uint64_t gap_pages, uint32_t page_shift, uint32_t count_limit,
           Ring& ring)
        : counters_(counters),
          gap_(gap_pages),
          word_shift_(page_shift - 2),
          limit_(count_limit),
          ring_(ring) {}

    // The counter that has the page after this; a counter may be flushed for it.
    Span& place(uint64_t page, int64_t time);
    // Votes for a page; returns how many votes it has now, 0 when another one leads.
    static uint64_t vote(Span& span, uint64_t page);
    void add(Span& span, int64_t time, bool write);
    // Cuts the hottest range in two when it has more than a quarter of what all have.
    void end_epoch(int64_t time);
    void finish(int64_t time);

  private:
    static constexpr uint64_t far = ~uint64_t{0};
    uint64_t most_pages() const { return Record::most_words >> word_shift_; }
    uint64_t gap_of_union(const Span& left, const Span& right) const;
    size_t closest_pair(size_t without) const;
    void merge(size_t left, int64_t time);
    void flush(const Span& span, int64_t time);

    uint32_t counters_;
    uint64_t gap_;
    uint32_t word_shift_;
    uint32_t limit_;
    Ring& ring_;
    std::vector<Span> spans_;
};

}  // namespace gnomon::monitor
