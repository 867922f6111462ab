"""Runs of a program with changes: each once, told of as they begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gnomon.analysis.locality.advisor.changes import Change, Outcome, run_with

if TYPE_CHECKING:
    from gnomon.analysis.locality.advisor.subject import Subject
    from gnomon.machines.machine import Machine

Progress = Callable[[str, int, int], None]
"""Told what is run, how many runs there were before, and how many there will be at least."""


class Trials:
    """A program on a machine, to be run with one set of changes after another."""

    def __init__(self, machine: Machine, subject: Subject, progress: Progress | None) -> None:
        self.machine, self.subject = machine, subject
        self.runs = 0
        self.expected = 1
        self._progress = progress
        self._known: dict[frozenset[int], Outcome] = {}
        self._kept: list[Change] = []  # while their ids are keys, they must live

    def tell(self, text: str) -> None:
        """Say that a run begins."""
        self.expected = max(self.expected, self.runs + 1)
        if self._progress is not None:
            self._progress(text, self.runs, self.expected)
        self.runs += 1

    def outcome(self, changes: Sequence[Change], text: str) -> Outcome:
        """Return how the program goes with changes, from an earlier run if there was one."""
        key = frozenset(map(id, changes))
        if key not in self._known:
            self.tell(text)
            self._kept += changes
            self._known[key] = run_with(self.machine, self.subject, changes)
        return self._known[key]
