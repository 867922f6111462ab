"""Where the bytes of a message go when they arrive: into the cache or past it (figure 4)."""

from __future__ import annotations

from enum import StrEnum

LINE_BYTES = 64


class Placement(StrEnum):
    """What becomes of a cache line of a message."""

    INJECT = "injected"
    """Allocated in the second-level cache without reading memory: the whole line is new."""
    INJECT_AND_FILL = "injected and filled"
    """Allocated, and the rest of the line read from memory."""
    UPDATE = "updated"
    """Written where the line is cached already."""
    FORWARD = "forwarded"
    """Written to memory."""


def place_line(
    *, hint: bool, connection: bool, running: bool, cached: bool, whole: bool
) -> Placement:
    """Decide about a line: by the message, the connection, and who runs.

    `whole` says whether the message covers all of the line. A line is injected only when
    the sender asks for it, the system allows it and the receiving process runs.
    """
    if cached:
        return Placement.UPDATE
    if hint and connection and running:
        return Placement.INJECT if whole else Placement.INJECT_AND_FILL
    return Placement.FORWARD


def lines(address: int, size: int) -> list[tuple[int, bool]]:
    """Return the lines that a range touches, each with whether the range covers all of it."""
    first, last = address // LINE_BYTES, (address + size - 1) // LINE_BYTES
    return [
        (
            line,
            address <= line * LINE_BYTES and (line + 1) * LINE_BYTES <= address + size,
        )
        for line in range(first, last + 1 if size else first)
    ]
