"""Which arrays a workload has, how large they are, and which sizes do not fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gnomon import _native
from gnomon.errors import UsageError

PAGE = 16 << 10  # no array shares a page with another, up to this size of pages
FIRST = 1 << 32
MOST_ITEMS = 1 << 28  # what gnomon itself keeps in memory for a workload that depends on data
MOST_BYTES = 1 << 46

Values = Mapping[str, int | float]


class MisfitError(UsageError):
    """Parameters do not fit together; `key` is the one to change."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"{key}: {reason}.")


@dataclass(frozen=True, slots=True)
class Layout:
    """Arrays by name with their bytes; `private_stride` is from one thread's part to the next."""

    arrays: Mapping[str, int]
    private_stride: int = 0


def separate(size: int) -> int:
    """Return how far apart things of this size are that must not share a page."""
    return -(-size // PAGE) * PAGE + PAGE


def layout(name: str, values: Values, whole: dict[str, int], real: dict[str, float]) -> Layout:
    """Return the arrays of a workload, or refuse sizes that do not fit."""
    if name == "spmv":
        return _spmv(whole, real)
    made = _LAYOUTS[name]({key: int(value) for key, value in values.items()})
    if sum(made.arrays.values()) > MOST_BYTES:
        raise MisfitError("size", "takes more memory than there are addresses for")
    return made


Integers = Mapping[str, int]


def _strided_sum(v: Integers) -> Layout:
    if v["stride"] > v["size"]:
        raise MisfitError("stride", f"must not be above size, which is {v['size']}")
    return Layout({"matrix": 4 * v["size"] ** 2, "sums": 64 * v["threads"]})


def _stream(*names: str) -> Callable[[Integers], Layout]:
    return lambda v: Layout(dict.fromkeys(names, v["size"] // 8 * 8))


def _items(v: Integers) -> int:
    items = v["size"] // v["spacing"]
    if items < 2:
        raise MisfitError("spacing", f"leaves less than two items in a size of {v['size']}")
    _keepable("size", items, "items")
    return items


def _spaced(v: Integers) -> Layout:
    return Layout({"items": _items(v) * v["spacing"]})


def _random(v: Integers) -> Layout:
    return Layout({"words": v["size"] // 8 * 8})


def _hot_table(v: Integers) -> Layout:
    return Layout({"table": v["size"] // 8 * 8})


def _relay(v: Integers) -> Layout:
    if v["spacing"] > v["size"]:
        raise MisfitError("spacing", f"must not be above size, which is {v['size']}")
    return Layout({"array": v["size"] // v["spacing"] * v["spacing"]})


def _false_sharing(v: Integers) -> Layout:
    if v["spacing"] % 8:
        raise MisfitError("spacing", f"must be a multiple of 8, which {v['spacing']} is not")
    return Layout({"counters": v["size"] // 8 * v["threads"] * v["spacing"]})


def _producer_consumer(v: Integers) -> Layout:
    if v["threads"] % 2:
        raise MisfitError("threads", f"must be even, because threads are pairs: {v['threads']}")
    return Layout({"slots": v["threads"] // 2 * v["slots"] * (-(-v["size"] // 64) * 64)})


def _pyramid(v: Integers) -> Layout:
    if v["threads"] > v["size"]:
        raise MisfitError("threads", f"must not be above size, which is {v['size']}")
    if v["touch"] % 4:
        raise MisfitError("touch", f"must be a multiple of 4, which {v['touch']} is not")
    picture = 4 * v["size"] * v["width"]
    return Layout({"image": picture, "rows": picture, "blurred": picture * v["scales"]})


def _ramp_compute(v: Integers) -> Layout:
    touches = v["size"] // v["touch"]
    if v["steps"] > touches:
        raise MisfitError("steps", f"must not be above size / touch, which is {touches}")
    stride = separate(v["working"])
    return Layout({"memory": touches * v["touch"], "work": stride * v["threads"]}, stride)


def _matmul(v: Integers) -> Layout:
    if v["size"] % v["block"]:
        raise MisfitError("block", f"must divide size: {v['size']} / {v['block']} is not whole")
    return Layout(dict.fromkeys(("a", "b", "c"), 8 * v["size"] ** 2))


def _matrix_update(v: Integers) -> Layout:
    elements = v["size"] ** 2
    if v["traps"] and v["detail"]:
        raise MisfitError("traps", "needs detail=full, because values must be computed")
    if v["traps"]:
        _keepable("size", elements * v["iterations"] * v["threads"], "updates with traps")
    if v["team"]:
        return Layout({"matrix": 8 * elements}, 0)
    stride = separate(8 * elements)
    return Layout({"matrix": stride * v["threads"]}, stride)


def _vector_update(v: Integers) -> Layout:
    stride = separate(8 * v["size"])
    return Layout({"vectors": stride * v["threads"]}, stride)


def _fft(v: Integers) -> Layout:
    size, threads = v["size"], v["threads"]
    if size & (size - 1) or size.bit_length() % 2 == 0:
        raise MisfitError("size", f"must be a power of four, which {size} is not")
    root = 1 << (size.bit_length() // 2)
    if threads & (threads - 1) or threads > root:
        raise MisfitError(
            "threads", f"must be a power of two up to {root}, the square root of size: {threads}"
        )
    points = 16 * size
    arrays = {"x": points, "transposed": points, "roots": 16 * root, "twiddles": points}
    if not v["roots"]:
        return Layout(arrays)
    stride = separate(16 * root)
    return Layout({**arrays, "copies": stride * threads}, stride)


def _radix(v: Integers) -> Layout:
    if v["radix"] & (v["radix"] - 1):
        raise MisfitError("radix", f"must be a power of two, which {v['radix']} is not")
    _keepable("size", v["size"] * radix_passes(v["radix"], v["max_key"]), "keys in all passes")
    _keepable("radix", v["radix"] * v["threads"], "counts of all threads")
    stride = separate(4 * v["radix"])
    keys = 4 * v["size"]
    return Layout(
        {
            "keys": keys,
            "moved": keys,
            "ranks": stride * v["threads"],
            "sums": 64 * v["threads"],
        },
        stride,
    )


def radix_passes(radix: int, max_key: int) -> int:
    """Return how many digits the largest key has."""
    return max(1, -(-(max_key - 1).bit_length() // (radix.bit_length() - 1)))


def _parallel_sort(v: Integers) -> Layout:
    keys = v["size"] // 4
    if keys < v["threads"]:
        raise MisfitError("threads", f"must not be above the number of keys, which is {keys}")
    _keepable("size", keys, "keys")
    samples = 64 * v["threads"]
    return Layout({"keys": 4 * keys, "merged": 4 * keys, "samples": samples, "barrier": 64})


def _spmv(whole: dict[str, int], real: dict[str, float]) -> Layout:
    rows = whole["size"]
    if whole["row_length"] > rows:
        raise MisfitError("row_length", f"must not be above size, which is {rows}")
    _keepable("row_length", rows * whole["row_length"], "nonzeros")
    nonzeros = _native.spmv_nonzeros(whole, real)
    return Layout(
        {
            "starts": 8 * (rows + 1),
            "columns": 4 * nonzeros,
            "values": 8 * nonzeros,
            "x": 8 * rows,
            "y": 8 * rows,
            "next": 64,
        }
    )


def _bfs(v: Integers) -> Layout:
    size = v["size"]
    if v["graph"] == 0 and size & (size - 1):
        raise MisfitError("size", f"must be a power of two with graph=rmat, which {size} is not")
    if v["source"] >= size:
        raise MisfitError("source", f"must be below size, which is {size}")
    _keepable("degree", size * v["degree"], "edges")
    return Layout(
        {
            "starts": 8 * (size + 1),
            "edges": 4 * size * v["degree"],
            "parents": 4 * size,
            "frontier": 4 * size,
            "next": 4 * size,
            "filled": 64,
        }
    )


def _assignment(v: Integers) -> Layout:
    _keepable("size", v["size"] ** 2 * v["threads"], "costs")
    stride = separate(8 * v["size"] ** 2 + 14 * v["size"])
    return Layout({"tableaus": stride * v["threads"]}, stride)


def _string_sort(v: Integers) -> Layout:
    _keepable("size", v["size"] * v["threads"], "bytes")
    area = -(-(v["size"] + 80) // 64) * 64
    stride = separate(area + 4 * (v["size"] // 5 + 1) + 2 * 81)
    return Layout({"strings": stride * v["threads"]}, stride)


def _keepable(key: str, items: int, what: str) -> None:
    if items > MOST_ITEMS:
        raise MisfitError(key, f"gives {items} {what}, and at most {MOST_ITEMS} are possible")


_LAYOUTS: dict[str, Callable[[Integers], Layout]] = {
    "assignment": _assignment,
    "bfs": _bfs,
    "chase": _spaced,
    "copy": _stream("a", "b"),
    "false-sharing": _false_sharing,
    "fft": _fft,
    "hot-table": _hot_table,
    "matmul": _matmul,
    "matrix-update": _matrix_update,
    "parallel-sort": _parallel_sort,
    "producer-consumer": _producer_consumer,
    "pyramid": _pyramid,
    "radix": _radix,
    "ramp-compute": _ramp_compute,
    "random": _random,
    "relay": _relay,
    "strided-sum": _strided_sum,
    "string-sort": _string_sort,
    "triad": _stream("a", "b", "c"),
    "vector-update": _vector_update,
    "zipf": _spaced,
}
