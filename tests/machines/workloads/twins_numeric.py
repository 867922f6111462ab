"""Plain Python twins of the updates with known counts, and of the FFT."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from gnomon.machines.operations import Code

from .log import TRAPS, Log, Places, Random, Values, logs, prepare

LEAST = sys.float_info.min


def _abnormal(*values: float) -> bool:
    return any(0 < abs(value) < LEAST for value in values)


def _trapping(operation: Callable[[float, float], float], a: float, b: float) -> tuple[float, bool]:
    """Do one operation, and say whether it left the normal range."""
    result = operation(a, b)
    if _abnormal(a, b):
        return result, True
    if not math.isfinite(a) or not math.isfinite(b):
        return result, False
    lost = result == 0 and a != 0 and (operation is _divide or b != 0)
    return result, not math.isfinite(result) or _abnormal(result) or lost


def _multiply(a: float, b: float) -> float:
    return a * b


def _divide(a: float, b: float) -> float:
    if b == 0:  # as the hardware does, where Python raises
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _start(v: Values, stream: int) -> list[float]:
    random = Random(v["seed"], stream)
    return [1.0 + v["spread"] * (2.0 * random.unit() - 1.0) for _ in range(v["size"] ** 2)]


def _corners(side: int, i: int, j: int) -> list[int]:
    ih, jh = (i + side // 2) % side, (j + side // 2) % side
    return [i * side + j, j * side + i, ih * side + jh, jh * side + ih]


def _update(matrix: list[float], side: int, element: int) -> list[bool]:
    first, second, third, fourth = (
        matrix[k] for k in _corners(side, element // side, element % side)
    )
    square, one = _trapping(_multiply, first, second)
    cube, two = _trapping(_multiply, square, third)
    matrix[element], three = _trapping(_divide, cube, fourth)
    return [one, two, three]


def _traps(v: Values) -> list[list[list[bool]]]:
    """Which operations of each thread's updates trap."""
    elements = v["size"] ** 2
    steps = elements * v["iterations"]
    threads = range(v["threads"])
    if v["traps"] == "no":
        return [[[False] * 3] * steps for _ in threads]
    if v["team"] != "shared":
        matrices = [_start(v, t) for t in threads]
        return [
            [_update(matrices[t], v["size"], step % elements) for step in range(steps)]
            for t in threads
        ]
    matrix = _start(v, 0)
    trapped: list[list[list[bool]]] = [[] for _ in threads]
    for step in range(steps + v["lag"] * v["threads"]):
        for t in threads:
            if 0 <= step - t * v["lag"] < steps:
                trapped[t].append(_update(matrix, v["size"], (step - t * v["lag"]) % elements))
    return trapped


def matrix_update(v: Values, at: Places, stride: int) -> list[Log]:
    side, threads, trapped = v["size"], logs(v), _traps(v)
    for t, log in enumerate(threads):
        log.emit(Code.OTHER, v["bookkeeping"], 1)
        if t == 0 or v["team"] != "master":
            base = at["matrix"] + t * stride
            for step, element in enumerate(list(range(side**2)) * v["iterations"]):
                i, j = divmod(element, side)
                if v["detail"] == "full":
                    _element(log, base, side, i, j, trapped[t][step])
                elif j == side - 1:
                    _operations(log, side, 5, 13, 2, 0, 1, 2)
                if j == side - 1:
                    log.turn(i + 1 < side, 3)
        log.barrier(v["threads"])
    return threads


def _element(log: Log, base: int, side: int, i: int, j: int, trapped: list[bool]) -> None:
    log.emit(Code.INTEGER, 12, 2)
    for corner in _corners(side, i, j):
        log.load(base + 8 * corner, 8, 2)
    one, two, three = (TRAPS if each else 0 for each in trapped)
    if one == two:
        log.emit(Code.FP_MULTIPLY, 2, 2, one)
    else:
        log.emit(Code.FP_MULTIPLY, 1, 2, one)
        log.emit(Code.FP_MULTIPLY, 1, 2, two)
    log.emit(Code.FP_DIVIDE, 1, 2, three)
    log.store(base + 8 * (i * side + j), 8, 2)
    log.turn(j + 1 < side, 2)


def _operations(
    log: Log, times: int, other: int, integer: int, multiply: int, add: int, divide: int, site: int
) -> None:
    for code, count in (
        (Code.OTHER, other),
        (Code.INTEGER, integer),
        (Code.FP_MULTIPLY, multiply),
        (Code.FP_ADD, add),
        (Code.FP_DIVIDE, divide),
    ):
        log.emit(code, count * times, site)
    log.emit(Code.BRANCH_TAKEN, times - 1, site)
    log.emit(Code.BRANCH_NOT_TAKEN, 1, site)


def vector_update(v: Values, at: Places, stride: int) -> list[Log]:
    count, threads, full = v["size"], logs(v), v["detail"] == "full"
    for t, log in enumerate(threads):
        base = at["vectors"] + t * stride
        log.emit(Code.OTHER, v["bookkeeping"], 1)
        if v["init"] == "yes" and not full:
            _operations(log, count, 1, 2, 1, 1, 0, 2)
        for i in range(count if v["init"] == "yes" and full else 0):
            log.emit(Code.FP_MULTIPLY, 1, 2)
            log.emit(Code.FP_ADD, 1, 2)
            log.store(base + 8 * i, 8, 2)
            log.turn(i + 1 < count, 2, 2)
        for _ in range(v["iterations"]):
            if not full:
                _operations(log, count, 4, 5, 3, 2, 1, 3)
            for i in range(count if full else 0):
                log.emit(Code.INTEGER, 4, 3)
                for k in (i, (i + 100) % count, (i + 1000) % count):
                    log.load(base + 8 * k, 8, 3)
                log.emit(Code.FP_MULTIPLY, 3, 3)
                log.emit(Code.FP_ADD, 2, 3)
                log.emit(Code.FP_DIVIDE, 1, 3)
                log.store(base + 8 * i, 8, 3)
                log.turn(i + 1 < count, 3)
        log.barrier(v["threads"])
    return threads


def fft(v: Values, at: Places, stride: int) -> list[Log]:
    root, threads = math.isqrt(v["size"]), logs(v)
    arrays = [at["x"], at["transposed"], at["twiddles"]]
    prepare(threads, v, arrays, 2 * v["size"], 8)
    roots = [at["roots"]] * len(threads)
    if v["roots"] == "private":
        roots = [at["copies"] + t * stride for t in range(len(threads))]
        for log, own in zip(threads, roots, strict=True):
            for i in range(root - 1):
                _load(log, at["roots"] + 16 * i, 6)
                _store(log, own + 16 * i, 6)
                log.turn(i < root - 2, 6)
    for _ in range(v["iterations"]):
        _transpose(threads, root, at["x"], at["transposed"])
        _transform(threads, root, at["transposed"], roots, at["twiddles"])
        _transpose(threads, root, at["transposed"], at["x"])
        _transform(threads, root, at["x"], roots, None)
        _transpose(threads, root, at["x"], at["transposed"])
    return threads


def _load(log: Log, address: int, site: int) -> None:
    log.load(address, 8, site)
    log.load(address + 8, 8, site)


def _store(log: Log, address: int, site: int) -> None:
    log.store(address, 8, site)
    log.store(address + 8, 8, site)


def _transpose(threads: list[Log], root: int, source: int, target: int) -> None:
    rows = root // len(threads)
    block = min(rows, 4)
    for t, log in enumerate(threads):
        for k in range(1, len(threads) + 1):
            owner = (t + k) % len(threads)
            for jb in range(owner * rows, (owner + 1) * rows, block):
                for ib in range(t * rows, (t + 1) * rows, block):
                    for i in range(ib, ib + block):
                        for j in range(jb, jb + block):
                            _load(log, source + 16 * (j * root + i), 2)
                            _store(log, target + 16 * (i * root + j), 2)
                            log.turn(j + 1 < jb + block, 2, 2)
        log.barrier(len(threads))


def _transform(
    threads: list[Log], root: int, base: int, roots: list[int], twiddles: int | None
) -> None:
    rows, bits = root // len(threads), root.bit_length() - 1
    for t, log in enumerate(threads):
        for row in range(t * rows, (t + 1) * rows):
            line = [base + 16 * (row * root + k) for k in range(root)]
            for k in range(root):
                other = int(f"{k:0{bits}b}"[::-1], 2)
                log.emit(Code.INTEGER, 4, 3)
                log.branch(other > k, 3)
                if other > k:
                    _load(log, line[other], 3)
                    _load(log, line[k], 3)
                    _store(log, line[other], 3)
                    _store(log, line[k], 3)
                log.turn(k + 1 < root, 3)
            for length in (2**q for q in range(1, bits + 1)):
                half = length // 2
                for k in range(0, root, length):
                    for j in range(half):
                        _load(log, roots[t] + 16 * (half - 1 + j), 4)
                        _load(log, line[k + j + half], 4)
                        _load(log, line[k + j], 4)
                        log.emit(Code.FP_MULTIPLY, 4, 4)
                        log.emit(Code.FP_ADD, 6, 4)
                        _store(log, line[k + j + half], 4)
                        _store(log, line[k + j], 4)
                        log.turn(j + 1 < half, 4, 3)
            for k in range(root if twiddles is not None else 0):
                _load(log, (twiddles or 0) + 16 * (row * root + k), 5)
                _load(log, line[k], 5)
                log.emit(Code.FP_MULTIPLY, 4, 5)
                log.emit(Code.FP_ADD, 2, 5)
                _store(log, line[k], 5)
                log.turn(k + 1 < root, 5, 2)
        log.barrier(len(threads))
