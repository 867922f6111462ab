"""Models of growth, beside Extra-P: time a model, and how often the class is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    FailedError,
    MissingError,
    Note,
    Result,
    Row,
    Target,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.tools import PROGRAMS
from gnomon.analysis.scaling import scale_models

Array = NDArray[np.float64]

CLASSES = (
    "constant",
    "logarithmic",
    "linear",
    "n log n",
    "quadratic",
    "cubic",
    "power",
    "exponential",
)
_REPEATS = 5
_EXPONENTS = (0.5, 1.5, 2.5)  # of powers: Extra-P has all of them among its own
_CACHE = Path(__file__).resolve().parent.parent / "build" / "benchmarks" / "extrap"
_EXPONENTIALS = 0.95  # of them must be found, whatever Extra-P finds
_TIMED_EVENTS = 1000
_TIMED_CASES = 60


@dataclass(frozen=True, slots=True)
class Case:
    """Sizes, and repeated values at each of them."""

    sizes: Array
    values: Array  # (size, repeat)


def generate(
    name: str, noise: float, generator: np.random.Generator, sizes: Array | None = None
) -> Case:
    """Draw a case that favours neither side.

    5 to 8 sizes, doubling from 2, 4, ... or 32; five repeats with multiplicative normal
    noise; a constant from 100 to a million, and a term that grows to between 10 and 1,000
    times it. Exponentials grow by e^3 to e^7 over the sizes.
    """
    if sizes is None:
        first, count = generator.integers(1, 6), generator.integers(5, 9)
        sizes = np.exp2(np.arange(first, first + count, dtype=np.float64))
    level = 10 ** generator.uniform(2, 6)
    term = _term(name, sizes, generator)
    top = 10 ** generator.uniform(1, 3)
    curve = level * (1 + top * term / term.max()) if name != "constant" else level + 0 * sizes
    scatter = 1 + noise * generator.normal(size=(len(sizes), _REPEATS))
    return Case(sizes, curve[:, None] * scatter)


def _term(name: str, sizes: Array, generator: np.random.Generator) -> Array:
    match name:
        case "logarithmic":
            return np.asarray(np.log2(sizes))
        case "n log n":
            return np.asarray(sizes * np.log2(sizes))
        case "power":
            return np.asarray(sizes ** generator.choice(_EXPONENTS))
        case "exponential":
            return np.asarray(np.exp(generator.uniform(3, 7) * sizes / sizes[-1]))
        case _:
            return np.asarray(sizes ** {"linear": 1, "quadratic": 2, "cubic": 3}.get(name, 0))


def run(effort: Effort) -> Iterator[Result]:
    """Compare time a model and accuracy by class."""
    peer = _extrap()
    yield from _time(peer, effort.rounds(10))
    for noise in (0.01, 0.05):
        yield from _accuracy(peer, noise, effort.rounds(300, least=20))


def _time(peer: Path, rounds: int) -> Iterator[Result]:
    generator = np.random.default_rng(1)
    cases = [
        generate(name, 0.02, generator, np.exp2(np.arange(1.0, 8.0)))
        for name in CLASSES * (_TIMED_EVENTS // len(CLASSES))
    ]
    sizes = np.repeat(cases[0].sizes, _REPEATS)
    values = np.column_stack([case.values.ravel() for case in cases])
    ours, theirs = [], []
    scale_models(values[:, :8], {"n": sizes})
    for _ in range(rounds):
        start = time.perf_counter()
        scale_models(values, {"n": sizes})
        ours.append((time.perf_counter() - start) / len(cases))
        theirs.append(_ask(peer, cases[:_TIMED_CASES])["seconds"] / _TIMED_CASES)
    yield Row(
        "a model of one event, 7 sizes, 5 repeats",
        quartiles(ours),
        "Extra-P",
        quartiles(theirs),
        paired_ratio(ours, theirs),
        Target(0.01),
    )


def _accuracy(peer: Path, noise: float, count: int) -> Iterator[Result]:
    generator = np.random.default_rng(90_000 + round(noise * 1000))
    for name in CLASSES:
        cases = [generate(name, noise, generator) for _ in range(count)]
        ours = Counter(_classes(cases))[name] / count
        theirs = Counter(_ask(peer, cases)["classes"])[name] / count
        spread = np.sqrt((ours * (1 - ours) + theirs * (1 - theirs)) / count)
        least = max(theirs, _EXPONENTIALS) if name == "exponential" else theirs
        worse = bool(ours < least - 2 * spread)
        yield Note(
            f"{name} at {noise:.0%} noise: found in {ours:.1%} of {count}, Extra-P {theirs:.1%};"
            f" target ≥ {least:.1%}, {'missed' if worse else 'met'}",
            failed=worse,
        )


def _classes(cases: list[Case]) -> list[str]:
    """Return our classes; cases with the same sizes are modelled together."""
    groups: dict[tuple[float, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(tuple(case.sizes), []).append(case)
    found: list[str] = []
    for sizes, some in groups.items():
        values = np.column_stack([case.values.ravel() for case in some])
        rows = scale_models(values, {"n": np.repeat(sizes, _REPEATS)})
        found += [row.growth for row in rows]
    return found


def _ask(peer: Path, cases: list[Case]) -> dict[str, Any]:
    content = [{"sizes": c.sizes.tolist(), "values": c.values.tolist()} for c in cases]
    done = subprocess.run(
        [str(peer), str(PROGRAMS / "extrap_models.py")],
        input=json.dumps(content),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise FailedError(f"Extra-P failed: {done.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _extrap() -> Path:
    """Return the Python of an environment that has Extra-P, made on first use."""
    python = _CACHE / "bin" / "python"
    if _has_extrap(python):
        return python
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(_CACHE)],
        [str(python), "-m", "pip", "install", "-q", "extrap"],
    )
    for step in steps:
        done = subprocess.run(
            step,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PIP_NO_INPUT": "1"},
        )
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise MissingError(
                f"Extra-P cannot be installed: {lines[-1] if lines else 'no reason'}"
            )
    if not _has_extrap(python):
        raise MissingError("Extra-P was installed but cannot be imported")
    return python


def _has_extrap(python: Path) -> bool:
    if not python.exists():
        return False
    check = [str(python), "-c", "import extrap.modelers.single_parameter.basic"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


BENCHMARK = Benchmark("scaling", "Models of growth", run)
