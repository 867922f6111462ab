"""Statements about readings and messages that several tests make."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gnomon.errors import GnomonError
from gnomon.recording.contents import Status
from gnomon.sources.base import Snapshot

_WITH_VALUE = frozenset({Status.COUNTED, Status.SCALED})


def check_missing_is_not_zero(snapshot: Snapshot) -> None:
    """A reading has a value exactly when its status says that something was counted."""
    for reading in snapshot.readings:
        assert (reading.value is not None) == (reading.status in _WITH_VALUE), reading
        assert 0 <= reading.running <= reading.enabled, reading


def check_never_backwards(snapshots: Iterable[Snapshot]) -> None:
    """Neither time nor any total ever becomes less."""
    before: dict[tuple[str, str], tuple[int, int, int]] = {}
    time = 0
    for snapshot in snapshots:
        assert snapshot.time >= time
        time = snapshot.time
        for reading in snapshot.readings:
            if reading.value is None:
                continue
            now = (reading.value, reading.enabled, reading.running)
            was = before.get((reading.event, reading.scope), (0, 0, 0))
            assert all(a <= b for a, b in zip(was, now, strict=True)), (was, reading)
            before[reading.event, reading.scope] = now


def totals(snapshot: Snapshot) -> dict[str, int]:
    """Return what each event counted over all places; events without a value are left out."""
    sums: dict[str, int] = {}
    for reading in snapshot.readings:
        if reading.value is not None:
            sums[reading.event] = sums.get(reading.event, 0) + reading.value
    return sums


def check_one_sentence(error: GnomonError) -> None:
    """The message is one sentence, fit to be shown as it is."""
    text = str(error)
    assert re.fullmatch(r"\S.*[.?]", text), text
    assert not re.search(r"[.?!] [A-Z]", text), text
    assert "Traceback" not in text and "Errno" not in text, text
