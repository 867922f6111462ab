"""Advice: what was found out about a program's placement, and what each proposal gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.notebook import Shown

if TYPE_CHECKING:
    from gnomon.analysis.locality.advisor.changes import Action
    from gnomon.analysis.locality.objects import DataObject


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of one object, and the simulated time of the program with it alone."""

    thing: DataObject
    action: Action
    detail: str
    why: str
    remedy: str
    time_ns: float
    gain: float  # part of the time that it saves
    note: str = ""  # why it is not proposed although it saves time


@dataclass(frozen=True, slots=True)
class Advice(Shown):
    """Proposals that help, those that were tried and do not, and the times with and without.

    All times are simulated. `after_ns` is that with all proposals together; each has been run.
    Where threads are to set up their parts themselves, `unplaced_ns` is what that alone would
    give, with pages where they were.
    """

    program: str
    machine: str
    nodes: int
    threads: int  # that ran
    before_ns: float
    after_ns: float
    unplaced_ns: float | None
    remote_before: float  # part of what memory or other nodes answered that was another node's
    remote_after: float
    proposals: tuple[Proposal, ...]
    alternatives: tuple[Proposal, ...]  # that help as well, and less
    dropped: tuple[Proposal, ...]
    objects: int  # that the program uses
    runs: int  # that were simulated
    margin: float
    exit_status: int | None = None  # of a real program
    warnings: tuple[str, ...] = ()

    @property
    def speedup(self) -> float:
        """How many times as fast the program is with all proposals."""
        return self.before_ns / self.after_ns
