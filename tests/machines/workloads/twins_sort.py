"""Plain Python twins of the parallel sorts; both really sort, and say what they sorted to."""

from __future__ import annotations

import heapq

from gnomon.machines.operations import Code

from .log import Log, Places, Random, Values, fill, logs, part, prepare

SAMPLES = 16


def _insertion(log: Log, keys: list[int], base: int, low: int, high: int, site: int) -> None:
    for i in range(low + 1, high):
        key, j = keys[i], i
        log.load(base + 4 * i, 4, site, waits=True)
        while j > low:
            log.load(base + 4 * (j - 1), 4, site, waits=True)
            log.branch(keys[j - 1] > key, site)
            if keys[j - 1] <= key:
                break
            keys[j] = keys[j - 1]
            log.store(base + 4 * j, 4, site)
            log.emit(Code.INTEGER, 1, site)
            j -= 1
        keys[j] = key
        log.store(base + 4 * j, 4, site)
        log.turn(i + 1 < high, site)


def quicksort(log: Log, keys: list[int], base: int, low: int, high: int, site: int) -> None:
    """Sort a part of the keys, the upper half first."""
    if high - low <= 16:
        _insertion(log, keys, base, low, high, site)
        return
    middle = low + (high - low) // 2
    log.load(base + 4 * low, 4, site)
    log.load(base + 4 * middle, 4, site)
    log.load(base + 4 * (high - 1), 4, site, waits=True)
    log.emit(Code.INTEGER, 6, site)
    pivot = sorted([keys[low], keys[middle], keys[high - 1]])[1]
    i, j = low, high - 1
    while True:
        while True:
            log.load(base + 4 * i, 4, site, waits=True)
            log.turn(keys[i] < pivot, site)
            if keys[i] >= pivot:
                break
            i += 1
        while True:
            log.load(base + 4 * j, 4, site, waits=True)
            log.turn(keys[j] > pivot, site)
            if keys[j] <= pivot:
                break
            j -= 1
        log.branch(i < j, site)
        if i >= j:
            break
        keys[i], keys[j] = keys[j], keys[i]
        log.store(base + 4 * i, 4, site)
        log.store(base + 4 * j, 4, site)
        i, j = i + 1, j - 1
    quicksort(log, keys, base, j + 1, high, site)
    quicksort(log, keys, base, low, j + 1, site)


def _meet(log: Log, v: Values, at: Places) -> None:
    """Count down, wait until all have, and look at the generation."""
    log.atomic(at["barrier"], 4, 8)
    log.barrier(v["threads"])
    log.load(at["barrier"] + 4, 4, 8, waits=True)


def _generate(threads: list[Log], v: Values, count: int, at: Places) -> list[int]:
    keys: list[int] = []
    parallel = v["generate"] == "parallel"
    for t, log in enumerate(threads):
        mine = part(count, v["threads"], t) if parallel else range(0 if t else count)
        state = Random(v["seed"], t).next()
        for i in mine:
            state = (state * 1664525 + 1013904223) % 2**32
            keys.append(state)
            if v["generate"] != "none":
                log.emit(Code.MULTIPLY, 1, 1)
                log.store(at["keys"] + 4 * i, 4, 1)
                log.turn(i + 1 < mine.stop, 1, 2)
        _meet(log, v, at)
    return keys


def _lower_bound(log: Log, keys: list[int], base: int, where: range, pivot: int) -> int:
    low, high = where.start, where.stop
    while low < high:
        middle = (low + high) // 2
        log.load(base + 4 * middle, 4, 5, waits=True)
        log.emit(Code.INTEGER, 3, 5)
        log.branch(keys[middle] < pivot, 5)
        if keys[middle] < pivot:
            low = middle + 1
        else:
            high = middle
    return low


Head = tuple[int, int, int]


def _sift(log: Log, heap: list[Head], i: int) -> None:
    while (child := 2 * i + 1) < len(heap):
        if child + 1 < len(heap):
            right = heap[child + 1] < heap[child]
            log.turn(right, 6)
            child += right
        log.turn(heap[child] < heap[i], 6)
        if not heap[child] < heap[i]:
            break
        heap[child], heap[i] = heap[i], heap[child]
        i = child


def _merge(
    log: Log, keys: list[int], v: Values, at: Places, ways: list[range], to: int
) -> list[int]:
    """Merge sorted parts; what is merged is returned."""
    heap: list[Head] = []
    for way in ways:
        heap.append((keys[way.start], way.start, way.stop))
        log.load(at["keys"] + 4 * way.start, 4, 6, waits=True)
    for i in reversed(range(len(heap) // 2)):
        _sift(log, heap, i)
    merged: list[int] = []
    while heap:
        key, where, end = heap[0]
        log.store(at["merged"] + 4 * (to + len(merged)), 4, 6)
        merged.append(key)
        log.turn(where + 1 < end, 6, 2)
        if where + 1 < end:
            heap[0] = (keys[where + 1], where + 1, end)
            log.load(at["keys"] + 4 * (where + 1), 4, 6, waits=True)
        else:
            heap[0] = heap[-1]
            heap.pop()
        _sift(log, heap, 0)
    assert merged == list(heapq.merge(*([keys[i] for i in way] for way in ways)))
    return merged


def parallel_sort(v: Values, at: Places, stride: int) -> list[Log]:
    count, threads = v["size"] // 4, logs(v)
    keys = _generate(threads, v, count, at)
    expected = sorted(keys)
    parts = [part(count, v["threads"], t) for t in range(v["threads"])]
    samples: list[int] = []
    for t, log in enumerate(threads):
        own = [keys[i] for i in parts[t]]
        quicksort(log, own, at["keys"] + 4 * parts[t].start, 0, len(own), 2)
        keys[parts[t].start : parts[t].stop] = own
        for k in range(SAMPLES):
            chosen = parts[t].start + len(parts[t]) * k // SAMPLES
            log.load(at["keys"] + 4 * chosen, 4, 3, waits=True)
            log.store(at["samples"] + 4 * len(samples), 4, 3)
            samples.append(keys[chosen])
            log.turn(k + 1 < SAMPLES, 3, 2)
        _meet(log, v, at)
    quicksort(threads[0], samples, at["samples"], 0, len(samples), 4)
    result: list[int] = []
    for t, log in enumerate(threads):
        _meet(log, v, at)
        low, high = t * SAMPLES, (t + 1) * SAMPLES
        if t > 0:
            log.load(at["samples"] + 4 * low, 4, 5, waits=True)
        if t + 1 < v["threads"]:
            log.load(at["samples"] + 4 * high, 4, 5, waits=True)
        ways = []
        for number, each in enumerate(parts):
            begin = _lower_bound(log, keys, at["keys"], each, samples[low]) if t else each.start
            end = each.stop
            if t + 1 < v["threads"]:
                end = _lower_bound(log, keys, at["keys"], each, samples[high])
            if begin < end:
                ways.append(range(begin, end))
            log.turn(number + 1 < v["threads"], 5, 3)
        first = len(result)
        result += _merge(log, keys, v, at, ways, first)
        _meet(log, v, at)
        for i in range(first, len(result)):
            log.load(at["merged"] + 4 * i, 4, 7)
            log.store(at["keys"] + 4 * i, 4, 7)
            log.turn(i + 1 < len(result), 7)
        _meet(log, v, at)
    assert result == expected
    return threads


def radix(v: Values, at: Places, stride: int) -> list[Log]:
    threads, count, digits = logs(v), v["size"], v["radix"]
    prepare(threads, v, [at["keys"]], count, 4)
    random = Random(v["seed"], 0)
    keys = [random.below(v["max_key"]) for _ in range(count)]
    expected, source, target, weight = sorted(keys), at["keys"], at["moved"], 1
    while weight == 1 or weight < v["max_key"]:
        _count_digits(threads, keys, source, weight, digits, at["ranks"], stride)
        _add_up(threads, digits, at, stride)
        keys = _permute(threads, keys, (source, target), weight, digits, at["ranks"], stride)
        source, target, weight = target, source, weight * digits
    assert keys == expected
    return threads


def _count_digits(
    threads: list[Log],
    keys: list[int],
    base: int,
    weight: int,
    digits: int,
    ranks: int,
    stride: int,
) -> None:
    for t, log in enumerate(threads):
        fill(log, ranks + t * stride, range(digits), 4, 2)
        mine = part(len(keys), len(threads), t)
        for i in mine:
            rank = ranks + t * stride + 4 * (keys[i] // weight % digits)
            log.load(base + 4 * i, 4, 3, waits=True)
            log.emit(Code.INTEGER, 3, 3)
            log.load(rank, 4, 3, waits=True)
            log.store(rank, 4, 3)
            log.turn(i + 1 < mine.stop, 3)
        log.barrier(len(threads))


def _add_up(threads: list[Log], digits: int, at: Places, stride: int) -> None:
    for t, log in enumerate(threads):
        for site in (4, 5):
            for other in range(t if site == 5 else 0):
                log.load(at["sums"] + 64 * other, 4, 5)
                log.turn(other + 1 < t, 5, 2)
            mine = part(digits, len(threads), t)
            for digit in mine:
                for other in range(len(threads)):
                    rank = at["ranks"] + other * stride + 4 * digit
                    log.load(rank, 4, site, waits=True)
                    log.emit(Code.INTEGER, 1, site)
                    log.store(rank, 4, site)
                    log.turn(other + 1 < len(threads), site)
                log.turn(digit + 1 < mine.stop, site)
            if site == 4:
                log.store(at["sums"] + 64 * t, 4, 4)
            log.barrier(len(threads))


def _permute(
    threads: list[Log],
    keys: list[int],
    arrays: tuple[int, int],
    weight: int,
    digits: int,
    ranks: int,
    stride: int,
) -> list[int]:
    # A stable sort by one digit says where each key goes.
    order = sorted(range(len(keys)), key=lambda i: keys[i] // weight % digits)
    place = {i: rank for rank, i in enumerate(order)}
    for t, log in enumerate(threads):
        mine = part(len(keys), len(threads), t)
        for i in mine:
            rank = ranks + t * stride + 4 * (keys[i] // weight % digits)
            log.load(arrays[0] + 4 * i, 4, 6, waits=True)
            log.emit(Code.INTEGER, 3, 6)
            log.load(rank, 4, 6, waits=True)
            log.store(rank, 4, 6)
            log.store(arrays[1] + 4 * place[i], 4, 6)
            log.turn(i + 1 < mine.stop, 6)
        log.barrier(len(threads))
    return [keys[i] for i in order]
