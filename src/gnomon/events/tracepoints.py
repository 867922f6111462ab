"""The kernel's tracepoints, by name, through tracefs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gnomon.errors import NotPermittedError, NotSupportedError
from gnomon.events.event import Event, Kind, PerfEncoding
from gnomon.events.generic import TRACEPOINT_TYPE

_PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))


def may_match(pattern: str) -> bool:
    """Whether tracepoints could have such a name: `sched:` but not `valgrind::Ir`."""
    return ":" in pattern and "::" not in pattern


def tracefs() -> Path:
    """Return the folder of the kernel's events, or say why it cannot be read."""
    for place in _PLACES:
        events = place / "events"
        try:
            if events.is_dir():
                next(events.iterdir(), None)
                return events
        except PermissionError:
            raise NotPermittedError(
                f"tracepoints cannot be read: {place} is open to root only; run as root, or "
                f"`mount -o remount,gid=GROUP,mode=750 {place}` for a group of yours."
            ) from None
    raise NotSupportedError(
        "tracepoints cannot be read: tracefs is not mounted; as root, "
        "`mount -t tracefs tracefs /sys/kernel/tracing`, if the kernel was built with it."
    )


def tracepoint(name: str) -> Event | None:
    """Return the tracepoint `system:name`, or None when the kernel has none of that name."""
    system, _, point = name.partition(":")
    if not system or not point or "/" in name:
        return None
    try:
        number = int((tracefs() / system / point / "id").read_text())
    except PermissionError:
        raise NotPermittedError(
            f"tracepoint '{name}' cannot be read: its id is open to root only; run as root."
        ) from None
    except (OSError, ValueError):  # not there, or no name that a file could have
        return None
    return _event(name, number)


def _event(name: str, number: int) -> Event:
    return Event(
        name,
        f"times the kernel passed tracepoint {name}",
        Kind.TRACEPOINT,
        encoding=PerfEncoding("tracepoint", TRACEPOINT_TYPE, number),
    )


def tracepoints() -> Iterator[Event]:
    """Yield every tracepoint of the kernel; there are thousands."""
    events = tracefs()
    for system in sorted(p for p in events.iterdir() if p.is_dir()):
        for point in sorted(p for p in system.iterdir() if p.is_dir()):
            try:
                number = int((point / "id").read_text())
            except (OSError, ValueError):
                continue
            yield _event(f"{system.name}:{point.name}", number)
