"""Simulated sources: they run what a real host could not, in their own time, and tell all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from gnomon.errors import UsageError
from gnomon.sources.abilities import HasConstants
from gnomon.sources.base import Closing, Command, Counting, HasPresets, Rotates
from gnomon.sources.sampling import CanSample, Sampler, Sampling

if TYPE_CHECKING:
    from gnomon.events.event import Group
    from gnomon.machines.execution import RunOptions
    from gnomon.machines.ledger import Ledger
    from gnomon.machines.machine import Machine
    from gnomon.machines.pmu.events import Pmu
    from gnomon.machines.pmu.programming import Programmed
    from gnomon.machines.program import Program


class Seen(NamedTuple):
    """Accesses that a monitor of the machine saw until `now_ns`, as it keeps them."""

    rows: bytes
    now_ns: float


class AccessRun(Protocol):
    """Accesses of a command, piece by piece; its status and warnings are known in the end."""

    exit_status: int | None
    warnings: tuple[str, ...]

    def __iter__(self) -> Iterator[Seen]: ...


@runtime_checkable
class Simulator(CanSample, Rotates, HasPresets, HasConstants, Protocol):
    """A machine that is simulated, with a description that can be looked into."""

    machine: Machine
    pmu: Pmu
    seed: int

    def open_program(
        self, groups: Sequence[Group], program: Program, *, exact: bool = False
    ) -> Counting:
        """Set up a measurement of a program that was made in Python."""
        ...

    def sample_program(self, samplings: Sequence[Sampling], program: Program) -> Sampler:
        """Set up sampling of a program that was made in Python."""
        ...

    def accesses(
        self, command: Command, *, local: bool = False, options: RunOptions | None = None
    ) -> AccessRun:
        """Run a command and see its accesses that another node answers; `local`: all of memory."""
        ...


# ---- what goes on in simulated time ----------------------------------------------------------


class HasPmu(Protocol):
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
        raise UsageError("a signal has no simulated machine: it defines its own true values.")

    def interrupt(self, signal: int) -> None:
        """End it as a signal would."""
        if self.exit_status is None:
            self.exit_status = 128 + signal

    def close(self) -> None:
        """Give everything back; may be called again."""
