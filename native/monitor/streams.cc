// Streams: ranges of the hybrid scheme that leave their page.
//
// A range that has reached the end of its page, while few of its words were accessed often, is
// what is left behind by something that walks through memory. It may go on in the next page, or
// in the one after that, because the page between may be one that is local and is not seen.
#include <algorithm>

#include "monitor/array.hh"

namespace gnomon::monitor {

namespace {

constexpr uint64_t most_accesses = 8;  // a word, of what may still be a stream
constexpr uint64_t most_pages = 2;     // that it may go on by

}  // namespace

// The place of the first stream that begins after a word.
size_t CounterArray::stream_after(uint64_t word) const {
    return static_cast<size_t>(
        std::upper_bound(streams_.begin(), streams_.end(), word,
                         [&](uint64_t w, uint32_t c) { return w < counters_[c].first; }) -
        streams_.begin());
}

// Whether a word comes soon enough after another: over a gap, or at the borders of their pages.
bool CounterArray::follows(uint64_t before, uint64_t after) const {
    if (after <= before + 1 + setup_.gap_words) return true;
    const uint32_t shift = setup_.page_shift - 2;
    const uint64_t page = before >> shift, next = after >> shift;
    return next - page <= most_pages && next != page &&
           page_last(page) - before <= setup_.gap_words &&
           after - page_first(next) <= setup_.gap_words;
}

bool CounterArray::fits(const Counter& counter, uint64_t first, uint64_t last) const {
    return std::max(last, counter.last) - std::min(first, counter.first) < Record::most_words;
}

uint32_t CounterArray::in_stream(uint64_t first, uint64_t last, int64_t time) {
    const size_t at = stream_after(first);
    if (at > 0) {
        const uint32_t below = streams_[at - 1];
        const Counter& counter = counters_[below];
        if (last <= counter.last) return below;
        if (follows(counter.last, first) && fits(counter, first, last)) {
            grow_stream(below, first, last, time);
            return below;
        }
    }
    if (at < streams_.size()) {
        const uint32_t above = streams_[at];
        if (follows(last, counters_[above].first) && fits(counters_[above], first, last)) {
            grow_stream(above, first, last, time);
            return above;
        }
    }
    return none;
}

uint32_t CounterArray::over_border(uint64_t page, bool upwards) const {
    for (uint32_t c = buckets_[bucket(page)]; c != none; c = counters_[c].chain_next) {
        const Counter& counter = counters_[c];
        if (counter.page != page) continue;
        const uint64_t left = upwards ? page_last(page) - counter.last
                                      : counter.first - page_first(page);
        if (left <= setup_.gap_words &&
            counter.tally.count <= most_accesses * (counter.last - counter.first + 1))
            return c;
    }
    return none;
}

uint32_t CounterArray::begun_stream(uint64_t page, uint64_t first, uint64_t last, int64_t time) {
    uint32_t found = none;
    if (first - page_first(page) <= setup_.gap_words)
        for (uint64_t back = 1; back <= std::min(most_pages, page) && found == none; ++back)
            found = over_border(page - back, true);
    if (found == none && page_last(page) - last <= setup_.gap_words)
        for (uint64_t on = 1; on <= most_pages && found == none; ++on)
            found = over_border(page + on, false);
    if (found == none) return none;
    unchain(found);
    Counter& counter = counters_[found];
    counter.stream = true;
    const size_t at = stream_after(counter.first);
    streams_.insert(streams_.begin() + static_cast<long>(at), found);
    grow_stream(found, first, last, time);
    return found;
}

// Neighbours that it meets become one with it.
void CounterArray::grow_stream(uint32_t index, uint64_t first, uint64_t last, int64_t time) {
    Counter& counter = counters_[index];
    counter.first = std::min(counter.first, first);
    counter.last = std::max(counter.last, last);
    ++extensions_;
    const auto place = [&] {
        return std::find(streams_.begin(), streams_.end(), index);
    };
    for (auto at = place(); at != streams_.begin(); at = place()) {
        if (counters_[*(at - 1)].last + 1 < counter.first) break;
        join(index, *(at - 1), time);
    }
    for (auto at = place(); at + 1 != streams_.end(); at = place()) {
        if (counter.last + 1 < counters_[*(at + 1)].first) break;
        join(index, *(at + 1), time);
    }
}

void CounterArray::join(uint32_t into, uint32_t gone, int64_t time) {
    Counter& counter = counters_[into];
    const Counter& other = counters_[gone];
    if (uint64_t{counter.tally.count} + other.tally.count > setup_.count_limit ||
        !fits(counter, other.first, other.last)) {
        ring_.push(other.first, other.last - other.first + 1, other.tally, time);
    } else {
        counter.first = std::min(counter.first, other.first);
        counter.last = std::max(counter.last, other.last);
        counter.tally.count += other.tally.count;
        counter.tally.writes += other.tally.writes;
        counter.tally.begin = std::min(counter.tally.begin, other.tally.begin);
        counter.heat += other.heat;
    }
    leave(gone);
    free_.push_back(gone);
}

}  // namespace gnomon::monitor
