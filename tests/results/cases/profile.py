"""Profiles with samples on many places; no samples at all in the empty case."""

from __future__ import annotations

from gnomon.instrument.result import By, Hit, Profile
from gnomon.recording.contents import Provenance


def _of(number: int, by: By, text: str = "") -> Profile:
    hits = tuple(
        Hit(
            text or f"/usr/lib/lib{each % 3}.so",
            text or f"function_{each % 11}",
            text or "/src/main.c",
            each % 17,
            number - each,
            (number - each) * 1009,
            2**63 + each,
        )
        for each in range(number)
    )
    return Profile(
        text or "cpu-clock",
        1009,
        hits,
        12345,
        1,
        2,
        0,
        by,
        provenance=Provenance(text or "host", command=(text or "./program",)),
        warnings=(text or "samples were lost",),
    )


def small() -> Profile:
    return _of(40, By.LINE)


def empty() -> Profile:
    return Profile("", 1, ())


def hostile(text: str) -> Profile:
    return _of(3, By.ADDRESS, text)


def huge(rows: int) -> Profile:
    return _of(rows, By.ADDRESS)
