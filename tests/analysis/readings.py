"""Readings for tests, with everything that a test does not care about filled in."""

from __future__ import annotations

from gnomon.recording.contents import Reading, Status


def counted(
    value: int,
    *,
    event: str = "a",
    scope: str = "process",
    time: int = 100,
    enabled: int = 100,
    running: int | None = None,
    run: int = 0,
    status: Status = Status.COUNTED,
) -> Reading:
    """Return a reading with a value."""
    on = enabled if running is None else running
    return Reading(time, event, scope, value, enabled, on, status, run)


def missing(
    status: Status,
    *,
    event: str = "a",
    scope: str = "process",
    time: int = 100,
    enabled: int = 0,
    run: int = 0,
) -> Reading:
    """Return a reading without a value."""
    return Reading(time, event, scope, None, enabled, 0, status, run)
