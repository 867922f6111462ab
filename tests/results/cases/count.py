"""Counts: ten events in three runs, one of them extrapolated, one missing; and two metrics."""

from __future__ import annotations

from gnomon.analysis.count.result import CountResult, EventCount, MetricValue
from gnomon.recording.contents import Provenance, RunInfo, Status

_UNITS = ("count", "ns", "J", "MiB")


def event_count(number: int, text: str = "") -> EventCount:
    """Return the counts of an event, the same for a number."""
    status = (Status.COUNTED, Status.SCALED, Status.NOT_SUPPORTED)[number % 5 if number < 3 else 0]
    missing = not status.has_value
    values = () if missing else tuple(1_000 * (number + 1) + run for run in range(3))
    return EventCount(
        event=text or f"event-{number}",
        value=None if missing else sum(values) / 3,
        unit=text or _UNITS[number % 4],
        status=status,
        running=None if missing else 0.25 if status is Status.SCALED else 1.0,
        scope=text or f"cpu/{number}",
        spread=None if missing else 0.01 * (number % 9),
        values=values,
    )


def origin(text: str = "") -> Provenance:
    """Return where counts come from."""
    return Provenance(
        "host",
        command=(text or "./program", text or "argument"),
        host=text or "box",
        cpu=text or "Some CPU",
        cpus=4,
        kernel=text or "Linux 6",
        created="2026-01-01T00:00:00+00:00",
        interval=20_000_000,
        environment={"A": text},
    )


def runs(number: int) -> tuple[RunInfo, ...]:
    """Return so many runs, one of which has failed."""
    return tuple(
        RunInfo(i, 0, i * 10**9, i * 10**9 + 10**8 + i * 10**6, i % 2) for i in range(number)
    )


def _of(events: int, text: str = "") -> CountResult:
    metrics = (
        MetricValue(
            "ipc", text or "Instructions per cycle", 1.25, text, caveats=(text or "roughly",)
        ),
        MetricValue("misses", text or "Misses", None, "%", text or "needs 'misses'"),
    )
    return CountResult(
        tuple(event_count(number, text) for number in range(events)),
        runs(3),
        metrics,
        per_scope=bool(text),
        recording=text or "run.gnomon",
        exit_status=1,
        provenance=origin(text),
        warnings=(text or "a warning",),
    )


def small() -> CountResult:
    return _of(10)


def empty() -> CountResult:
    return CountResult((), provenance=Provenance(""))


def hostile(text: str) -> CountResult:
    return _of(5, text)


def huge(rows: int) -> CountResult:
    return _of(rows)
