"""What a simulated machine can do as a source: run what a real host could not, and tell all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from gnomon.sources.abilities import HasConstants
from gnomon.sources.base import Command, Counting, HasPresets, Rotates
from gnomon.sources.sampling import CanSample, Sampler, Sampling

if TYPE_CHECKING:
    from gnomon.events.event import Group
    from gnomon.machines.execution import RunOptions
    from gnomon.machines.machine import Machine
    from gnomon.machines.pmu.events import Pmu
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
