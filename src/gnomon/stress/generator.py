"""One load generator: a process that runs on one node and reads the memory of another.

It is started by `gnomon.stress.host_loader` with its parameters as one JSON argument. On its
standard output it reports a line when its memory is placed, and a line a pass. A line on its
standard input changes its duty. It ends when that pipe ends, and the kernel ends it when its
parent dies in any other way.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time
from typing import Any

from gnomon import _native
from gnomon.errors import GnomonError
from gnomon.stress.memory import Buffer
from gnomon.stress.streams import Lane, Stream

_PR_SET_PDEATHSIG = 1
_BLOCK = 2 << 20  # of each array; between blocks it may rest and looks for orders
_STOP = "stop"


class _Orders:
    """What the parent says through the pipe."""

    def __init__(self, duty: float) -> None:
        self.duty = duty
        self._rest = b""

    def take(self) -> bool:
        """Read orders without waiting; False when there is nobody any more to give them."""
        while select.select([0], [], [], 0)[0]:
            data = os.read(0, 4096)
            if not data:
                return False
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                if line == _STOP.encode():
                    return False
                self.duty = float(line)
        return True


def main() -> int:
    """Load the channel until told to stop."""
    task = json.loads(sys.argv[1])
    _end_with(task["parent"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    try:
        os.sched_setaffinity(0, task["cpus"])
        if task["spin"]:
            return _spin()
        return _load(task)
    except OSError as error:
        return _fail(f"{error.strerror}")
    except GnomonError as error:
        return _fail(str(error))


def _end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, however that happens."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel was told
        os._exit(0)


def _load(task: dict[str, Any]) -> int:
    stream = Stream(task["stream"])
    size = task["size"] // stream.reads  # of each array
    remote = [Buffer(size, task["home"]) for _ in range(stream.reads)]
    local = None if stream is Stream.READ else Buffer(size, task["reader"])
    pages = 0
    for buffer in (*remote, *([local] if local else [])):
        buffer.verify()
        pages += sum(buffer.placement().values())
    _say({"ready": True, "pages": pages, "huge": min(each.huge_share for each in remote)})
    lanes = []
    for offset in range(0, size, _BLOCK):
        lane = Lane(
            b=remote[0],
            a=local,
            c=remote[1] if stream.reads == 2 else None,
            offset=offset,
            size=min(_BLOCK, size - offset),
        )
        lanes.append((lane.place(stream), 8 * stream.reads * (lane.size // 8)))
    orders = _Orders(task["duty"])
    while _pass(stream, lanes, orders):
        pass
    return 0


def _pass(
    stream: Stream, lanes: list[tuple[tuple[int, int, int, int, int], int]], orders: _Orders
) -> bool:
    """Go over the memory once and report it; False when it is time to end."""
    begin = time.monotonic_ns()
    read = 0
    busy = 0.0
    for place, size in lanes:
        if not orders.take():
            return False
        if orders.duty <= 0:
            time.sleep(0.002)
            begin, read, busy = time.monotonic_ns(), 0, 0.0
            continue
        started = time.monotonic_ns()
        _native.stream_once(stream.number, "", place)
        now = time.monotonic_ns()
        read += size
        busy += now - started
        # The time that should be over by now; what a sleep took too long is made up for.
        owed = begin + busy / orders.duty - now
        if owed > 50_000:
            time.sleep(owed / 1e9)
    if read:
        _say({"end": time.monotonic_ns(), "bytes": read, "ns": time.monotonic_ns() - begin})
    return True


def _spin() -> int:
    """Keep a CPU busy without memory."""
    _say({"ready": True})
    orders = _Orders(1.0)
    while orders.take():
        until = time.monotonic_ns() + 5_000_000
        while time.monotonic_ns() < until:
            pass
    return 0


def _fail(text: str) -> int:
    _say({"error": text})
    return 1


def _say(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os._exit(0)
