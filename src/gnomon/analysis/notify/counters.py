"""The events that are counted for each message: those of the perf source that count here."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass

from gnomon import _native
from gnomon.analysis.notify.model import LeftOut
from gnomon.errors import UsageError

DEFAULT_EVENTS = ("context-switches", "page-faults", "instructions", "cycles")
_MOST = 12


@dataclass(frozen=True, slots=True)
class Counters:
    """An event and how the kernel is asked for it."""

    name: str
    spec: _native.EventSpec


def counters_of(names: Sequence[str]) -> tuple[list[Counters], list[LeftOut]]:
    """Return the events that can be counted here, and why the others cannot."""
    from gnomon.events.syntax import ask
    from gnomon.sources.perf import PerfSource

    source = PerfSource()
    requests = [r for name in names for g in ask(name, source.resolve).groups for r in g]
    if len(requests) > _MOST:
        raise UsageError(f"{len(requests)} events are too many for messages: at most {_MOST}.")
    found: list[Counters] = []
    missing: list[LeftOut] = []
    for verdict, request in zip(source.availability(requests), requests, strict=True):
        name = request.label
        if not verdict.countable:
            missing.append(LeftOut(f"event {name}", verdict.reason))
            continue
        found.append(Counters(name, _spec(request)))
    return found, missing


def _spec(request: object) -> _native.EventSpec:
    from gnomon.events.event import Request
    from gnomon.sources.perf.attr import event_spec, separates_levels

    assert isinstance(request, Request)
    spec = event_spec(request)
    try:
        _native.Group([spec], 0, -1).close()
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM):
            raise
        # Without rights, what happens in the kernel stays hidden.
        spec = event_spec(request, user_only=separates_levels(request.event))
    return spec
