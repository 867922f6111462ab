"""The counter array again, slow and obvious: lists that are searched from front to back."""

from __future__ import annotations

from dataclasses import dataclass, field

EPOCH = 64  # accesses a counter
MOST_WORDS = 1 << 34
STREAM_ACCESSES = 8  # a word
STREAM_PAGES = 2


@dataclass(eq=False)
class Counter:
    """A tag of words (of pages where they are shared), both ends within, and what it counted."""

    first: int
    last: int
    page: int = 0
    count: int = 0
    writes: int = 0
    begin: int = 0
    heat: int = 0
    candidate: int = 0
    votes: int = 0
    stream: bool = False

    def contains(self, first: int, last: int) -> bool:
        return self.first <= first and last <= self.last


@dataclass(eq=False)
class Twin:
    """Accesses one by one; `ring` has what was written as (first word, words, count, writes)."""

    counters: int
    shared: int = 0
    range_words: int = 1024
    gap_words: int = 0
    gap_pages: int = 0
    page_shift: int = 12
    count_limit: int = (1 << 24) - 1
    ring_records: int = 65536
    empty_every: int = 0
    fetch_delay: int = 0
    fixed: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.own: list[Counter] = []  # most recently used first
        self.slots: list[Counter | None] = []  # the same in order of where they are
        self.free: list[int] = []  # slots with no counter any more
        self.streams: list[Counter] = []  # those among them that have left their page, by address
        self.spans: list[Counter] = []  # by address
        self.fixed_counts = [[0, 0] for _ in self.fixed]
        self.records: list[tuple[int, int, int, int, int, int]] = []
        self.in_ring = self.most_in_ring = self.flushed = self.at_end = 0
        self.signals = self.lost = self.lost_accesses = self.extensions = self.accesses = 0
        self.dynamic = 0
        self.fetch_at: int | None = None
        self.empty_at = 0

    def one(self, time: int, address: int, size: int, write: bool) -> None:
        self.accesses += 1
        for number, (start, end) in enumerate(self.fixed):
            if start <= address < end:
                self.fixed_counts[number][0] += 1
                self.fixed_counts[number][1] += write
                return
        self.dynamic += 1
        if self.shared and self.dynamic % (EPOCH * self.counters) == 0:
            self.end_epoch(time)
        page = address >> self.page_shift
        page_words = 1 << (self.page_shift - 2)
        first = address >> 2
        last = (address + max(size, 1) - 1) >> 2
        last = min(last, (page + 1) * page_words - 1, first + self.range_words - 1)
        found = self.own[0] if self.own and self.own[0].contains(first, last) else None
        found = found or self.in_stream(first, last, time)
        found = found or self.containing(first, last) or self.extended(page, first, last)
        if found is None and self.shared and self.range_words == page_words:
            found = self.begun_stream(page, first, last, time)
        if found is None and len(self.own) < self.counters - self.shared:
            found = Counter(first, last, page, begin=time)
            if self.free:
                self.slots[self.free.pop()] = found
            else:
                self.slots.append(found)
            self.own.insert(0, found)
        if found is None and self.shared:
            self.admit(page, first, last, time, write)
            return
        if found is None:
            found = self.replace(self.own[-1], Counter(first, last, page, begin=time), time)
        self.own.remove(found)
        self.own.insert(0, found)
        self.add(found, time, write)

    def containing(self, first: int, last: int) -> Counter | None:
        narrow = (c for c in self.own if not c.stream)
        return next((c for c in narrow if c.contains(first, last)), None)

    def extended(self, page: int, first: int, last: int) -> Counter | None:
        for counter in self.own:
            near = (
                first <= counter.last + 1 + self.gap_words
                and counter.first <= last + 1 + self.gap_words
            )
            low, high = min(first, counter.first), max(last, counter.last)
            if (
                not counter.stream
                and counter.page == page
                and near
                and high - low < self.range_words
            ):
                counter.first, counter.last = low, high
                self.extensions += 1
                return counter
        return None

    def replace(self, gone: Counter, new: Counter, time: int) -> Counter:
        self.push(gone, gone.first, gone.last, time)
        self.slots[self.slots.index(gone)] = new
        self.leave(gone)
        self.own.insert(0, new)
        return new

    def leave(self, gone: Counter) -> None:
        self.own.remove(gone)
        if gone.stream:
            self.streams.remove(gone)

    def add(self, counter: Counter, time: int, write: bool) -> None:
        if counter.count == self.count_limit:
            self.push(counter, counter.first, counter.last, time)
            counter.count, counter.writes, counter.begin = 0, 0, time
        counter.count += 1
        counter.writes += write
        counter.heat += 1

    # Streams.

    def page_of(self, word: int) -> int:
        return word >> (self.page_shift - 2)

    def page_first(self, page: int) -> int:
        return page << (self.page_shift - 2)

    def page_last(self, page: int) -> int:
        return self.page_first(page + 1) - 1

    def follows(self, before: int, after: int) -> bool:
        if after <= before + 1 + self.gap_words:
            return True
        page, following = self.page_of(before), self.page_of(after)
        return (
            0 < following - page <= STREAM_PAGES
            and self.page_last(page) - before <= self.gap_words
            and after - self.page_first(following) <= self.gap_words
        )

    def in_stream(self, first: int, last: int, time: int) -> Counter | None:
        below = [s for s in self.streams if s.first <= first]
        above = [s for s in self.streams if s.first > first]
        if below and last <= below[-1].last:
            return below[-1]
        if below and self.follows(below[-1].last, first) and fits(below[-1], first, last):
            return self.grow(below[-1], first, last, time)
        if above and self.follows(last, above[0].first) and fits(above[0], first, last):
            return self.grow(above[0], first, last, time)
        return None

    def begun_stream(self, page: int, first: int, last: int, time: int) -> Counter | None:
        steps = range(1, STREAM_PAGES + 1)
        found = None
        if first - self.page_first(page) <= self.gap_words:
            found = self.over_border([page - step for step in steps], upwards=True)
        if found is None and self.page_last(page) - last <= self.gap_words:
            found = self.over_border([page + step for step in steps], upwards=False)
        if found is None:
            return None
        found.stream = True
        self.streams.append(found)
        return self.grow(found, first, last, time)

    def over_border(self, pages: list[int], *, upwards: bool) -> Counter | None:
        for page in pages:
            for c in self.own:
                left = self.page_last(page) - c.last if upwards else c.first - self.page_first(page)
                seldom = c.count <= STREAM_ACCESSES * (c.last - c.first + 1)
                if not c.stream and c.page == page and left <= self.gap_words and seldom:
                    return c
        return None

    def grow(self, stream: Counter, first: int, last: int, time: int) -> Counter:
        stream.first, stream.last = min(stream.first, first), max(stream.last, last)
        self.extensions += 1
        self.streams.sort(key=lambda each: each.first)
        while (at := self.streams.index(stream)) > 0:
            if self.streams[at - 1].last + 1 < stream.first:
                break
            self.join(stream, self.streams[at - 1], time)
        while (at := self.streams.index(stream)) + 1 < len(self.streams):
            if stream.last + 1 < self.streams[at + 1].first:
                break
            self.join(stream, self.streams[at + 1], time)
        return stream

    def join(self, into: Counter, gone: Counter, time: int) -> None:
        if into.count + gone.count > self.count_limit or not fits(into, gone.first, gone.last):
            self.push(gone, gone.first, gone.last, time)
        else:
            into.first, into.last = min(into.first, gone.first), max(into.last, gone.last)
            into.count += gone.count
            into.writes += gone.writes
            into.begin = min(into.begin, gone.begin)
            into.heat += gone.heat
        place = self.slots.index(gone)
        self.slots[place] = None
        self.free.append(place)
        self.leave(gone)

    # The ring.

    def push(self, counter: Counter, first: int, last: int, time: int) -> None:
        fetched = self.fetch_at is not None and time >= self.fetch_at
        if fetched or (self.empty_every and time >= self.empty_at):
            self.empty(time)
        self.flushed += 1
        if self.in_ring == self.ring_records:
            self.lost += 1
            self.lost_accesses += counter.count
            return
        self.store(counter, first, last, time)
        self.in_ring += 1
        self.most_in_ring = max(self.most_in_ring, self.in_ring)
        if self.in_ring == self.ring_records:
            self.signals += 1
            self.fetch_at = time + self.fetch_delay
            if self.fetch_delay == 0:
                self.empty(time)

    def empty(self, time: int) -> None:
        self.in_ring = 0
        self.fetch_at = None
        if self.empty_every:
            self.empty_at = (time // self.empty_every + 1) * self.empty_every

    def store(self, counter: Counter, first: int, last: int, time: int) -> None:
        row = (first, last - first + 1, counter.count, counter.writes, counter.begin, time)
        self.records.append(row)

    # Counters that pages share.

    def admit(self, page: int, first: int, last: int, time: int, write: bool) -> None:
        span = self.place(page, time)
        if span.candidate == page:
            span.votes += 1
        elif span.votes > 0:
            span.votes -= 1
        else:
            span.candidate, span.votes = page, 1
        votes = span.votes if span.candidate == page else 0
        victim = min((c for c in self.slots if c), key=lambda counter: counter.heat)
        if votes > victim.heat:
            span.votes = 0
            new = self.replace(victim, Counter(first, last, page, begin=time), time)
            self.add(new, time, write)
            new.heat = votes
            return
        if span.count == self.count_limit:
            self.push_span(span, time)
            span.count, span.writes = 0, 0
        if span.count == 0:
            span.begin = time
        span.count += 1
        span.writes += write
        span.heat += 1

    def gap(self, left: Counter, right: Counter) -> int | None:
        gap = right.first - left.last - 1
        most = (1 << 34) >> (self.page_shift - 2)
        return gap if gap <= self.gap_pages and right.last - left.first < most else None

    def closest(self, without: Counter | None = None) -> tuple[int, int] | None:
        """The smallest gap, and the number of the span on its left."""
        found = []
        for i, (left, right) in enumerate(zip(self.spans, self.spans[1:], strict=False)):
            gap = self.gap(left, right)
            if gap is not None and without not in (left, right):
                found.append((gap, left.heat + right.heat, i))
        return (min(found)[0], min(found)[2]) if found else None

    def place(self, page: int, time: int) -> Counter:
        for span in self.spans:
            if span.first <= page <= span.last:
                return span
        new = Counter(page, page, begin=time, candidate=page)
        if len(self.spans) == self.shared:
            below = [s for s in self.spans if s.last < page]
            above = [s for s in self.spans if s.first > page]
            near = []
            if below and (gap := self.gap(below[-1], new)) is not None:
                near.append((gap, 0, below[-1]))
            if above and (gap := self.gap(new, above[0])) is not None:
                near.append((gap, 1, above[0]))
            pair = self.closest()
            if near:
                gap, _, chosen = min(near, key=lambda each: each[:2])
                if pair is None or gap <= pair[0]:
                    chosen.first, chosen.last = min(chosen.first, page), max(chosen.last, page)
                    return chosen
            if pair is not None:
                self.merge(pair[1], time)
            else:
                coldest = min(self.spans, key=lambda span: span.heat)
                self.push_span(coldest, time)
                self.spans.remove(coldest)
        self.spans.append(new)
        self.spans.sort(key=lambda span: span.first)
        return new

    def merge(self, left: int, time: int) -> None:
        into, gone = self.spans[left], self.spans.pop(left + 1)
        if into.count + gone.count > self.count_limit:
            self.push_span(gone, time)
            gone.count, gone.writes, gone.begin = 0, 0, time
        into.last = gone.last
        into.begin = min(into.begin, gone.begin)
        into.count += gone.count
        into.writes += gone.writes
        into.heat += gone.heat
        if gone.votes > into.votes:
            into.candidate, into.votes = gone.candidate, gone.votes

    def push_span(self, span: Counter, time: int) -> None:
        if span.count:
            self.push(span, *self.words(span), time)

    def words(self, span: Counter) -> tuple[int, int]:
        shift = self.page_shift - 2
        return span.first << shift, (span.last + 1 << shift) - 1

    def end_epoch(self, time: int) -> None:
        for counter in self.own:
            counter.heat //= 2
        if self.spans:
            self.cut(max(self.spans, key=lambda span: span.heat), time)
        for span in self.spans:
            span.heat //= 2
            span.votes //= 2

    def cut(self, hot: Counter, time: int) -> None:
        if hot.heat * 4 <= sum(span.heat for span in self.spans) or hot.last == hot.first:
            return
        if len(self.spans) == self.shared:
            pair = self.closest(hot)
            if pair is None:
                return
            self.merge(pair[1], time)
        self.push_span(hot, time)
        middle = hot.first + (hot.last - hot.first) // 2
        upper = Counter(middle + 1, hot.last, begin=time, heat=hot.heat // 2, candidate=middle + 1)
        if hot.candidate > middle:
            upper.candidate, upper.votes = hot.candidate, hot.votes
            hot.candidate, hot.votes = hot.first, 0
        hot.last = middle
        hot.count, hot.writes, hot.begin = 0, 0, time
        hot.heat -= hot.heat // 2
        self.spans.insert(self.spans.index(hot) + 1, upper)

    def finish(self, time: int) -> None:
        before = len(self.records)
        for counter in reversed(self.own):
            self.store(counter, counter.first, counter.last, time)
        for span in self.spans:
            if span.count:
                self.store(span, *self.words(span), time)
        self.at_end += len(self.records) - before
        self.own, self.slots, self.spans = [], [], []
        self.free, self.streams = [], []


def fits(counter: Counter, first: int, last: int) -> bool:
    return max(last, counter.last) - min(first, counter.first) < MOST_WORDS
