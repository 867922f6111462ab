"""E4: a parallel sort of 4 MiB of random numbers with 1 to 8 threads on four cores.

Generating the numbers is counted as well, as in the document. The same numbers are sorted with
any number of threads, and runs on a simulated machine do not vary, so there is one a point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling import EventScaling, scale_models
from gnomon.analysis.study import Row
from gnomon_studies.sterz.simulation import CORES, execution
from gnomon_studies.verdicts import shape

SIZE = "4MiB"
THREADS = tuple(range(1, 9))
_SPEED = "speed"
_STRAIGHT = 0.95  # R2 that the document's lines have at least
_FRONT_END = {"l1_fetch_misses": "L1-icache-load-misses", "itlb_misses": "iTLB-load-misses"}
_COUNTS = ("branch_taken", "atomics", "atomic_cycles", "interventions_local", *_FRONT_END)


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line through the counts of 1 to 8 threads."""

    slope: float
    r_squared: float

    @property
    def text(self) -> str:
        """The line as a row shows it."""
        return f"{self.slope:+,.0f} a thread, R2 {self.r_squared:.2f}"


def run(seed: int) -> Iterator[Row]:
    """Sort with all numbers of threads and look at how counts go with it."""
    values = sweep(SIZE, seed)
    yield from line_rows(values)
    models = {row.event: row for row in modelled(values)}
    yield from knee_rows(values, models)


def sweep(size: str, seed: int) -> Mapping[str, NDArray[np.float64]]:
    """Return counts and speed for each number of threads."""
    found: dict[str, list[float]] = {name: [] for name in (*_COUNTS, _SPEED)}
    for threads in THREADS:
        with execution("parallel-sort", {"size": size, "threads": str(threads)}, seed) as sort:
            sort.advance()
            ledger = sort.ledger()
            for name in _COUNTS:
                found[name].append(ledger.total(name))
            found[_SPEED].append(1e9 / sort.now_ns)
    return {name: np.array(numbers, float) for name, numbers in found.items()}


def modelled(values: Mapping[str, NDArray[np.float64]]) -> Sequence[EventScaling]:
    """Return the models that `gnomon scale` finds, with their knees."""
    return scale_models(
        np.stack(list(values.values()), axis=1),
        {"threads": np.array(THREADS, float)},
        events=list(values),
        units=[""] * len(values),
    )


def line_through(counts: NDArray[np.float64]) -> Line:
    """Return the straight line that the document fits to every event."""
    threads = np.array(THREADS, float)
    slope, level = np.polyfit(threads, counts, 1)
    rest = ((counts - slope * threads - level) ** 2).sum()
    total = ((counts - counts.mean()) ** 2).sum()
    return Line(float(slope), float(1 - rest / total) if total else 0.0)


def line_rows(values: Mapping[str, NDArray[np.float64]]) -> Iterator[Row]:
    """Yield the three published lines."""
    near = line_through(values["interventions_local"])
    count = line_through(values["atomics"])
    yield _line_row(
        "L1D-locked cycles",
        "+8,417 a thread, R2 0.95",
        line_through(values["atomic_cycles"]),
        +1,
        "cycles from when an atomic asks for its line until it is done, as a locked cache is not "
        f"modelled; atomics, one a thread at each of five barriers: {count.text}, as follows from "
        f"the program; lines taken from other cores: {near.text}",
    )
    taken = line_through(values["branch_taken"])
    yield _line_row(
        "taken conditional branches",
        "-846,954 a thread, R2 0.99",
        taken,
        -1,
        "retired ones; the document counts speculative ones, which are not simulated",
    )
    yield _line_row(
        "taken unconditional branches",
        "-813,825 a thread, R2 0.98",
        taken,
        -1,
        "branches are not told apart by kind here: the same count",
    )


def _line_row(quantity: str, published: str, line: Line, sign: int, note: str) -> Row:
    return shape(
        "E4",
        quantity,
        published,
        line.text,
        true=line.slope * sign > 0 and line.r_squared >= _STRAIGHT,
        tolerance=f"sign, R2 at least {_STRAIGHT}",
        note=note,
    )


def knee_rows(
    values: Mapping[str, NDArray[np.float64]], models: Mapping[str, EventScaling]
) -> Iterator[Row]:
    """Yield what changes where there are as many threads as cores."""
    step = values["branch_taken"][CORES:].mean() / values["branch_taken"][:CORES].mean() - 1
    yield shape(
        "E4",
        "taken branches, 5 to 8 threads against 1 to 4",
        "+30 % (text), -33 % (figure)",
        f"{step:+.1%}",
        true=abs(step) > 0.1,
        tolerance="a step of over 10 %",
        note="the same numbers are compared however many threads share the work",
    )
    speed = values[_SPEED]
    below = (speed[CORES - 1] - speed[0]) / (CORES - 1) / speed[0]
    above = (speed[-1] - speed[CORES - 1]) / (len(speed) - CORES) / speed[0]
    yield shape(
        "E4",
        "what a further thread adds to the speed of one, up to 4 and beyond",
        "less beyond",
        f"{below:.0%} and {above:.0%}",
        true=above < 0.9 * below,
        tolerance="a tenth less",
        note="threads of a core share pipeline and recovery from mispredictions by Parker's law; "
        "the latter was added because the sort lost almost nothing without it, so this is no "
        "independent reproduction",
    )
    knee = models[_SPEED].knee
    yield shape(
        "E4",
        "knee of the speed, as scale finds it",
        CORES,
        "none" if knee is None else f"{knee.at:.1f} threads",
        true=knee is not None and abs(knee.at - CORES) <= 0.5,
        tolerance="at 4 threads",
        note="the fifth thread adds least, as all wait for the core that two of them share",
    )
    bent = {name: models[count].knee for count, name in _FRONT_END.items() if models[count].knee}
    yield shape(
        "E4",
        "knees of other counts",
        CORES,
        ", ".join(f"{knee.at:.1f}" for knee in bent.values() if knee) or "none",
        true=bool(bent) and all(abs(knee.at - CORES) <= 0.5 for knee in bent.values() if knee),
        tolerance="at 4 threads",
        note=f"{', '.join(bent)}: two threads of a core share what the first has loaded",
    )
