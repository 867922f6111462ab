"""Plain Python twins of the workloads that are one loop over memory."""

from __future__ import annotations

import bisect

from gnomon.machines.operations import Code

from .log import Log, Places, Random, Values, logs, part, prepare


def strided_sum(v: Values, at: Places, stride: int) -> list[Log]:
    side, threads = v["size"], logs(v)
    prepare(threads, v, [at["matrix"]], side * side, 4)
    for _ in range(v["iterations"]):
        for t, log in enumerate(threads):
            mine = part(side, v["threads"], t)
            for outer in mine:
                for inner in range(0, side, v["stride"]):
                    y, x = (outer, inner) if v["order"] == "row" else (inner, outer)
                    log.load(at["matrix"] + 4 * (y * side + x), 4, 2)
                    log.emit(Code.FP_MULTIPLY, 1, 2)
                    log.emit(Code.FP_ADD, 1, 2)
                    log.turn(inner + v["stride"] < side, 2, 2)
                log.turn(outer + 1 < mine.stop, 3)
            log.store(at["sums"] + 64 * t, 4, 4)
            log.barrier(v["threads"])
    return threads


def chase(v: Values, at: Places, stride: int) -> list[Log]:
    nodes = v["size"] // v["spacing"]
    following, random = list(range(nodes)), Random(v["seed"], 0)
    for i in range(nodes - 1, 0, -1):
        j = random.below(i)
        following[i], following[j] = following[j], following[i]
    threads = logs(v)
    for t, log in enumerate(threads):
        node = nodes * t // v["threads"]
        for step in range(nodes * v["iterations"]):
            log.load(at["items"] + node * v["spacing"], 8, 1, waits=True)
            log.turn(step + 1 < nodes * v["iterations"], 1)
            node = following[node]
    return threads


def stream(v: Values, at: Places, stride: int) -> list[Log]:
    count, threads = v["size"] // 8, logs(v)
    prepare(threads, v, list(at.values()), count, 8)
    for _ in range(v["iterations"]):
        for t, log in enumerate(threads):
            mine = part(count, v["threads"], t)
            for i in mine[:: v["unroll"]]:
                group = range(i, min(i + v["unroll"], mine.stop))
                for k in group:
                    log.load(at["b"] + 8 * k, 8, 2)
                if "c" in at:
                    for k in group:
                        log.load(at["c"] + 8 * k, 8, 2)
                    log.emit(Code.FP_MULTIPLY, len(group), 2)
                    log.emit(Code.FP_ADD, len(group), 2)
                for k in group:
                    log.store(at["a"] + 8 * k, 8, 2)
                log.turn(group.stop < mine.stop, 2)
            log.barrier(v["threads"])
    return threads


def _access(log: Log, v: Values, address: int, writing: bool, more: bool) -> None:
    log.emit(Code.INTEGER, 4, 1)
    log.emit(Code.MULTIPLY, 2, 1)
    if writing:
        log.store(address, 8, 1)
    else:
        log.load(address, 8, 1, waits=v.get("dependent") == "yes")
    log.turn(more, 1)


def random(v: Values, at: Places, stride: int) -> list[Log]:
    threads = logs(v)
    for t, log in enumerate(threads):
        numbers = Random(v["seed"], t + 1)
        for i in range(v["accesses"]):
            address = at["words"] + 8 * numbers.below(v["size"] // 8)
            _access(log, v, address, numbers.below(100) < v["writes"], i + 1 < v["accesses"])
    return threads


def zipf(v: Values, at: Places, stride: int) -> list[Log]:
    items = v["size"] // v["spacing"]
    sums, total = [], 0.0
    for rank in range(1, items + 1):
        total += rank ** -v["exponent"]
        sums.append(total)
    places, numbers = list(range(items)), Random(v["seed"], 0)
    for i in range(items - 1, 0, -1):
        j = numbers.below(i + 1)
        places[i], places[j] = places[j], places[i]
    threads = logs(v)
    for t, log in enumerate(threads):
        numbers = Random(v["seed"], t + 1)
        for i in range(v["accesses"]):
            rank = bisect.bisect_right(sums, numbers.unit() * total, hi=items - 1)
            address = at["items"] + v["spacing"] * places[rank]
            _access(log, v, address, numbers.below(100) < v["writes"], i + 1 < v["accesses"])
    return threads


def hot_table(v: Values, at: Places, stride: int) -> list[Log]:
    threads = logs(v)
    words = v["size"] // 8
    touches = range(0, 8 * words, v["touch"])
    for at_byte in touches:
        threads[0].store(at["table"] + at_byte, 8, 1)
        threads[0].turn(at_byte != touches[-1], 1)
    for t, log in enumerate(threads):
        log.barrier(v["threads"])
        numbers = Random(v["seed"], t + 1)
        for i in range(v["accesses"]):
            address = at["table"] + 8 * numbers.below(words)
            writes = numbers.below(100) < v["writes"]
            log.emit(Code.INTEGER, 4, 2)
            log.emit(Code.MULTIPLY, 2, 2)
            (log.store if writes else log.load)(address, 8, 2)
            log.turn(i + 1 < v["accesses"], 2)
    return threads


def relay(v: Values, at: Places, stride: int) -> list[Log]:
    threads, words = logs(v), v["size"] // v["spacing"]
    for turn in range(v["threads"]):
        for t, log in enumerate(threads):
            for _ in range(v["iterations"] if t == turn else 0):
                for i in range(words):
                    log.load(at["array"] + v["spacing"] * i, 8, 1)
                    log.emit(Code.FP_ADD, 1, 1)
                    log.store(at["array"] + v["spacing"] * i, 8, 1)
                    log.turn(i + 1 < words, 1)
            log.barrier(v["threads"])
    return threads


def false_sharing(v: Values, at: Places, stride: int) -> list[Log]:
    threads = logs(v)
    for t, log in enumerate(threads):
        for i in range(v["iterations"]):
            word = i % (v["size"] // 8) * v["threads"] + t
            address = at["counters"] + word * v["spacing"]
            log.load(address, 8, 1, waits=True)
            log.emit(Code.INTEGER, 1, 1)
            log.store(address, 8, 1)
            log.turn(i + 1 < v["iterations"], 1)
    return threads


def producer_consumer(v: Values, at: Places, stride: int) -> list[Log]:
    threads, words = logs(v), v["size"] // 8
    slot_bytes = -(-v["size"] // 64) * 64
    for pair in range(v["threads"] // 2):
        producer, consumer = threads[2 * pair : 2 * pair + 2]
        for i in range(v["iterations"]):
            slot = at["slots"] + (pair * v["slots"] + i % v["slots"]) * slot_bytes
            consumer.barrier(2, pair + 1)
            for k in range(words):
                producer.emit(Code.INTEGER, 1, 1)
                producer.store(slot + 8 * k, 8, 1)
                producer.turn(k + 1 < words, 1)
                consumer.load(slot + 8 * k, 8, 2)
                consumer.emit(Code.INTEGER, 1, 2)
                consumer.turn(k + 1 < words, 2)
            producer.barrier(2, pair + 1)
            for log in (producer, consumer):
                log.turn(i + 1 < v["iterations"], 3)
    return threads


def ramp_compute(v: Values, at: Places, stride: int) -> list[Log]:
    threads, touches = logs(v), v["size"] // v["touch"]
    for step in range(v["steps"]):
        now = part(touches, v["steps"], step)
        threads[0].emit(Code.GROW, len(now) * v["touch"], 1)
        for i in now:
            threads[0].store(at["memory"] + i * v["touch"], 8, 1)
            threads[0].turn(i + 1 < now.stop, 1)
        threads[0].emit(Code.SLEEP, v["pause"], 1)
    for t, log in enumerate(threads):
        log.barrier(v["threads"])
        for i in range(v["iterations"]):
            log.load(at["work"] + t * stride + 8 * (i % (v["working"] // 8)), 8, 2)
            log.emit(Code.FP_MULTIPLY, 1, 2)
            log.emit(Code.FP_ADD, 1, 2)
            log.turn(i + 1 < v["iterations"], 2)
        log.barrier(v["threads"])
    return threads


def matmul(v: Values, at: Places, stride: int) -> list[Log]:
    side, block, threads = v["size"], v["block"], logs(v)
    blocks = [range(i, i + block) for i in range(0, side, block)]
    for _ in range(v["iterations"]):
        for t, log in enumerate(threads):
            for rows in [blocks[b] for b in part(len(blocks), v["threads"], t)]:
                for columns in blocks:
                    for inner in blocks:
                        _block(log, at, side, rows, columns, inner)
                        log.turn(inner is not blocks[-1], 3, 3)
            log.barrier(v["threads"])
    return threads


def _block(log: Log, at: Places, side: int, rows: range, columns: range, inner: range) -> None:
    for i in rows:
        for j in columns:
            log.load(at["c"] + 8 * (i * side + j), 8, 2)
            for k in inner:
                log.load(at["a"] + 8 * (i * side + k), 8, 1)
                log.load(at["b"] + 8 * (k * side + j), 8, 1)
                log.emit(Code.FP_MULTIPLY, 1, 1)
                log.emit(Code.FP_ADD, 1, 1)
                log.turn(k != inner[-1], 1, 2)
            log.store(at["c"] + 8 * (i * side + j), 8, 2)
            log.turn(j != columns[-1], 2)
