"""Sets that take turns on the counters: carrying a rotation out, and how long its turns are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, UsageError
from gnomon.measure.run import Stopper, runs_command
from gnomon.recording.contents import RunInfo
from gnomon.sources.base import OwnTime
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.sources.base import Rotation, Target, Turn


@dataclass(frozen=True, slots=True)
class Turned:
    """How a run went in which sets took turns; `failure` says what stopped it early."""

    run: RunInfo
    warnings: tuple[str, ...]
    interrupted: bool
    failure: str = ""


def take_turns(
    rotation: Rotation,
    target: Target,
    lengths: Iterator[int],
    choose: Callable[[], int],
    take: Callable[[Turn], bool],
    *,
    duration: float | None = None,
    finish: Callable[[], None] = lambda: None,
) -> Turned:
    """Carry a rotation out until the target ends, `duration` s are over, or somebody stops it.

    `take` gets every turn and returns whether something was read in it; what stops the rotation
    early is an error only if nothing was. `finish` is called after the last turn.
    """
    started_at = utc_now(milliseconds=True)
    own = rotation if isinstance(rotation, OwnTime) else None
    clock = time.monotonic_ns if own is None else own.clock
    start = clock()
    deadline = None if duration is None else start + round(duration * 1e9)
    waits = runs_command(target)
    something, failure = False, ""
    with Stopper().installed() as stopper:
        stopper.watch(rotation)

        def over() -> bool:
            # A command that was interrupted is waited for, so that its last counts are not lost.
            requested = stopper.requested and not waits
            return requested or (deadline is not None and clock() >= deadline)

        try:
            for turn in rotation.turns(lengths, choose, over):
                something |= take(turn)
        except GnomonError as error:
            if not something:
                raise
            failure = str(error)
        finally:
            stopper.watch(None)
        finish()
        run = RunInfo(0, 0, start, clock(), rotation.exit_status, started_at)
        warnings = tuple(dict.fromkeys(rotation.warnings))
        return Turned(run, warnings, stopper.requested, failure)


def steady(interval: int) -> Iterator[int]:
    """Return turns of the same length, in ns."""
    _check(interval)
    return repeat(interval)


def _check(interval: int) -> None:
    if interval <= 0:
        raise UsageError(f"the interval must be at least 1 ns, not {interval} ns.")


@dataclass(frozen=True, slots=True)
class _Limits:
    """What turns may cost. Times are in ns."""

    rotations: int  # that have passed in a phase of the program before its turns grow
    shortest: int
    eager: float  # a rotation is at least as long as the geometric mean of this and the time so far
    calm: float  # and at most as long as that of this and the time so far


_REAL = _Limits(rotations=8, shortest=1_000_000, eager=5e6, calm=math.inf)
# On a simulated machine a turn costs nothing but our own time.
_SIMULATED = _Limits(rotations=48, shortest=250, eager=100.0, calm=2000.0)


class Growing(Iterator[int]):
    """Turns that are short where a program does something new, and grow to `interval`.

    Nobody knows how long a program, or a phase of it, will last. Turns that are a fixed share
    of the time so far make every set come many times, in a short phase as in a long one. A
    phase is new when what is always counted, which `note` is told of, jumps; what comes once,
    at a program's end as at its start, is then not over before each set had its turn. However
    often that is, the number of turns grows with no more than the root of the time.
    """

    JUMP = math.log(1.5)  # of a rate that may be the beginning of a new phase
    UNUSUAL = 4.0  # times how far rates usually are from their mean

    def __init__(self, interval: int, sets: int, *, simulated: bool = False) -> None:
        _check(interval)
        self._interval = interval
        self._sets = max(sets, 1)
        self._limits = _SIMULATED if simulated else _REAL
        self._passed = 1
        self._phase = 0  # the part of it since a phase began
        self._levels: list[_Level] = []

    def __next__(self) -> int:
        """Return the length of the next turn, in ns."""
        limits = self._limits
        least, most = (math.sqrt(self._passed * each) for each in (limits.eager, limits.calm))
        rotation = min(max(self._phase / limits.rotations, least), most)
        turn = max(limits.shortest, rotation / self._sets)
        length = self._interval if turn >= self._interval else int(turn)
        self._passed += length
        self._phase += length
        return length

    def note(self, seconds: float, counts: Sequence[float]) -> None:
        """Take in what was counted all the time in a turn that is over."""
        if not self._levels:
            self._levels = [_Level() for _ in counts]
        pairs = zip(self._levels, counts, strict=True)
        jumps = [level.jumps(math.log1p(count / seconds)) for level, count in pairs]
        if any(jumps):
            self._phase = 0
            for level in self._levels:
                level.begin()


class _Level:
    """The logarithm of a rate: its mean in this phase, and how far it usually is from that."""

    OWN, SPREAD = 1 / 8, 1 / 16  # how fast they are learned

    def __init__(self) -> None:
        self._last = math.nan
        self._mean = math.nan
        self._spread = 0.0

    def jumps(self, level: float) -> bool:
        """Take in a level; True when it is far from what it was."""
        self._last = level
        if math.isnan(self._mean):
            self._mean = level
        far = abs(level - self._mean)
        new = far > max(Growing.JUMP, Growing.UNUSUAL * self._spread)
        self._spread += (far - self._spread) * self.SPREAD
        self._mean += (level - self._mean) * self.OWN
        return new

    def begin(self) -> None:
        """Forget the mean of the phase that is over."""
        self._mean = self._last
