"""Scalings: events of every kind of growth, with a knee, predictions and components."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from gnomon.analysis.runs import RunTable
from gnomon.analysis.scaling import Scaling, scale_table
from gnomon.analysis.scaling.result import (
    Alternative,
    Coefficient,
    Components,
    EventScaling,
    Factor,
    Knee,
    Model,
    Noise,
    Prediction,
    Shape,
)
from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.result import Interval

_POINTS = tuple((float(2**power),) for power in range(7))
_BAND = tuple(float(n) for n in range(1, 65, 2))


def small() -> Scaling:
    """One event that is linear in n, one quadratic, one constant."""
    random = Random(5)
    runs, rows = [], []
    for number, n in enumerate((1, 2, 4, 8, 16, 32, 64) * 3):
        runs.append(RunInfo(number, 0, number, number + 1, 0, parameters={"n": str(n)}))
        noise = [1 + random.gauss(0, 0.005) for _ in range(3)]
        rows.append([(100 + 50.0 * n) * noise[0], (10 + 3.0 * n * n) * noise[1], 77.0 * noise[2]])
    names = ("linear", "quadratic", "level")
    table = RunTable(
        Provenance("perf", command=("./program", "{n}"), host="box"),
        tuple(EventInfo(name) for name in names),
        tuple(runs),
        np.array(rows),
    )
    return scale_table(table, ["n=128"])


def empty() -> Scaling:
    return Scaling((), (), 0, (), _components(()), provenance=Provenance(""))


def _components(events: tuple[str, ...]) -> Components:
    count = len(events)
    return Components(
        events,
        np.linspace(0.8, 0.1, min(count, 2)),
        np.full((min(count, 2), count), 0.5),
        np.ones((len(_POINTS) if count else 0, min(count, 2))),
    )


def _row(number: int, text: str = "") -> EventScaling:
    constant = number % 3 == 2
    shape = Shape.POWER if number % 2 else Shape.QUADRATIC
    model = Model() if constant else Model(((Factor(0, shape),),))
    unbounded = Interval(-math.inf, math.inf)
    numbers = [Coefficient("1", 1e3, Interval(900, 1100))]
    if not constant:
        numbers.append(Coefficient("n", -2.5e6 if number % 5 else 2.0, unbounded))
    if model.free:
        numbers.append(Coefficient("a of n", 1.5, Interval(1.4, 1.6)))
    return EventScaling(
        event=text or f"event-{number}",
        unit="ns" if number % 4 else "",
        parameters=(text or "n",),
        model=model,
        coefficients=tuple(numbers),
        r_squared=None if constant else 0.99,
        adjusted_r_squared=None if constant else 0.98,
        noise=Noise.PROPORTIONAL,
        alternatives=(Alternative("cubic", 0.5),),
        means=(*(float(n**2) for (n,) in _POINTS[:-1]), None),
        knee=Knee(8.0, 1.0, 0.0, number % 2 == 0, 1e-4) if number < 2 else None,
        predictions=(Prediction((1e6,), None if number % 2 else 1e9, unbounded),),
        band=tuple(Prediction((n,), n**2, Interval(0.9 * n**2, math.inf)) for n in _BAND)
        if number < 20
        else (),
        note=text or "no model goes through all points",
    )


def _of(rows: tuple[EventScaling, ...], text: str = "") -> Scaling:
    return Scaling(
        (text or "n",),
        _POINTS,
        21,
        rows,
        _components(tuple(row.event for row in rows[:12])),
        provenance=Provenance("machine", simulated=True, command=(text or "./x",), host=text),
        warnings=(text or "a warning",),
    )


def hostile(text: str) -> Scaling:
    return _of(tuple(_row(number, text) for number in range(9)), text)


def huge(rows: int) -> Scaling:
    return _of(tuple(map(_row, range(rows))))
