"""Listings of studies."""

from __future__ import annotations

from gnomon.analysis.study.result import Listed, Studies, StudyEntry


def _entry(number: int, text: str = "") -> StudyEntry:
    one = Listed(text or "E1", text or "an experiment")
    return StudyEntry(text or f"study-{number}", text or "A title", text, bool(number % 2), (one,))


def small() -> Studies:
    return Studies(tuple(map(_entry, range(5))))


def empty() -> Studies:
    return Studies(())


def hostile(text: str) -> Studies:
    return Studies((_entry(0, text), _entry(1, text)), warnings=(text,))


def huge(rows: int) -> Studies:
    return Studies(tuple(map(_entry, range(rows))))
