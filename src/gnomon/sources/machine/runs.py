"""What runs on a simulated machine while it is counted: a program, or a signal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.events.event import Scope
from gnomon.machines.execution import Execution, LatencyWatch
from gnomon.machines.ledger import ALL_MODES
from gnomon.machines.pmu.events import absent, evaluate, recipe
from gnomon.machines.program import Observed
from gnomon.machines.signals import FAST, SLOW, LoadRun
from gnomon.sources.simulated.simulator import Run, Seen
from gnomon.units import parse_count, parse_duration

if TYPE_CHECKING:
    from gnomon.machines.execution import RunOptions, Watch
    from gnomon.machines.ledger import Ledger
    from gnomon.machines.machine import Machine
    from gnomon.machines.pmu.programming import Programmed
    from gnomon.machines.program import Program
    from gnomon.machines.signals import SignalRun
    from gnomon.machines.tracing import TracedProgram
    from gnomon.sources.machine.source import Bench
    from gnomon.sources.sampling import MappedFile

_NEVER = 1 << 62  # a load that is sampled is of no use where loads are only counted
_SEEN = {
    "references": "its loads and stores",
    "instructions": "all its instructions",
    "classes": "what its instructions do",
    "fetches": "where its instructions are",
}


class ExecutionRun(Run):
    """A program on a simulated machine."""

    def __init__(
        self,
        machine: Machine,
        program: Program,
        *,
        seed: int = 1,
        options: RunOptions | None = None,
    ) -> None:
        self._machine = machine
        self.program = program
        self._seed = seed
        self._options = options
        self._watches: list[Watch] = []
        self._latency: dict[str, int] = {}  # labels, with the number of their watch
        self._execution: Execution | None = None
        self._ledger: Ledger | None = None

    @property
    def pid(self) -> int:
        """The number of the real process, 0 when there is none."""
        return 0

    @property
    def dropped(self) -> int:
        """How many samples found no room."""
        return self.execution.dropped_samples

    def take_maps(self) -> list[MappedFile]:
        """Return the files of a real program that were not told of yet."""
        return []

    def watch(self, watch: Watch) -> int:
        """Add a watch before the beginning; returns its number."""
        self._watches.append(watch)
        return len(self._watches) - 1

    @property
    def execution(self) -> Execution:
        """The execution, once it has begun; it holds the whole truth."""
        assert self._execution is not None
        return self._execution

    @property
    def now_ns(self) -> int:
        """The simulated time since the start; a moment that was reached is exactly that."""
        return round(self.execution.now_ns)

    def begin(self) -> None:
        """Build the machine and let the program begin on it."""
        self._execution = Execution(
            self._machine,
            self.program,
            seed=self._seed,
            options=self._options,
            watches=tuple(self._watches),
        )

    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Go on to a moment, for about so many seconds of real time; tell whether it has ended."""
        if self.exit_status is None:
            self._ledger = None
            if self.execution.advance(until_ns, seconds=seconds) and self.exit_status is None:
                self.exit_status = self._outcome()
        return self.exit_status is not None

    def _outcome(self) -> int:
        return 0

    def refusal(self, programmed: Programmed) -> str:
        """Return why an event cannot be counted in this run, empty when it can."""
        event = programmed.event
        if event.missing:
            return event.missing
        if event.scope is Scope.LINK and not self._machine.links:
            return f"{self._machine.name} has no links"
        for term in event.terms:
            if reason := absent(recipe(term.name, self._machine).name, self._machine):
                return reason
        for need in sorted(event.needs - self.program.observed):
            return f"{self.program.name} does not let the machine see {_SEEN[need]}"
        return ""

    def admit(self, programmed: Programmed) -> None:
        """Prepare what it takes to count an event."""
        threshold = programmed.event.threshold
        if programmed.event.latency and threshold is not None:
            watch = LatencyWatch(threshold, _NEVER, programmed.modes)
            self._latency[programmed.label] = self.watch(watch)

    def look(self, programmed: Programmed) -> Mapping[str, int]:
        """Return how often an event happened so far, in each place."""
        event = programmed.event
        if event.constant is not None:
            return {"system" if event.scope is Scope.SYSTEM else "process": event.constant}
        if event.latency:
            totals = self.execution.counted(self._latency[programmed.label])
        else:
            totals = evaluate(event, self._machine, self.ledger(), programmed.modes)
        if event.scope is Scope.THREAD and self.program.dynamic:
            totals = totals[: self._born()]
        return _by_place(event.scope, totals, self._machine)

    def ledger(self) -> Ledger:
        """Return everything that the machine has counted."""
        if self._ledger is None:
            self._ledger = self.execution.ledger()
        return self._ledger

    def _born(self) -> int:
        """Return how many threads there were so far: room is kept for many more."""
        begun = [thread.begin_ns is not None for thread in self.execution.threads]
        return max((number for number, there in enumerate(begun, 1) if there), default=1)

    def close(self) -> None:
        """Give everything back; may be called again."""
        if self._execution is not None:
            self._execution.close()


def _by_place(scope: Scope, values: Sequence[int], machine: Machine) -> dict[str, int]:
    """Give each row its name; the rows of a link are its directions."""
    if scope is not Scope.LINK:
        word = "node" if scope is Scope.SOCKET else str(scope)
        return {f"{word}/{row}": value for row, value in enumerate(values)}
    found: dict[str, int] = {}
    for row, value in enumerate(values):
        a, b = machine.links[row // 2].ends
        place = f"link/{a}-{b}" if row % 2 == 0 else f"link/{b}-{a}"
        found[place] = found.get(place, 0) + value
    return found


class TracedRun(ExecutionRun):
    """A real program whose references are simulated while it runs."""

    has_process = True

    def __init__(
        self,
        machine: Machine,
        traced: TracedProgram,
        *,
        seed: int = 1,
        options: RunOptions | None = None,
    ) -> None:
        super().__init__(machine, traced.program, seed=seed, options=options)
        self._traced = traced
        self._told = False

    @property
    def pid(self) -> int:
        """The number of the real process."""
        return self._traced.pid

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be said about the trace."""
        name = self.program.name
        texts = [text.removesuffix(".") for text in self._traced.warnings]
        if self._traced.method == "lackey":
            texts.append(
                f"{name} is traced by valgrind, which is slow: compile it with `gnomon sim compile`"
            )
        if Observed.INSTRUCTIONS not in self.program.observed:
            texts.append(
                f"the machine sees the loads and stores of {name} only: times exclude the rest"
            )
        return tuple(texts)

    def begin(self) -> None:
        """Build the machine and let the program run."""
        super().begin()
        self._traced.release()

    def _outcome(self) -> int:
        self._traced.wait()
        return self._traced.exit_status or 0

    def interrupt(self, signal: int) -> None:
        """Pass a signal on to the program."""
        self._traced.signal(signal)

    def take_maps(self) -> list[MappedFile]:
        """Return the file of the program, once it is known where its code lies."""
        from gnomon.sources.sampling import MappedFile

        path = shutil.which(self.program.name)
        if self._told or path is None or not self._traced.load_base:
            return []
        self._told = True
        file = Path(path).resolve()
        length = file.stat().st_size
        return [MappedFile(0, self.pid, self._traced.load_base, length, 0, str(file))]

    def close(self) -> None:
        """End the program if it still runs, and give everything back."""
        self._traced.close()
        super().close()


class SignalledRun(Run):
    """Counter processes in place of a program."""

    def __init__(self, run: SignalRun, pmu: str, machine: str) -> None:
        self.signal = run
        if run.signal.pmu != pmu:
            raise UsageError(
                f"the signal '{run.signal.name}' is of the PMU '{run.signal.pmu}', "
                f"and {machine} has '{pmu}'."
            )

    @property
    def now_ns(self) -> int:
        """The simulated time since the start."""
        return self.signal.now_ns

    def begin(self) -> None:
        """Nothing has to be built."""

    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Go on to a moment; tell whether the signal has ended."""
        if self.exit_status is None and self.signal.advance(until_ns, seconds=seconds):
            self.exit_status = 0
        return self.exit_status is not None

    def refusal(self, programmed: Programmed) -> str:
        """Return why an event cannot be counted in this run, empty when it can."""
        if programmed.event.name not in self.signal.signal.processes:
            return f"the signal '{self.signal.signal.name}' has no process for it"
        if programmed.modes != ALL_MODES:
            return "a signal does not tell privilege levels apart"
        return ""

    def look(self, programmed: Programmed) -> Mapping[str, int]:
        """Return how often an event happened so far, on each CPU."""
        counts = self.signal.counts()
        return {
            f"core/{cpu}": int(counts[i])
            for i, (event, cpu) in enumerate(self.signal.series)
            if event == programmed.event.name
        }


# ---- accesses, one by one --------------------------------------------------------------------


_PIECE_SECONDS = 0.05


class Accesses:
    """Pieces of a run with what a monitor saw meanwhile; to be iterated over once."""

    def __init__(self, run: Run, *, local: bool) -> None:
        self._run = run
        self._local = local
        self.exit_status: int | None = None
        self.warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Seen]:
        with self._run as run:
            if not isinstance(run, ExecutionRun):
                raise UsageError("a signal accesses no memory: name a workload or a program.")
            monitor = _native.StreamMonitor(self._local)
            run.begin()
            run.execution.memory.watch_remote(monitor)
            ended = False
            while not ended:
                ended = run.advance(seconds=_PIECE_SECONDS)
                yield Seen(monitor.take(), run.execution.now_ns)
            self.exit_status = run.exit_status
            self.warnings = run.warnings


# ---- loads above a latency -------------------------------------------------------------------


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
                f"'{word}' is not an argument of signal:loads: it takes rate=1M, phases=slow "
                "(fast, or a time) and duration=10s."
            )
        if key == "rate":
            rate = float(parse_count(value, "rate"))
        elif key == "duration":
            duration = parse_duration(value, "duration")
        else:
            known = _PHASES.get(value)
            phase = parse_duration(value, "phases") / 1e9 if known is None else known
    return LoadsRun(LoadRun(rate, phase, duration, bench.seed))
