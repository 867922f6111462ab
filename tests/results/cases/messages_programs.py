"""Lists of message programs: one of each, none, and as many as there are rows."""

from __future__ import annotations

from gnomon.messaging.result import Named, Program, Programs


def _of(count: int, text: str = "") -> Programs:
    some = [text or f"program-{number}" for number in range(count)]
    values: dict[str, int | float | str] = {
        text or "rounds": 1000,
        "think_ns": 20_000.0,
        "waiting": text or "sleep",
    }
    return Programs(
        tuple(Program(name, text or "does this; and that", values) for name in some),
        tuple(Named(name, text or "nodes", text or "poll") for name in some),
        warnings=(text,) if text else (),
    )


def small() -> Programs:
    return _of(2)


def empty() -> Programs:
    return _of(0)


def hostile(text: str) -> Programs:
    return _of(2, text)


def huge(rows: int) -> Programs:
    return _of(rows)
