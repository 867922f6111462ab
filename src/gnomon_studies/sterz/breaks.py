"""E5: phases of a program, of which it is known where they begin.

The document shows the start of a browser, and nothing that could be compared. Here the first
thread of a program allocates memory and then all threads compute, on the simulated machine; and
series with noise are made of which every break is known.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.phases import PhaseSeries, phases
from gnomon.analysis.study import Row
from gnomon_studies.sterz.simulation import execution, sampled
from gnomon_studies.verdicts import holds

SAMPLES = 200
CASES = 100
_FINE = 25  # how much closer the truth is looked at
# Steps of the allocation are shorter than a sample, so that the ramp is one.
_PROGRAMS: Mapping[str, Mapping[str, str]] = {
    "early": {"size": "4MiB", "steps": "1000", "iterations": "2000000"},
    "in the middle": {"size": "16MiB", "steps": "2000", "iterations": "1500000"},
    "late": {"size": "32MiB", "steps": "4000", "iterations": "500000"},
}
_POINTS = 1000
_MANY_POINTS = 10_000
_QUIET, _LOUD = 0.001, 0.01  # noise, as a share of the range
_FALSE_ALARMS = 0.05
_FOUND = 0.95


def run(seed: int) -> Iterator[Row]:
    """Split simulated programs, then series with noise, then series that have no break."""
    for name, parameters in _PROGRAMS.items():
        yield from program_rows(name, parameters, seed)
    yield from noisy_rows(seed, CASES)
    yield unbroken_row(seed, CASES)
    yield duration_row(seed)


def program_rows(name: str, parameters: Mapping[str, str], seed: int) -> Iterator[Row]:
    """Yield how far from the truth a program is split, by footprint and by what it executes."""
    with execution("ramp-compute", parameters, seed) as whole:
        whole.advance()
        end = whole.now_ns
    fine = np.linspace(0, end, SAMPLES * _FINE + 1)
    totals, footprint = sampled("ramp-compute", parameters, seed, fine, ("instructions",))
    truth = float(fine[int(np.argmax(footprint == footprint[-1]))])
    times = fine[::_FINE]
    found = phases((times, footprint[::_FINE]))
    yield _off_row(
        f"break {name}, by footprint", [each.time for each in found.breaks], truth, end / SAMPLES
    )
    rates = np.diff(totals[::_FINE, 0]) / np.diff(times)
    series = PhaseSeries("instructions", times[1:], rates, is_rate=True)
    found = phases(series, exactly=2)
    yield _off_row(
        f"break {name}, by instructions",
        [each.time for each in found.breaks],
        truth,
        end / SAMPLES,
        note="two phases asked for",
    )


def _off_row(quantity: str, found: list[float], truth: float, sample: float, note: str = "") -> Row:
    off = [abs(each - truth) / sample for each in found]
    right = len(off) == 1 and off[0] <= 1
    text = f"{off[0]:.2f} samples off" if len(off) == 1 else f"{len(off)} breaks"
    where = f"true break after {truth / sample:.1f} of {SAMPLES} samples"
    return holds(
        "E5",
        quantity,
        None,
        text,
        "within one sample",
        true=right,
        note=f"{where}; {note}" if note else where,
    )


def noisy_rows(seed: int, cases: int) -> Iterator[Row]:
    """Yield how often the break of a ramp that becomes flat is found, in spite of noise."""
    random = np.random.default_rng([seed, 5])
    near, inside, near_if_loud = 0, 0, 0
    for _ in range(cases):
        at = float(random.uniform(0.2, 0.8)) * _POINTS
        quiet = phases(_ramp(at, _QUIET, random)).breaks
        near += len(quiet) == 1 and abs(quiet[0].time - at) <= 1
        loud = phases(_ramp(at, _LOUD, random)).breaks
        inside += len(loud) == 1 and loud[0].low <= at <= loud[0].high
        near_if_loud += len(loud) == 1 and abs(loud[0].time - at) <= 1
    yield holds(
        "E5",
        f"ramps with noise of {_QUIET:.1%} split within one sample",
        None,
        f"{near} of {cases}",
        f"at least {_FOUND:.0%}",
        true=near >= _FOUND * cases,
        note=f"{_POINTS:,} points, break anywhere from a fifth to four fifths",
    )
    yield holds(
        "E5",
        f"ramps with noise of {_LOUD:.0%}: break inside its 95 % interval",
        None,
        f"{inside} of {cases}",
        "at least 90 %",
        true=inside >= 0.9 * cases,
        note=f"{near_if_loud} within one sample: so much noise hides where a line bends",
    )


def _ramp(
    at: float, noise: float, random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and values: up to 1 until the break, then flat."""
    times = np.arange(_POINTS, dtype=np.float64)
    return times, np.minimum(times / at, 1.0) + noise * random.standard_normal(_POINTS)


def unbroken_row(seed: int, cases: int) -> Row:
    """Return how often a line with noise is split."""
    random = np.random.default_rng([seed, 6])
    times = np.arange(_POINTS, dtype=np.float64)
    split = sum(
        len(phases((times, times / _POINTS + 0.1 * random.standard_normal(_POINTS)))) > 1
        for _ in range(cases)
    )
    return holds(
        "E5",
        "lines with noise and no break that are split",
        "always, in two",
        f"{split} of {cases}",
        f"at most {_FALSE_ALARMS:.0%}",
        true=split <= _FALSE_ALARMS * cases,
        note="the document splits whatever it is given",
    )


def duration_row(seed: int) -> Row:
    """Return how long a split takes, as an order of magnitude, so that it is always the same."""
    random = np.random.default_rng([seed, 7])
    times = np.arange(_MANY_POINTS, dtype=np.float64)
    values = np.minimum(times / 3000, 1.0) + 0.01 * random.standard_normal(_MANY_POINTS)
    series = (times, values)
    phases(series, max_phases=2)  # loads what it needs
    start = time.process_time()
    phases(series, exactly=2)
    taken = 1e3 * (time.process_time() - start)
    fast = taken < 100
    return holds(
        "E5",
        f"CPU time to split {_MANY_POINTS:,} points in two",
        "milliseconds for thousands",
        "under 100 ms" if fast else f"{taken:,.0f} ms",
        "under 100 ms",
        true=fast,
        note="this host",
    )
