"""Counting parts of a program by name.

    with gn.region("spmv"):
        y = a @ x

    @gn.region("assemble")
    def assemble(): ...

Regions nest, and work in threads and forked children. Only sums are kept, so a million
instances take no more memory than one. With GNOMON_REGIONS=off in the environment all of
it is switched off at next to no cost.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events
from gnomon.instrument.eventset import default_source
from gnomon.instrument.region_report import CALIBRATION, EMPTY, read_folder, read_tables
from gnomon.instrument.result import Overhead, RegionReport

F = TypeVar("F", bound=Callable[..., Any])

SWITCH = "GNOMON_REGIONS"
EVENTS = "GNOMON_REGION_EVENTS"
FOLDER = "GNOMON_REGION_FOLDER"
_MOST_EVENTS = 16
_LONGEST_NAME = 127  # bytes
_CALIBRATION_BATCHES = 15
_CALIBRATION_ROUNDS = 20

_known: dict[str, _native.Region] = {}
_configured = False
_overhead = Overhead()
_first = threading.Lock()  # of several threads that want a region at once, one configures


def _renew_lock() -> None:
    """Forget who held the lock: a forked child does not have that thread."""
    global _first  # noqa: PLW0603
    _first = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def switched_off() -> bool:
    """Whether the environment says that regions are to do nothing."""
    return os.environ.get(SWITCH, "").lower() in ("off", "0", "no")


def region(name: str) -> _native.Region:
    """Return the region of this name: a context manager and a decorator.

    >>> with gn.region("sum"):
    ...     total = sum(range(1000))
    """
    found = _known.get(name)
    if found is None:
        _check_name(name)
        with _first:
            if not _configured:
                configure()
        found = _known.setdefault(name, _native.Region(name))
    return found


def _check_name(name: str) -> None:
    if not name or name.startswith(CALIBRATION):
        raise UsageError(f"a region cannot be called '{name}': give it a name of its own.")
    if len(name.encode(errors="replace")) > _LONGEST_NAME:
        raise UsageError(
            f"the name of region '{name[:20]}...' is too long: at most {_LONGEST_NAME} bytes."
        )


def configure(events: str | None = None, *, folder: str | None = None) -> None:
    """Choose what regions count; regions so far are forgotten.

    Without events it is the choice in GNOMON_REGION_EVENTS or what the machine has. With
    a folder the sums live in a file there, which outlives the process. Where regions are
    switched off this does nothing.
    """
    global _configured, _overhead  # noqa: PLW0603
    from gnomon.events.encoding import event_spec

    if switched_off():
        return
    source = default_source()
    text = events if events is not None else os.environ.get(EVENTS)
    groups = source.default_events() if not text else parse_events(text, source.resolve)
    requests = [request for group in groups for request in group]
    if len(requests) > _MOST_EVENTS:
        raise UsageError(f"{len(requests)} events are too many for regions: at most 16.")
    countable = _countable(requests, explicit=bool(text))
    place = folder if folder is not None else os.environ.get(FOLDER, "")
    if place and not Path(place).is_dir():
        raise UsageError(f"'{place}' is not a folder: regions cannot be kept there.")
    _native.configure_regions(
        [event_spec(request) for request in countable],
        [request.label for request in countable],
        place,
    )
    try:
        _calibrate()
    except OSError as error:
        raise UsageError(f"regions cannot be kept in '{place}': {error.strerror}.") from None
    _configured = True
    _overhead = report().overhead


def _countable(requests: list[Request], *, explicit: bool) -> list[Request]:
    """Return what can be counted in a group; what was asked for by name must be."""
    from gnomon.sources.base import Thread

    with default_source().open([tuple(requests)], Thread(), exact=explicit) as counting:
        refused = {reading.event for reading in counting.refused}
        return [request for request in counting.requests if request.label not in refused]


def _calibrate() -> None:
    """Count empty regions, so that what regions cost themselves can be taken out again."""
    inner = _native.Region(EMPTY)
    for batch in range(_CALIBRATION_BATCHES):
        with _native.Region(f"{CALIBRATION} {batch}"):
            for _ in range(_CALIBRATION_ROUNDS):
                with inner:
                    pass


def report(folder: str | Path | None = None) -> RegionReport:
    """Return what the regions of this process have counted so far.

    With a folder it is what all processes have counted that keep their sums there, those
    that have ended included.
    """
    if folder is not None:
        return read_folder(folder)
    # A forked child has a table of its own, but was calibrated in its parent.
    return read_tables([_native.region_bytes()], _overhead)


def decorated(entered: _native.Region, function: F) -> F:
    """Return a function that runs inside a region."""
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise UsageError(
            f"region '{entered.name}' cannot enclose '{function.__qualname__}', which gives "
            "control away while it runs: use a with block around the parts that do not."
        )

    @functools.wraps(function)
    def inside(*arguments: Any, **named: Any) -> Any:
        with entered:
            return function(*arguments, **named)

    return inside  # type: ignore[return-value]


if switched_off():
    region = _native.no_region  # type: ignore[assignment]
