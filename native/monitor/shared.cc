#include "monitor/shared.hh"

#include <algorithm>

namespace gnomon::monitor {

// The gap that a union of two neighbours would have within, `far` when it must not be.
uint64_t Shared::gap_of_union(const Span& left, const Span& right) const {
    const uint64_t gap = right.first - left.last - 1;
    return gap <= gap_ && right.last - left.first < most_pages() ? gap : far;
}

// The left one of the neighbours with the smallest gap, of equal ones the coldest.
size_t Shared::closest_pair(size_t without) const {
    size_t best = spans_.size();
    uint64_t best_gap = far, best_heat = 0;
    for (size_t i = 0; i + 1 < spans_.size(); ++i) {
        if (i == without || i + 1 == without) continue;
        const uint64_t gap = gap_of_union(spans_[i], spans_[i + 1]);
        const uint64_t heat = spans_[i].heat + spans_[i + 1].heat;
        if (gap == far || gap > best_gap || (gap == best_gap && heat >= best_heat)) continue;
        best = i;
        best_gap = gap;
        best_heat = heat;
    }
    return best;
}

void Shared::merge(size_t left, int64_t time) {
    Span& into = spans_[left];
    Span& gone = spans_[left + 1];
    if (uint64_t{into.tally.count} + gone.tally.count > limit_) {
        flush(gone, time);
        gone.tally = {0, 0, time};
    }
    into.last = gone.last;
    into.tally.begin = std::min(into.tally.begin, gone.tally.begin);
    into.tally.count += gone.tally.count;
    into.tally.writes += gone.tally.writes;
    into.heat += gone.heat;
    if (gone.votes > into.votes) {
        into.candidate = gone.candidate;
        into.votes = gone.votes;
    }
    spans_.erase(spans_.begin() + static_cast<long>(left) + 1);
}

void Shared::flush(const Span& span, int64_t time) {
    if (span.tally.count == 0) return;
    ring_.push(span.first << word_shift_, (span.last - span.first + 1) << word_shift_, span.tally,
               time);
}

Shared::Span& Shared::place(uint64_t page, int64_t time) {
    const auto position = [&] {
        return static_cast<size_t>(
            std::upper_bound(spans_.begin(), spans_.end(), page,
                             [](uint64_t p, const Span& span) { return p < span.first; }) -
            spans_.begin());
    };
    size_t at = position();
    if (at > 0 && page <= spans_[at - 1].last) return spans_[at - 1];
    Span fresh{page, page, {}, 0, page, 0};
    fresh.tally.begin = time;
    if (spans_.size() == counters_) {
        const uint64_t left = at > 0 ? gap_of_union(spans_[at - 1], fresh) : far;
        const uint64_t right = at < spans_.size() ? gap_of_union(fresh, spans_[at]) : far;
        const size_t pair = closest_pair(spans_.size());
        const uint64_t between =
            pair < spans_.size() ? gap_of_union(spans_[pair], spans_[pair + 1]) : far;
        const uint64_t nearest = std::min(left, right);
        if (nearest != far && nearest <= between) {
            Span& chosen = left <= right ? spans_[at - 1] : spans_[at];
            chosen.first = std::min(chosen.first, page);
            chosen.last = std::max(chosen.last, page);
            return chosen;
        }
        if (between != far) {
            merge(pair, time);
        } else {
            const auto coldest = std::min_element(
                spans_.begin(), spans_.end(),
                [](const Span& a, const Span& b) { return a.heat < b.heat; });
            flush(*coldest, time);
            spans_.erase(coldest);
        }
        at = position();
    }
    return *spans_.insert(spans_.begin() + static_cast<long>(at), fresh);
}

uint64_t Shared::vote(Span& span, uint64_t page) {
    if (span.candidate == page) return ++span.votes;
    if (span.votes > 0) {
        --span.votes;
        return 0;
    }
    span.candidate = page;
    return span.votes = 1;
}

void Shared::add(Span& span, int64_t time, bool write) {
    if (span.tally.count == limit_) {
        flush(span, time);
        span.tally = {0, 0, time};
    }
    if (span.tally.count == 0) span.tally.begin = time;
    span.tally.count += 1;
    span.tally.writes += write;
    span.heat += 1;
}

void Shared::end_epoch(int64_t time) {
    uint64_t all = 0;
    for (const Span& span : spans_) all += span.heat;
    const auto hottest =
        std::max_element(spans_.begin(), spans_.end(),
                         [](const Span& a, const Span& b) { return a.heat < b.heat; });
    if (hottest != spans_.end() && hottest->heat * 4 > all && hottest->last > hottest->first) {
        size_t at = static_cast<size_t>(hottest - spans_.begin());
        const size_t pair = closest_pair(at);
        const bool full = spans_.size() == counters_;
        if (!full || pair < spans_.size()) {
            if (full) {
                merge(pair, time);
                at -= pair < at;
            }
            Span& cut = spans_[at];
            flush(cut, time);
            const uint64_t middle = cut.first + (cut.last - cut.first) / 2;
            const uint64_t last = cut.last;
            Span upper{middle + 1, last, {0, 0, time}, cut.heat / 2, middle + 1, 0};
            if (cut.candidate > middle) {
                upper.candidate = cut.candidate;
                upper.votes = cut.votes;
                cut.candidate = cut.first;
                cut.votes = 0;
            }
            cut.last = middle;
            cut.tally = {0, 0, time};
            cut.heat -= cut.heat / 2;
            spans_.insert(spans_.begin() + static_cast<long>(at) + 1, upper);
        }
    }
    for (Span& span : spans_) {
        span.heat /= 2;
        span.votes /= 2;
    }
}

void Shared::finish(int64_t time) {
    for (const Span& span : spans_)
        if (span.tally.count > 0)
            ring_.store(span.first << word_shift_, (span.last - span.first + 1) << word_shift_,
                        span.tally, time);
    spans_.clear();
}

}  // namespace gnomon::monitor
