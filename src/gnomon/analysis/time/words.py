"""The answer of an account in one sentence, and what the CPUs that were not used lacked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.analysis.time.result import Cause, Meanwhile
from gnomon.units import brief, number

if TYPE_CHECKING:
    from gnomon.analysis.time.result import AccountRow, TimeResult

_LEAST = 0.05  # of elapsed time, for what the sentence names
_PLAIN = 0.4  # of CPU time, for a function that it names
_MOST = 2
WAITS = {
    Cause.NO_CPU: "ready to run without a CPU",
    Cause.WAKING: "ready to run after waking",
    Cause.DISK: "waiting for the disk",
    Cause.PAGE_IN: "waiting for pages to be read",
    Cause.NETWORK: "waiting for the network",
    Cause.LOCK: "waiting for a lock",
    Cause.GIL: "waiting for Python's lock (GIL)",
    Cause.CONDITION: "waiting for another thread",
    Cause.JOIN: "waiting for a thread to end",
    Cause.SEMAPHORE: "waiting for a semaphore",
    Cause.BARRIER: "waiting at a barrier",
    Cause.FUTEX: "waiting for another thread",
    Cause.CHILD: "waiting for a child process",
    Cause.OWN_PIPE: "waiting for a pipe of its own",
    Cause.OWN_SOCKET: "waiting for a socket of its own",
    Cause.PIPE: "waiting for a pipe",
    Cause.SLEEP: "asleep",
    Cause.POLL: "waiting for events (poll)",
    Cause.ASYNC_IO: "waiting for asynchronous I/O",
    Cause.GPU: "waiting for the GPU",
    Cause.TERMINAL: "waiting for the terminal",
    Cause.SIGNAL: "waiting for a signal",
    Cause.STOPPED: "stopped",
    Cause.EDGE: "starting and ending",
    Cause.OTHER: "waiting for something else",
    Cause.UNKNOWN: "waiting, for what was not seen",
    Cause.SPINNING: "spinning",
    Cause.SYSTEM: "in the kernel",
    Cause.COMPUTING: "computing",
}
"""What a program does for each cause, as the end of a sentence that begins with a time."""


def headline(result: TimeResult) -> str:
    """Return the answer: how long, how much of it on a CPU, and waiting for what, where."""
    share = number(result.on_cpu, "%")
    start = f"{brief(result.elapsed, 'ns')} elapsed, {share} of it on a CPU"
    function = _function(result)
    if function:
        start += f", mostly in {function}"
    waits = list(_waits(result))
    return f"{start}; {', '.join(waits)}" if waits else start


def _function(result: TimeResult) -> str:
    """Return the hottest function where the program computes and it stands out."""
    if not result.functions or result.on_cpu < _LEAST:
        return ""
    first = result.functions[0]
    total = sum(row.cpu for row in result.functions)
    if first.cpu < _PLAIN * total or first.cpu < _LEAST * result.cpu:
        return ""
    return first.name


def _waits(result: TimeResult) -> Iterator[str]:
    """Yield the largest waits, equal ones together, the place of the first with it."""
    sums: dict[tuple[Cause, str], list[AccountRow]] = {}
    for row in result.account:
        if row.cause not in (Cause.COMPUTING, Cause.SYSTEM):
            sums.setdefault((row.cause, row.object), []).append(row)
    ranked = sorted(sums.values(), key=lambda rows: -sum(row.time for row in rows))
    for rows in ranked[:_MOST]:
        time = sum(row.time for row in rows)
        if time >= _LEAST * result.elapsed:
            yield f"{brief(time, 'ns')} {WAITS[rows[0].cause]}{_details(rows[0])}"


def _details(row: AccountRow) -> str:
    # Of a file its name will do here: the account has the whole path.
    found = [row.object.rpartition("/")[2]] if row.object else []
    if row.idle:
        found.append("idle")
    if row.places:
        found.append(row.places[0].place.label.replace(" (", ", ").rstrip(")"))
    return f" ({'; '.join(found)})" if found else ""


def unused(result: TimeResult) -> dict[str, float]:
    """Return why allowed CPUs were not used, as shares of what was left of them."""
    cpus, elapsed = result.cpus_allowed, result.elapsed
    if cpus <= 0 or elapsed <= 0:
        return {}
    causes: dict[str, float] = {}
    computing = [row for row in result.account if row.cause.running]
    for row in result.account:
        if not row.cause.running:
            causes[row.cause.value] = causes.get(row.cause.value, 0.0) + cpus * row.time
    held = sum(row.time for row in computing if row.meanwhile is not Meanwhile.NOTHING)
    ran = sum(row.time for row in computing)
    for level in result.parallelism:
        if 0 < level.running < cpus:
            name = "serial" if level.running == 1 else "too few threads"
            causes[name] = causes.get(name, 0.0) + (cpus - level.running) * level.time
    if held > ran / 2 and "serial" in causes:
        causes["one thread holds up the others"] = causes.pop("serial")
    total = sum(causes.values())
    if total <= 0:
        return {}
    ranked = sorted(causes.items(), key=lambda each: -each[1])
    return {name: time / total for name, time in ranked}
