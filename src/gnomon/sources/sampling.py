"""Samples of where events happen, as any source gives them."""

from __future__ import annotations

import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self, runtime_checkable

from gnomon.errors import UsageError
from gnomon.events.event import Request
from gnomon.sources.base import Source, Target


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample an event: every `period` events, or about `frequency` times a second.

    One that `follows` counts only beside the event before it, which leads their group. One that is
    `aux` writes packets of ARM's SPE into a buffer of its own; with `common_sources` what answered
    is numbered as ARM's own cores do.
    """

    request: Request
    period: int | None = None
    frequency: int | None = None
    callchain: bool = False
    address: bool = False
    weight: bool = False
    data_source: bool = False
    wake_each: bool = False
    follows: bool = False
    aux: bool = False
    common_sources: bool = False

    @property
    def amount(self) -> int:
        """The period or the frequency, whichever is given, once it was checked."""
        if (self.period is None) == (self.frequency is None):
            raise UsageError(
                f"'{self.request.label}' needs either a sampling period or a frequency, not both."
            )
        amount = self.period if self.period is not None else self.frequency
        assert amount is not None
        if not 0 < amount < 2**63:
            raise UsageError(f"the sampling period must be at least 1, not {amount}.")
        return amount


class Place(NamedTuple):
    """Where an address lies: file of the code, function, source file and line."""

    module: str
    function: str
    source: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A file that a process mapped as code, so that addresses can be given names."""

    time: int
    pid: int
    start: int
    length: int
    offset: int
    path: str


@dataclass(slots=True)
class SampleBatch:
    """Samples as columns; the frames of sample i are those before `chain_ends[i]`."""

    event: array.array[int] = field(default_factory=lambda: array.array("I"))
    time: array.array[int] = field(default_factory=lambda: array.array("Q"))
    ip: array.array[int] = field(default_factory=lambda: array.array("Q"))
    address: array.array[int] = field(default_factory=lambda: array.array("Q"))
    period: array.array[int] = field(default_factory=lambda: array.array("Q"))
    weight: array.array[int] = field(default_factory=lambda: array.array("Q"))
    data_source: array.array[int] = field(default_factory=lambda: array.array("Q"))
    pid: array.array[int] = field(default_factory=lambda: array.array("I"))
    tid: array.array[int] = field(default_factory=lambda: array.array("I"))
    cpu: array.array[int] = field(default_factory=lambda: array.array("I"))
    chain_frames: array.array[int] = field(default_factory=lambda: array.array("Q"))
    chain_ends: array.array[int] = field(default_factory=lambda: array.array("Q"))

    def __len__(self) -> int:
        return len(self.time)

    def chain(self, index: int) -> tuple[int, ...]:
        """Return the call chain of a sample, innermost first, with the kernel's markers."""
        first = self.chain_ends[index - 1] if index else 0
        return tuple(self.chain_frames[first : self.chain_ends[index]])


class Sampler(Protocol):
    """Sampled events on a target: start, drain now and then, stop, close."""

    def start(self) -> None:
        """Begin to sample; a command begins to run."""
        ...

    def drain(self) -> SampleBatch:
        """Return the samples since the last call."""
        ...

    def maps(self) -> list[MappedFile]:
        """Return the files mapped since the last call."""
        ...

    def place_of(self, ip: int) -> Place | None:
        """Return where an address lies, None when the mapped files tell."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the target; False when the time was over first."""
        ...

    def wait_for_samples(self, timeout: float) -> bool:
        """Wait until there is something to drain."""
        ...

    def stop(self) -> None:
        """Cease to sample; what was sampled can still be drained."""
        ...

    def totals(self, index: int) -> tuple[int, int, int]:
        """Return time enabled, time running and count of an event."""
        ...

    @property
    def exit_status(self) -> int | None:
        """How the command ended, as a shell would say it."""
        ...

    @property
    def lost(self) -> int:
        """How many samples had to be dropped."""
        ...

    @property
    def throttled(self) -> int:
        """How often an event was paused because it came too fast."""
        ...

    def close(self) -> None:
        """Give everything back; may be called again."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class CanSample(Source, Protocol):
    """A source that can also say where events happen."""

    def sample(self, samplings: Sequence[Sampling], target: Target, *, pages: int = 128) -> Sampler:
        """Set up sampling on a target."""
        ...
