"""Plain Python twins of the sparse matrix product and of breadth-first search."""

from __future__ import annotations

import bisect
import math

from gnomon.machines.operations import Code

from .log import Log, Places, Random, Values, fill, logs, part


def _lengths(v: Values) -> list[int]:
    random = Random(v["seed"], 0)
    lengths = []
    for _ in range(v["size"]):
        wanted = v["row_length"] * (1.0 - v["skew"]) * math.pow(1.0 - random.unit(), -v["skew"])
        lengths.append(max(1, min(v["size"], math.floor(wanted + 0.5))))
    return sorted(lengths, reverse=True) if v["arrangement"] == "descending" else lengths


def _deal(v: Values, starts: list[int]) -> list[list[range]]:
    rows, threads = v["size"], v["threads"]
    if v["balance"] == "rows":
        runs = [[part(rows, threads, t)] for t in range(threads)]
    elif v["balance"] == "nonzeros":
        ends = [bisect.bisect_left(starts, starts[-1] * t // threads) for t in range(threads)]
        runs = [[range(a, b)] for a, b in zip(ends, [*ends[1:], rows], strict=True)]
    else:
        runs = [[] for _ in range(threads)]
        done = [0] * threads
        for row in range(0, rows, v["chunk"]):
            run = range(row, min(rows, row + v["chunk"]))
            least = done.index(min(done))
            runs[least].append(run)
            done[least] += starts[run.stop] - starts[run.start]
    return [[run for run in own if run] for own in runs]


def spmv(v: Values, at: Places, stride: int) -> list[Log]:
    rows, threads = v["size"], logs(v)
    starts = [0]
    for length in _lengths(v):
        starts.append(starts[-1] + length)
    band = min(rows, v["band"]) or rows
    random = Random(v["seed"], 1)
    columns = [
        min(max(0, row - band // 2), rows - band) + random.below(band)
        for row in range(rows)
        for _ in range(starts[row], starts[row + 1])
    ]
    runs = _deal(v, starts)
    for t, log in enumerate(threads):
        if v["init"] == "yes":
            mine = runs[t] if v["kernel"] != "plain" else [range(rows)] if t == 0 else []
            for run in mine:
                _fill_rows(log, at, starts, run)
            log.barrier(v["threads"])
        for _ in range(v["iterations"]):
            for run in runs[t]:
                if v["balance"] == "dynamic":
                    log.atomic(at["next"], 8, 4)
                    log.turn(True, 4, 2)
                _multiply(log, v, at, starts, columns, run)
            if v["balance"] == "dynamic":
                log.atomic(at["next"], 8, 4)
                log.turn(False, 4, 2)
            log.barrier(v["threads"])
    return threads


def _fill_rows(log: Log, at: Places, starts: list[int], run: range) -> None:
    nonzeros = range(starts[run.start], starts[run.stop])
    fill(log, at["starts"], range(run.start, run.stop + 1), 8, 1)
    fill(log, at["columns"], nonzeros, 4, 1)
    fill(log, at["values"], nonzeros, 8, 1)
    fill(log, at["x"], run, 8, 1)
    fill(log, at["y"], run, 8, 1)


def _multiply(
    log: Log, v: Values, at: Places, starts: list[int], columns: list[int], run: range
) -> None:
    integers = v["kernel"] == "block-int"
    log.load(at["starts"] + 8 * run.start, 8, 2)
    for row in run:
        log.load(at["starts"] + 8 * (row + 1), 8, 2, waits=True)
        for k in range(starts[row], starts[row + 1]):
            log.load(at["columns"] + 4 * k, 4, 3, waits=True)
            log.load(at["values"] + 8 * k, 8, 3)
            log.load(at["x"] + 8 * columns[k], 8, 3)
            log.emit(Code.MULTIPLY if integers else Code.FP_MULTIPLY, 1, 3)
            log.emit(Code.INTEGER if integers else Code.FP_ADD, 1, 3)
            log.turn(k + 1 < starts[row + 1], 3)
        log.store(at["y"] + 8 * row, 8, 2)
        log.turn(row + 1 < run.stop, 2, 2)


def _edges(v: Values) -> list[list[int]]:
    random, size = Random(v["seed"], 0), v["size"]
    lists: list[list[int]] = [[] for _ in range(size)]
    for _ in range(size * v["degree"]):
        source = target = 0
        if v["graph"] == "uniform":
            source, target = random.below(size), random.below(size)
        else:
            bit = size // 2
            while bit:
                u = random.unit()
                quadrant = 0 if u < 0.57 else 1 if u < 0.76 else 2 if u < 0.95 else 3
                source += bit * (quadrant // 2)
                target += bit * (quadrant % 2)
                bit //= 2
        lists[source].append(target)
    return lists


def bfs(v: Values, at: Places, stride: int) -> list[Log]:
    threads, edges = logs(v), _edges(v)
    starts = [0]
    for each in edges:
        starts.append(starts[-1] + len(each))
    for t, log in enumerate(threads):
        fill(log, at["parents"], part(v["size"], v["threads"], t), 4, 1)
        log.barrier(v["threads"])
        if t == 0:
            log.store(at["parents"] + 4 * v["source"], 4, 1)
            log.store(at["frontier"], 4, 1)
        log.barrier(v["threads"])
    frontier, reached = [v["source"]], {v["source"]}
    now, following = at["frontier"], at["next"]
    while frontier:
        found: list[int] = []
        for t, log in enumerate(threads):
            seen: set[int] = set()
            mine = part(len(frontier), v["threads"], t)
            for i in mine:
                vertex = frontier[i]
                log.load(now + 4 * i, 4, 2, waits=True)
                log.load(at["starts"] + 8 * vertex, 8, 2)
                log.load(at["starts"] + 8 * (vertex + 1), 8, 2, waits=True)
                for k, other in enumerate(edges[vertex], starts[vertex]):
                    log.load(at["edges"] + 4 * k, 4, 3, waits=True)
                    log.load(at["parents"] + 4 * other, 4, 3, waits=True)
                    fresh = other not in reached and other not in seen
                    log.branch(fresh, 3)
                    if fresh:
                        seen.add(other)
                        log.atomic(at["parents"] + 4 * other, 4, 4)
                        log.branch(other not in found, 4)
                        if other not in found:
                            log.atomic(at["filled"], 8, 4)
                            log.store(following + 4 * len(found), 4, 4)
                            found.append(other)
                    log.turn(k + 1 < starts[vertex + 1], 3)
                log.turn(i + 1 < mine.stop, 2)
            log.barrier(v["threads"])
        frontier = found
        reached.update(found)
        now, following = following, now
    return threads
