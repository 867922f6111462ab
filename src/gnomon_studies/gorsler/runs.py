"""Runs on the simulated Niagara 2: placements of threads, counts of each, agreement of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gnomon import Command
from gnomon.analysis.count import count
from gnomon.machines import RunOptions
from gnomon.sources import simulator

MACHINE = "niagara2"
FP_EVENT = "Instr_FGU_arithmetic:u"
INSTRUCTIONS = "Instr_cnt:u"
RUNS = 100
RELAXED = RunOptions(quantum_ns=20_000)
"""Threads may run ahead of each other: that changes times a little, and no instruction count."""

FP_OPERATIONS = 30_000
"""What a thread of the small kernels does: 100 x 100 x 3, or 5,000 x 6."""


@dataclass(frozen=True, slots=True)
class Placement:
    """How many threads there are, and the strands they are bound to, if they are."""

    name: str
    threads: int
    strands: tuple[int, ...] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The parameters of a workload that place its threads so."""
        if self.strands is None:
            return (f"threads={self.threads}",)
        return (f"threads={self.threads}", f"cpus={','.join(map(str, self.strands))}")


def _bound(strands: Sequence[int]) -> Placement:
    return Placement(f"{len(strands)} bound", len(strands), tuple(strands))


# A strand is 8 x core + number: 0, 8, 16 ... do not share a core, 0 and 1 do.
PLACEMENTS = (
    _bound(range(0, 32, 8)),
    _bound(range(0, 64, 8)),
    _bound([core + strand for core in range(0, 64, 8) for strand in (0, 1)]),
    Placement("16 unbound", 16),
)


def thread_counts(
    words: Sequence[str], event: str, seed: int, options: RunOptions | None = None
) -> tuple[int, ...]:
    """Return what an event counted in each thread of a workload, in the order of threads."""
    source = simulator(MACHINE, seed=seed, options=options or RELAXED)
    result = count(Command(tuple(words)), event, on=source, per_scope=True)
    by_thread = {int(line.scope.removeprefix("thread/")): line.value for line in result.counts}
    values = [by_thread[thread] for thread in sorted(by_thread)]
    if any(not isinstance(value, int) for value in values):
        raise AssertionError(f"{event} was not counted in every thread: {values}")
    return tuple(int(value) for value in values if value is not None)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many of several runs gave what was expected, and one that did not."""

    runs: int
    agreed: int
    value: tuple[int, ...]

    @property
    def note(self) -> str:
        """How many runs agreed, in words."""
        return f"{self.agreed} of {self.runs} runs"


def agreement(
    one_run: Callable[[int], tuple[int, ...]], expected: tuple[int, ...], seed: int, runs: int
) -> Agreement:
    """Make runs with different seeds and compare; `value` is the first that differs, if any."""
    found = [one_run(seed + number) for number in range(runs)]
    different = [each for each in found if each != expected]
    return Agreement(runs, runs - len(different), different[0] if different else expected)
