"""The plain Python twin of the workload on pictures."""

from __future__ import annotations

from gnomon.machines.operations import Code

from .log import Log, Places, Random, Values, logs, part

SIDE = 16


def _blur(log: Log, v: Values, source: int, result: int, mine: range, down: bool) -> None:
    site = 3 if down else 2
    around = range(-v["radius"], v["radius"] + 1)
    for y in mine:
        for x in range(v["width"]):
            for step in around:
                row = min(max(y + step, 0), v["size"] - 1) if down else y
                column = x if down else min(max(x + step, 0), v["width"] - 1)
                log.load(source + 4 * (row * v["width"] + column), 4, site)
            log.emit(Code.FP_MULTIPLY, len(around), site)
            log.emit(Code.FP_ADD, len(around), site)
            log.store(result + 4 * (y * v["width"] + x), 4, site)
            log.turn(x + 1 < v["width"], site)
        log.turn(y + 1 < mine.stop, site)


def _describe(log: Log, v: Values, base: int, left: int, top: int, last: int) -> None:
    for pixel in range(SIDE * SIDE):
        x = min(left + pixel % SIDE, v["width"] - 1)
        y = min(top + pixel // SIDE, last - 1)
        log.load(base + 4 * (y * v["width"] + x), 4, 4, waits=pixel == 0)
        log.emit(Code.FP_ADD, 2, 4)
        log.emit(Code.FP_MULTIPLY, 2, 4)
        log.turn(pixel + 1 < SIDE * SIDE, 4)


def pyramid(v: Values, at: Places, stride: int) -> list[Log]:
    threads = logs(v)
    picture = 4 * v["size"] * v["width"]
    scales = [at["blurred"] + scale * picture for scale in range(v["scales"])]
    for t, log in enumerate(threads):
        mine = part(v["size"], v["threads"], t)
        touched = range(4 * mine.start * v["width"], 4 * mine.stop * v["width"], v["touch"])
        for byte in touched:
            log.store(at["image"] + byte, 4, 1)
            log.turn(byte != touched[-1], 1)
        log.barrier(v["threads"])
        for source, result in zip([at["image"], *scales], scales, strict=False):
            _blur(log, v, source, at["rows"], mine, down=False)
            log.barrier(v["threads"])
            _blur(log, v, at["rows"], result, mine, down=True)
            log.barrier(v["threads"])
        numbers = Random(v["seed"], t + 1)
        for i in range(v["features"]):
            base = scales[numbers.below(v["scales"])]
            left = numbers.below(v["width"])
            top = mine.start + numbers.below(len(mine))
            _describe(log, v, base, left, top, mine.stop)
            log.turn(i + 1 < v["features"], 4)
    return threads
