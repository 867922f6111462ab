"""A process of loads behind the simulated PMU: what is counted is loads above a latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.machines.ledger import ALL_MODES
from gnomon.machines.loads import FAST, SLOW, LoadRun
from gnomon.sources.simulated.run import Run
from gnomon.units import parse_count, parse_duration

if TYPE_CHECKING:
    from gnomon.machines.pmu.programming import Programmed
    from gnomon.sources.machine.targets import Bench

_RATE = 1e6
_PHASES = {"slow": SLOW, "fast": FAST}
_DURATION_NS = 10 * 10**9


class LoadsRun(Run):
    """Loads of known latencies in place of a program."""

    def __init__(self, loads: LoadRun) -> None:
        self.loads = loads

    @property
    def now_ns(self) -> int:
        """The simulated time since the start."""
        return self.loads.now_ns

    def begin(self) -> None:
        """Nothing has to be built."""

    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Go on to a moment; tell whether the process has ended."""
        if self.exit_status is None and self.loads.advance(until_ns, seconds=seconds):
            self.exit_status = 0
        return self.exit_status is not None

    def refusal(self, programmed: Programmed) -> str:
        """Return why an event cannot be counted in this run, empty when it can."""
        if not programmed.event.latency:
            return "the signal 'loads' has nothing but loads above a latency"
        if programmed.modes != ALL_MODES:
            return "a signal does not tell privilege levels apart"
        return ""

    def look(self, programmed: Programmed) -> Mapping[str, int]:
        """Return how many loads took at least as long as the threshold so far."""
        return {"process": self.loads.at_least(programmed.event.threshold or 0)}


def loads_run(bench: Bench, words: Sequence[str]) -> LoadsRun:
    """Return the process that words such as `rate=1M phases=slow duration=10s` ask for."""
    rate, phase, duration = _RATE, SLOW, _DURATION_NS
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in ("rate", "phases", "duration"):
            raise UsageError(
                f"'{word}' means nothing to signal:loads: it takes rate=1M, phases=slow (fast, or "
                "a time) and duration=10s."
            )
        if key == "rate":
            rate = float(parse_count(value, "rate"))
        elif key == "duration":
            duration = parse_duration(value, "duration")
        else:
            known = _PHASES.get(value)
            phase = parse_duration(value, "phases") / 1e9 if known is None else known
    return LoadsRun(LoadRun(rate, phase, duration, bench.seed))
