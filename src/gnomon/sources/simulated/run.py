"""What is counted on a simulated source: something that goes on in simulated time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from gnomon.errors import UsageError
from gnomon.sources.base import Closing

if TYPE_CHECKING:
    from gnomon.machines.ledger import Ledger
    from gnomon.machines.pmu.events import Pmu
    from gnomon.machines.pmu.programming import Programmed


class Counted(Protocol):
    """Anything whose events are behind a simulated PMU."""

    @property
    def pmu(self) -> Pmu: ...

    @property
    def seed(self) -> int: ...


class Run(Closing):
    """Something that goes on in simulated time when it is told to."""

    has_process = False
    exit_status: int | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be said about the run, so far."""
        return ()

    @property
    @abstractmethod
    def now_ns(self) -> int:
        """The simulated time since the start."""

    @abstractmethod
    def begin(self) -> None:
        """Let it begin, at simulated time 0."""

    @abstractmethod
    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Go on to a moment, for about so many seconds of real time; tell whether it has ended."""

    @abstractmethod
    def look(self, programmed: Programmed) -> Mapping[str, int]:
        """Return how often an event happened so far, in each place."""

    @abstractmethod
    def refusal(self, programmed: Programmed) -> str:
        """Return why an event cannot be counted in this run, empty when it can."""

    def admit(self, programmed: Programmed) -> None:
        """Prepare what it takes to count an event; before the beginning."""

    def ledger(self) -> Ledger:
        """Return everything that the machine has counted."""
        raise UsageError("a signal has no machine behind it: its truth is its own.")

    def interrupt(self, signal: int) -> None:
        """End it as a signal would."""
        if self.exit_status is None:
            self.exit_status = 128 + signal

    def close(self) -> None:
        """Give everything back; may be called again."""
