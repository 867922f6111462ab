"""What a record of wall time says, in plain objects; as a program it records one and prints that.

    python -m tests.sources.wall.summary '{"options": {}, "seconds": null, "pid": 0}' COMMAND...

With "refuse" it forbids itself perf_event_open first, as the seccomp filter of a container does.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
from collections import Counter, defaultdict
from typing import Any

from gnomon.recording.wall import Moment, WallRecord

_PERF_EVENT_OPEN = 298  # on x86-64
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_EPERM = 1


def refuse_perf() -> None:
    """Let perf_event_open fail with EPERM in this process and in what it starts."""
    program = b"".join(
        struct.pack("<HBBI", *step)
        for step in (
            (0x20, 0, 0, 0),  # the number of the system call
            (0x15, 0, 1, _PERF_EVENT_OPEN),
            (0x06, 0, 0, 0x00050000 | _EPERM),
            (0x06, 0, 0, 0x7FFF0000),  # all others are allowed
        )
    )
    memory = ctypes.create_string_buffer(program)
    given = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _FILTER, ctypes.create_string_buffer(given), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


def names(record: WallRecord, stack: int) -> list[str]:
    """Return the names of the frames of a stack, leaf first, "?" for one without."""
    if stack < 0:
        return []
    found = (record.frames[number]["name"] for number in record.stack(stack))
    return [record.texts[name] if name >= 0 else "?" for name in found]


def _place(record: WallRecord, stack: int) -> str:
    return next((name for name in names(record, stack) if name in _PLACES), "")


def lives(record: WallRecord) -> list[dict[str, float]]:
    """Return of each thread how long it lived and what it spent it with, by changes of CPUs."""
    found: list[dict[str, float]] = []
    now: dict[int, tuple[str, int, dict[str, float]]] = {}
    turns = {
        Moment.IN: "on",
        Moment.OUT: "waiting",
        Moment.PREEMPTED: "runnable",
        Moment.FORK: "runnable",
    }
    for moment in record.moments:
        kind, tid, time = Moment(moment["kind"]), int(moment["tid"]), int(moment["time"])
        if kind == Moment.FORK:
            now[tid] = ("runnable", time, defaultdict(float, born=time))
            if tid == record.facts.root:  # it is held until it calls exec
                now[tid] = ("on", time, now[tid][2])
        elif kind in turns and tid in now:
            state, since, life = now[tid]
            life[state] += time - since
            now[tid] = (turns[kind], time, life)
        elif kind == Moment.EXIT and tid in now:
            state, since, life = now.pop(tid)
            life[state] += time - since
            life["life"] = time - life["born"]
            found.append(dict(life))
    return found


def summary(record: WallRecord) -> dict[str, Any]:
    """Return what tests ask of a record."""
    moments = record.moments
    waits: Counter[str] = Counter()
    for row in moments[moments["kind"] == Moment.WAIT]["what"]:
        if row < 0:
            waits["running"] += 1
            continue
        wait = record.waits[row]
        links = record.texts[wait["links"]] if wait["links"] >= 0 else ""
        place = _place(record, int(wait["stack"]))
        held = f"held in {_place(record, int(wait['holder_stack']))}" if wait["holder"] else ""
        kinds = " ".join(sorted({link.partition(":")[0] for link in links.split()}))
        waits[f"{wait['nr']}|{kinds}|{place}|{held}"] += 1
    samples = moments[(moments["kind"] == Moment.SAMPLE)]
    functions = Counter(
        name for sample in samples for name in names(record, int(sample["what"])) if name in _PLACES
    )
    peers = moments[(moments["kind"] == Moment.PEER) & (moments["pid"] > 0)]
    schedules = moments[moments["kind"] == Moment.SCHED]
    return {
        "rung": record.facts.rung,
        "limits": list(record.facts.limits),
        "exit": record.facts.exit_status,
        "elapsed": (record.facts.end - record.facts.start) / 1e9,
        "recorder": record.facts.recorder_ns / (record.facts.end - record.facts.start),
        "lost": record.facts.lost,
        "kinds": {Moment(k).name: int((moments["kind"] == k).sum()) for k in set(moments["kind"])},
        "waits": dict(waits),
        "functions": dict(functions),
        "peers": sorted({(record.texts[p["what"]].partition(":")[0]) for p in peers}),
        "names": sorted({record.texts[m["what"]] for m in moments[moments["kind"] == Moment.COMM]}),
        "lives": lives(record),
        "on": {int(m["tid"]): int(m["a"]) / 1e9 for m in schedules},
        "ordered": bool((moments["time"][1:] >= moments["time"][:-1]).all()),
    }


_PLACES = {"nap", "compute", "hold_and_sleep", "ask", "two", "sleep_long", "page_in", "main"}


def main() -> None:
    from gnomon.sources.abilities import WallOptions
    from gnomon.sources.base import Command, Process
    from gnomon.sources.perf.source import PerfSource

    given = json.loads(sys.argv[1])
    if given.get("refuse"):
        refuse_perf()
    pid = given.get("pid")
    target = Process(pid) if pid else Command(tuple(sys.argv[2:]))
    options = WallOptions(**given.get("options", {}))
    with PerfSource().record_wall(target, options) as recording:
        recording.start()
        recording.wait(given.get("seconds"))
        recording.stop()
        print(json.dumps(summary(recording.record())))


if __name__ == "__main__":
    main()
