"""Spinning told from computing: samples in loops that only wait for others to change memory."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnomon._native import spin_loop
from gnomon.analysis.time.stacks import Stacks
from gnomon.analysis.time.timeline import State, Thread, Timeline
from gnomon.recording.wall import KERNEL_OBJECT, SampleFlag

_WINDOW = 256  # bytes either side of an address
_NEIGHBOURS = 2  # samples either side that vote where a loop calls something
_SPINS, _CALLS = 1, 2
_X86_64 = 62
_NAMES = re.compile(r"(^|_)sched_yield$|gomp_(team_)?barrier_wait|__kmp.*(barrier|wait)|omp_.*spin")


class Code:
    """Bytes of the files that ran."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, list[tuple[int, int, int]]]] = {}

    def around(self, path: str, address: int) -> tuple[bytes, int] | None:
        """Return the code around an address of a file, and where in it the address is."""
        content, parts = self._file(path)
        for start, offset, size in parts:
            if start <= address < start + size:
                first = max(start, address - _WINDOW)
                last = min(start + size, address + _WINDOW)
                code = content[offset + first - start : offset + last - start]
                at = address - first
                return (code, at) if at < len(code) else None
        return None

    def _file(self, path: str) -> tuple[bytes, list[tuple[int, int, int]]]:
        if path not in self._files:
            try:
                self._files[path] = _loaded(Path(path))
            except (OSError, struct.error):
                self._files[path] = b"", []
        return self._files[path]


def _loaded(path: Path) -> tuple[bytes, list[tuple[int, int, int]]]:
    """Return a file, and address, offset and size of the parts of it that hold code."""
    if not path.is_file():
        return b"", []
    content = path.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", content, 18)[0] != _X86_64:
        return b"", []
    table, entry, count = (
        struct.unpack_from("<Q", content, 32)[0],
        *struct.unpack_from("<HH", content, 54),
    )
    parts = []
    for number in range(count):
        kind, flags, offset, start, _, size = struct.unpack_from(
            "<IIQQQQ", content, table + entry * number
        )
        if kind == 1 and flags & 1:
            parts.append((start, offset, size))
    return content, parts


class Spins:
    """Whether samples of a record are in loops that wait."""

    def __init__(self, timeline: Timeline, stacks: Stacks) -> None:
        self._record, self._stacks, self._code = timeline.record, stacks, Code()
        self._known: dict[int, int] = {}

    def of(self, thread: Thread) -> NDArray[np.bool_]:
        """Return for each sample of a thread whether it spins."""
        kinds = np.array(
            [
                0 if row["flags"] & SampleFlag.KERNEL and row["what"] < 0 else self._at(row["what"])
                for row in thread.samples
            ],
            np.uint8,
        )
        spins: NDArray[np.bool_] = kinds == _SPINS
        for k in np.flatnonzero(~spins):
            near = kinds[max(0, k - _NEIGHBOURS) : k + _NEIGHBOURS + 1]
            spins[k] = kinds[k] == _CALLS or (
                _CALLS in near and 2 * np.count_nonzero(near) >= len(near)
            )
        return spins

    def _at(self, stack: int) -> int:
        stack = int(stack)
        if stack < 0:
            return 0
        if stack not in self._known:
            self._known[stack] = self._look(stack)
        return self._known[stack]

    def _look(self, stack: int) -> int:
        numbers = self._record.stack(stack)
        for number in numbers:
            row = self._record.frames[number]
            kind = int(row["object"])
            if kind == KERNEL_OBJECT:
                continue
            if _NAMES.search(self._stacks.frame(int(number)).name):
                return _SPINS
            if kind < 0 or not row["exact"]:
                return 0
            found = self._code.around(self._record.objects[kind][0], int(row["address"]))
            return spin_loop(*found) if found else 0
        return 0


def with_spinning(timeline: Timeline, spins: dict[int, NDArray[np.bool_]]) -> Timeline:
    """Divide slices that ran: each sample stands for the time half way to its neighbours."""
    edges = timeline.bounds()
    thread: list[int] = []
    begin: list[int] = []
    end: list[int] = []
    state: list[int] = []
    ends = timeline.end.copy()
    for each in timeline.threads:
        spinning = spins.get(each.number)
        if spinning is None or not spinning.any():
            continue
        times = each.samples["time"].astype(np.int64)
        period = int(each.samples["b"].max())
        first = edges[each.number]
        ran = first + np.flatnonzero(
            timeline.state[first : edges[each.number + 1]] == State.RUNNING
        )
        for i in ran:
            a, b = int(timeline.begin[i]), int(timeline.end[i])
            low = int(np.searchsorted(times, a - period))
            high = int(np.searchsorted(times, b + period, "right"))
            if not spinning[low:high].any():
                continue
            ends[i] = a  # replaced by its parts
            for k in range(low, high):
                until = b if k + 1 >= high else min(b, int(times[k] + times[k + 1]) // 2)
                if until > a:
                    kind = State.SPINNING if spinning[k] else State.RUNNING
                    if thread and end[-1] == a and thread[-1] == each.number and state[-1] == kind:
                        end[-1] = until
                    else:
                        thread.append(each.number)
                        begin.append(a)
                        end.append(until)
                        state.append(kind)
                    a = until
    if not thread:
        return timeline
    count = len(thread)
    return timeline.replaced(
        thread=np.concatenate([timeline.thread, np.array(thread, np.int32)]),
        begin=np.concatenate([timeline.begin, np.array(begin, np.int64)]),
        end=np.concatenate([ends, np.array(end, np.int64)]),
        state=np.concatenate([timeline.state, np.array(state, np.uint8)]),
        look=np.concatenate([timeline.look, np.full(count, -1, np.int32)]),
        fault=np.concatenate([timeline.fault, np.zeros(count, bool)]),
        delay=np.concatenate([timeline.delay, np.zeros(count, bool)]),
        key=np.concatenate([timeline.key, np.full(count, -1, np.int32)]),
    )
