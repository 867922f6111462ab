"""Exact counts of workloads, from formulas that know nothing of how operations are generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from gnomon.machines.workloads.layout import radix_passes

if TYPE_CHECKING:
    from gnomon.machines.workloads.layout import Layout

NAMES = {
    0: "loads",
    1: "stores",
    3: "atomics",
    4: "integer",
    5: "multiply",
    6: "fp_add",
    7: "fp_multiply",
    8: "fp_divide",
    9: "branch_taken",
    10: "branch_not_taken",
    12: "other",
}
"""What is counted, by the number of the operation's code."""

Values = Mapping[str, int]


@dataclass(slots=True)
class Tally:
    """Instructions of all threads, by class."""

    loads: int = 0
    stores: int = 0
    atomics: int = 0
    integer: int = 0
    multiply: int = 0
    fp_add: int = 0
    fp_multiply: int = 0
    fp_divide: int = 0
    branch_taken: int = 0
    branch_not_taken: int = 0
    other: int = 0

    def add(self, times: int, **counts: int) -> None:
        """Add so many times what one turn of a loop does."""
        for name, count in counts.items():
            setattr(self, name, getattr(self, name) + times * count)

    def loops(self, loops: int, turns: int, integers: int = 1) -> None:
        """Add index arithmetic and branches of loops that have so many turns together."""
        self.add(turns, integer=integers, branch_taken=1)
        self.add(loops, branch_taken=-1, branch_not_taken=1)

    def counts(self, *, references: bool) -> dict[str, int]:
        """Return all counts and their sum; without references those are other instructions."""
        counts = {each.name: getattr(self, each.name) for each in fields(self)}
        if not references:
            counts["other"] += sum(counts.pop(name) for name in ("loads", "stores", "atomics"))
        counts["instructions"] = sum(counts.values())
        return counts


def exact_counts(name: str, values: Values, layout: Layout) -> dict[str, int] | None:
    """Return the counts of a workload, or None when they depend on data."""
    formula = _FORMULAS.get(name)
    if formula is None:
        return None
    tally = Tally()
    if not formula(tally, values, layout):
        return None
    return tally.counts(references=not values.get("detail"))


def _prepared(tally: Tally, v: Values, arrays: int, count: int) -> None:
    if v["init"]:
        tally.add(arrays * count, stores=1)
        tally.loops(arrays * (min(v["threads"], count) if v["init"] == 2 else 1), arrays * count)


def _strided_sum(tally: Tally, v: Values, _: Layout) -> bool:
    side, rounds = v["size"], v["iterations"]
    _prepared(tally, v, 1, side * side)
    turns = side * -(-side // v["stride"]) * rounds
    tally.add(turns, loads=1, fp_multiply=1, fp_add=1)
    tally.loops(side * rounds, turns, 2)
    tally.loops(min(v["threads"], side) * rounds, side * rounds)
    tally.add(v["threads"] * rounds, stores=1)
    return True


def _chase(tally: Tally, v: Values, layout: Layout) -> bool:
    steps = layout.arrays["items"] // v["spacing"] * v["iterations"] * v["threads"]
    tally.add(steps, loads=1)
    tally.loops(v["threads"], steps)
    return True


def _stream(tally: Tally, v: Values, layout: Layout) -> bool:
    count, threads, rounds = v["size"] // 8, v["threads"], v["iterations"]
    triad = len(layout.arrays) == 3
    _prepared(tally, v, len(layout.arrays), count)
    tally.add(count * rounds, loads=2 if triad else 1, stores=1)
    if triad:
        tally.add(count * rounds, fp_multiply=1, fp_add=1)
    parts = [count * (t + 1) // threads - count * t // threads for t in range(threads)]
    turns = sum(-(-part // v["unroll"]) for part in parts)
    tally.loops(min(threads, count) * rounds, turns * rounds)
    return True


def _access(tally: Tally, v: Values, _: Layout) -> bool:
    if v["writes"] not in (0, 100):
        return False
    accesses = v["accesses"] * v["threads"]
    tally.add(accesses, integer=4, multiply=2)
    tally.add(accesses, **{"stores" if v["writes"] else "loads": 1})
    tally.loops(v["threads"], accesses)
    return True


def _hot_table(tally: Tally, v: Values, layout: Layout) -> bool:
    touches = -(-layout.arrays["table"] // v["touch"])
    tally.add(touches, stores=1)
    tally.loops(1, touches)
    return _access(tally, v, layout)


def _relay(tally: Tally, v: Values, layout: Layout) -> bool:
    sweeps = v["iterations"] * v["threads"]
    words = layout.arrays["array"] // v["spacing"]
    tally.add(sweeps * words, loads=1, fp_add=1, stores=1)
    tally.loops(sweeps, sweeps * words)
    return True


def _false_sharing(tally: Tally, v: Values, _: Layout) -> bool:
    turns = v["iterations"] * v["threads"]
    tally.add(turns, loads=1, integer=1, stores=1)
    tally.loops(v["threads"], turns)
    return True


def _pyramid(tally: Tally, v: Values, _: Layout) -> bool:
    rows, width, threads = v["size"], v["width"], v["threads"]
    parts = [rows * (t + 1) // threads - rows * t // threads for t in range(threads)]
    touches = sum(-(-4 * part * width // v["touch"]) for part in parts)
    tally.add(touches, stores=1)
    tally.loops(threads, touches)
    passes, taps = 2 * v["scales"], 2 * v["radius"] + 1
    tally.add(passes * rows * width, loads=taps, fp_multiply=taps, fp_add=taps, stores=1)
    tally.loops(passes * rows, passes * rows * width)
    tally.loops(passes * threads, passes * rows)
    features = v["features"] * threads
    tally.add(256 * features, loads=1, fp_multiply=2, fp_add=2)
    tally.loops(features, 256 * features)
    tally.loops(threads if v["features"] else 0, features)
    return True


def _producer_consumer(tally: Tally, v: Values, _: Layout) -> bool:
    items, words = v["threads"] // 2 * v["iterations"], v["size"] // 8
    tally.add(items * words, loads=1, stores=1, integer=2)
    tally.loops(2 * items, 2 * items * words)
    tally.loops(v["threads"], 2 * items)
    return True


def _ramp_compute(tally: Tally, v: Values, _: Layout) -> bool:
    touches = v["size"] // v["touch"]
    tally.add(touches, stores=1)
    tally.loops(v["steps"], touches)
    turns = v["iterations"] * v["threads"]
    tally.add(turns, loads=1, fp_multiply=1, fp_add=1)
    tally.loops(v["threads"], turns)
    return True


def _matmul(tally: Tally, v: Values, _: Layout) -> bool:
    side, rounds = v["size"], v["iterations"]
    blocks = side // v["block"]
    tally.add(side**3 * rounds, loads=2, fp_multiply=1, fp_add=1)
    elements = side * side * blocks * rounds
    tally.loops(elements, side**3 * rounds, 2)
    tally.add(elements, loads=1, stores=1)
    tally.loops(elements // v["block"], elements)
    tally.loops(blocks**2 * rounds, blocks**3 * rounds, 3)
    return True


def _matrix_update(tally: Tally, v: Values, _: Layout) -> bool:
    tally.add(v["threads"], other=v["bookkeeping"])
    working = 1 if v["team"] == 1 else v["threads"]
    rows = v["size"] * v["iterations"] * working
    tally.add(rows * v["size"], integer=12, loads=4, fp_multiply=2, fp_divide=1, stores=1)
    tally.loops(rows, rows * v["size"])
    tally.loops(v["iterations"] * working, rows)
    return True


def _vector_update(tally: Tally, v: Values, _: Layout) -> bool:
    tally.add(v["threads"], other=v["bookkeeping"])
    if v["init"]:
        tally.add(v["size"] * v["threads"], fp_multiply=1, fp_add=1, stores=1)
        tally.loops(v["threads"], v["size"] * v["threads"], 2)
    loops = v["iterations"] * v["threads"]
    turns = loops * v["size"]
    tally.add(turns, integer=4, loads=3, fp_multiply=3, fp_add=2, fp_divide=1, stores=1)
    tally.loops(loops, turns)
    return True


def _fft(tally: Tally, v: Values, _: Layout) -> bool:
    points, rounds = v["size"], v["iterations"]
    bits = (points.bit_length() - 1) // 2
    root = 1 << bits
    _prepared(tally, v, 3, 2 * points)
    if v["roots"]:
        tally.add(v["threads"] * (root - 1), loads=2, stores=2)
        tally.loops(v["threads"], v["threads"] * (root - 1))
    tally.add(3 * points * rounds, loads=2, stores=2)
    tally.loops(3 * points * rounds // min(4, root // v["threads"]), 3 * points * rounds, 2)
    rows = 2 * root * rounds  # that are transformed
    exchanged = (root - (1 << -(-bits // 2))) // 2  # numbers that read the same reversed stay
    tally.add(rows * root, integer=4)
    tally.add(rows * exchanged, branch_taken=1, loads=4, stores=4)
    tally.add(rows * (root - exchanged), branch_not_taken=1)
    tally.loops(rows, rows * root)
    butterflies = rows * bits * root // 2
    tally.add(butterflies, loads=6, stores=4, fp_multiply=4, fp_add=6)
    tally.loops(rows * (root - 1), butterflies, 3)
    tally.add(points * rounds, loads=4, stores=2, fp_multiply=4, fp_add=2)
    tally.loops(root * rounds, points * rounds, 2)
    return True


def _radix(tally: Tally, v: Values, _: Layout) -> bool:
    keys, digits, threads = v["size"], v["radix"], v["threads"]
    _prepared(tally, v, 1, keys)
    passes = radix_passes(digits, v["max_key"])
    for _pass in range(passes):
        tally.add(threads * digits, stores=1)
        tally.loops(threads, threads * digits)
        tally.add(keys, loads=2 + 2, stores=1 + 2, integer=3 + 3)
        tally.loops(2 * min(threads, keys), 2 * keys)
        tally.add(2 * digits * threads, loads=1, integer=1, stores=1)
        tally.loops(2 * digits, 2 * digits * threads)
        tally.loops(2 * min(threads, digits), 2 * digits)
        tally.add(threads, stores=1)
        before = threads * (threads - 1) // 2
        tally.add(before, loads=1)
        tally.loops(threads - 1, before, 2)
    return True


def _spmv(tally: Tally, v: Values, layout: Layout) -> bool:
    if v["balance"] == 1:
        return False
    rows, threads = v["size"], v["threads"]
    nonzeros = layout.arrays["columns"] // 4
    runs = -(-rows // v["chunk"]) if v["balance"] == 2 else min(rows, threads)
    if v["init"]:
        filled = runs if v["kernel"] else 1
        stores = rows + filled + 2 * nonzeros + 2 * rows
        tally.add(stores, stores=1)
        tally.loops(5 * filled, stores)
    rounds = v["iterations"]
    tally.add((runs + rows) * rounds, loads=1)
    tally.add(rows * rounds, stores=1)
    tally.loops(runs * rounds, rows * rounds, 2)
    integers = v["kernel"] == 2
    tally.add(nonzeros * rounds, loads=3)
    tally.add(nonzeros * rounds, **{"multiply" if integers else "fp_multiply": 1})
    tally.add(nonzeros * rounds, **{"integer" if integers else "fp_add": 1})
    tally.loops(rows * rounds, nonzeros * rounds)
    if v["balance"] == 2:
        tally.add((runs + threads) * rounds, atomics=1)
        tally.loops(threads * rounds, (runs + threads) * rounds, 2)
    return True


_FORMULAS: dict[str, Callable[[Tally, Values, Layout], bool]] = {
    "chase": _chase,
    "copy": _stream,
    "false-sharing": _false_sharing,
    "fft": _fft,
    "hot-table": _hot_table,
    "matmul": _matmul,
    "matrix-update": _matrix_update,
    "producer-consumer": _producer_consumer,
    "pyramid": _pyramid,
    "radix": _radix,
    "ramp-compute": _ramp_compute,
    "random": _access,
    "relay": _relay,
    "spmv": _spmv,
    "strided-sum": _strided_sum,
    "triad": _stream,
    "vector-update": _vector_update,
    "zipf": _access,
}
