#include "monitor/array.hh"

#include <algorithm>
#include <bit>

namespace gnomon::monitor {

CounterArray::CounterArray(const Setup& setup)
    : setup_(setup),
      counters_(setup.counters - setup.shared),
      follows_streams_(setup.shared &&
                       setup.range_words == uint64_t{1} << (setup.page_shift - 2)),
      ring_(setup.ring),
      shared_(setup.shared, setup.gap_pages, setup.page_shift, setup.count_limit, ring_),
      epoch_(epoch_accesses * setup.counters),
      until_epoch_(epoch_) {
    const uint32_t bits = std::bit_width(counters_.size()) + 1;
    buckets_.assign(size_t{1} << bits, none);
    bucket_shift_ = 64 - bits;
    for (const auto& [start, end] : setup.fixed) fixed_.push_back({start, end});
}

bool CounterArray::counted_as_fixed(uint64_t address, bool write) {
    const auto after = std::upper_bound(
        fixed_.begin(), fixed_.end(), address,
        [](uint64_t value, const Fixed& each) { return value < each.start; });
    if (after == fixed_.begin()) return false;
    Fixed& found = *(after - 1);
    if (address >= found.end) return false;
    found.count += 1;
    found.writes += write;
    ++fixed_accesses_;
    return true;
}

void CounterArray::one(int64_t time, uint64_t address, uint32_t size, bool write) {
    ++accesses_;
    if (!fixed_.empty() && counted_as_fixed(address, write)) return;
    if (setup_.shared && --until_epoch_ == 0) end_epoch(time);
    const uint64_t page = address >> setup_.page_shift;
    const uint64_t first = address >> 2;
    const uint64_t last =
        std::min({(address + (size ? size - 1 : 0)) >> 2, page_last(page),
                  first + setup_.range_words - 1});
    if (newest_ != none) {
        Counter& newest = counters_[newest_];
        if (newest.first <= first && last <= newest.last) return add(newest, time, write);
    }
    if (!streams_.empty()) {
        const uint32_t stream = in_stream(first, last, time);
        if (stream != none) {
            use(stream);
            return add(counters_[stream], time, write);
        }
    }
    // A chain has its most recently used counter first: the first that fits is the one.
    uint32_t extensible = none;
    for (uint32_t c = buckets_[bucket(page)]; c != none; c = counters_[c].chain_next) {
        Counter& counter = counters_[c];
        if (counter.page != page) continue;
        if (counter.first <= first && last <= counter.last) {
            use(c);
            return add(counter, time, write);
        }
        if (extensible == none && first <= counter.last + 1 + setup_.gap_words &&
            counter.first <= last + 1 + setup_.gap_words &&
            std::max(last, counter.last) - std::min(first, counter.first) < setup_.range_words)
            extensible = c;
    }
    if (extensible != none) {
        Counter& counter = counters_[extensible];
        counter.first = std::min(counter.first, first);
        counter.last = std::max(counter.last, last);
        ++extensions_;
        use(extensible);
        return add(counter, time, write);
    }
    if (follows_streams_) {
        const uint32_t stream = begun_stream(page, first, last, time);
        if (stream != none) {
            use(stream);
            return add(counters_[stream], time, write);
        }
    }
    if (!free_.empty()) {
        const uint32_t index = free_.back();
        free_.pop_back();
        return begin(index, page, first, last, time, write);
    }
    if (used_ < counters_.size()) return begin(used_++, page, first, last, time, write);
    if (setup_.shared) return admit(page, first, last, time, write);
    const uint32_t victim = oldest_;
    const Counter& gone = counters_[victim];
    ring_.push(gone.first, gone.last - gone.first + 1, gone.tally, time);
    leave(victim);
    begin(victim, page, first, last, time, write);
}

// Takes a counter out of all orders.
void CounterArray::leave(uint32_t index) {
    unlink(index);
    if (counters_[index].stream)
        std::erase(streams_, index);
    else
        unchain(index);
}

void CounterArray::begin(uint32_t index, uint64_t page, uint64_t first, uint64_t last,
                         int64_t time, bool write) {
    Counter& counter = counters_[index];
    counter.first = first;
    counter.last = last;
    counter.page = page;
    counter.tally = {0, 0, time};
    counter.heat = 0;
    counter.stream = false;
    link(index);
    chain(index);
    least_heat_ = 0;
    add(counter, time, write);
}

void CounterArray::add(Counter& counter, int64_t time, bool write) {
    if (counter.tally.count == setup_.count_limit) [[unlikely]] {
        ring_.push(counter.first, counter.last - counter.first + 1, counter.tally, time);
        counter.tally = {0, 0, time};
    }
    counter.tally.count += 1;
    counter.tally.writes += write;
    counter.heat += 1;
}

// No counter is free: a page gets that of the coldest one when it is accessed more often.
void CounterArray::admit(uint64_t page, uint64_t first, uint64_t last, int64_t time, bool write) {
    Shared::Span& span = shared_.place(page, time);
    const uint64_t votes = Shared::vote(span, page);
    if (votes > least_heat_) {
        const uint32_t victim = coldest();
        Counter& gone = counters_[victim];
        if (votes > gone.heat) {
            span.votes = 0;
            ring_.push(gone.first, gone.last - gone.first + 1, gone.tally, time);
            leave(victim);
            begin(victim, page, first, last, time, write);
            counters_[victim].heat = votes;
            return;
        }
    }
    shared_.add(span, time, write);
}

uint32_t CounterArray::coldest() {
    uint32_t found = 0;
    for (uint32_t i = 1; i < counters_.size(); ++i)
        if (counters_[i].heat < counters_[found].heat) found = i;
    least_heat_ = counters_[found].heat;
    return found;
}

void CounterArray::end_epoch(int64_t time) {
    until_epoch_ = epoch_;
    for (Counter& counter : counters_) counter.heat /= 2;
    least_heat_ /= 2;
    shared_.end_epoch(time);
}

void CounterArray::finish(int64_t time) {
    const size_t before = ring_.stored().size();
    for (uint32_t c = oldest_; c != none; c = counters_[c].newer)
        ring_.store(counters_[c].first, counters_[c].last - counters_[c].first + 1,
                    counters_[c].tally, time);
    shared_.finish(time);
    at_end_ += ring_.stored().size() - before;
    streams_.clear();
    free_.clear();
    std::fill(buckets_.begin(), buckets_.end(), none);
    newest_ = oldest_ = none;
    used_ = 0;
}

void CounterArray::use(uint32_t index) {
    if (index == newest_) return;
    unlink(index);
    link(index);
    if (counters_[index].stream || counters_[index].chain_back == none) return;
    unchain(index);
    chain(index);
}

void CounterArray::link(uint32_t index) {
    counters_[index].older = newest_;
    counters_[index].newer = none;
    if (newest_ != none) counters_[newest_].newer = index;
    newest_ = index;
    if (oldest_ == none) oldest_ = index;
}

void CounterArray::unlink(uint32_t index) {
    const Counter& counter = counters_[index];
    (counter.newer == none ? newest_ : counters_[counter.newer].older) = counter.older;
    (counter.older == none ? oldest_ : counters_[counter.older].newer) = counter.newer;
}

void CounterArray::chain(uint32_t index) {
    uint32_t& head = buckets_[bucket(counters_[index].page)];
    counters_[index].chain_next = head;
    counters_[index].chain_back = none;
    if (head != none) counters_[head].chain_back = index;
    head = index;
}

void CounterArray::unchain(uint32_t index) {
    const Counter& counter = counters_[index];
    (counter.chain_back == none ? buckets_[bucket(counter.page)]
                                : counters_[counter.chain_back].chain_next) = counter.chain_next;
    if (counter.chain_next != none) counters_[counter.chain_next].chain_back = counter.chain_back;
}

}  // namespace gnomon::monitor
