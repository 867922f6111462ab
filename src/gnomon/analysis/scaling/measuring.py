"""Runs of a program for many values of a parameter, and what they say of every event."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.runs import RunTable, table_of
from gnomon.analysis.scaling.modelling import scale_models
from gnomon.analysis.scaling.parameters import (
    FEWEST_VALUES,
    Parameter,
    check,
    number,
    parse_place,
)
from gnomon.analysis.scaling.result import WIDE_RANGE, Components, EventScaling, Scaling
from gnomon.errors import GnomonError, UsageError
from gnomon.measure.run import TIMED_OUT
from gnomon.sources.base import Command, Source
from gnomon.sources.registry import source
from gnomon.units import parse_seconds

if TYPE_CHECKING:
    from gnomon.measure.campaign import OnProgress
    from gnomon.recording import Recording
    from gnomon.recording.contents import RunInfo

_DRAWN = 33
_ENOUGH = 5


def scale(
    subject: Recording | str | os.PathLike[str] | Sequence[str] | Command,
    parameters: Mapping[str, Sequence[float | str]] | None = None,
    events: str | None = None,
    *,
    repeat: int = 3,
    at: str | Sequence[str] = (),
    level: float = 0.95,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    timeout: str | float | None = None,
    warmup: int = 0,
    resume: bool = False,
    on: Source | str | None = None,
    on_progress: OnProgress | None = None,
) -> Scaling:
    """Say how every event goes with one or two parameters of a command.

    `subject` is a command as a list of words with `{n}` where parameter n goes, run
    `repeat` times for every combination of the values in `parameters`; or a recording that
    was made this way. `at` names places to predict, as in `n=1024`. A call that was interrupted
    goes on when it is repeated; `resume` makes it an error that there is nothing to go on with.
    """
    if not 0 < level < 1:
        raise UsageError(f"the level must be between 0 and 1, not {level:g}.")
    places = [at] if isinstance(at, str) else list(at)
    if isinstance(subject, Command) or (
        isinstance(subject, Sequence) and not isinstance(subject, str)
    ):
        from gnomon.analysis.scaling.commands import measure_points
        from gnomon.measure.campaign import Terms

        command = subject if isinstance(subject, Command) else Command(tuple(subject))
        given = [
            Parameter(name, tuple(str(value) for value in values))
            for name, values in (parameters or {}).items()
        ]
        check(given, command.argv)
        names = tuple(parameter.name for parameter in given)
        for place in places:
            parse_place(place, names)  # a mistake is better found before the runs
        table, interrupted = measure_points(
            command,
            given,
            events,
            Terms(
                repeat=repeat,
                seed=seed,
                timeout=parse_seconds(timeout, "timeout"),
                warmup=warmup,
                resume=resume,
                output=output,
                overwrite=overwrite,
                on_progress=on_progress,
            ),
            source(on),
        )
        return scale_table(table, places, level, interrupted=interrupted)
    from gnomon.recording import Recording

    if parameters:
        raise UsageError("a recording has its parameters already: omit them.")
    if isinstance(subject, Recording):
        return scale_table(table_of(subject), places, level)
    with Recording.open(subject) as recording:
        return scale_table(table_of(recording), places, level)


def scale_table(
    table: RunTable, at: Sequence[str] = (), level: float = 0.95, *, interrupted: bool = False
) -> Scaling:
    """Model the events of a table whose runs have parameters; the work behind `scale`."""
    names = tuple(dict.fromkeys(name for run in table.runs for name in run.parameters))
    if not names:
        raise GnomonError(
            "the runs of the recording have no parameters: record with `gnomon scale -o REC`."
        )
    warnings = [*table.warnings, *_failures(table)]
    kept = [
        i
        for i, run in enumerate(table.runs)
        if not run.exit_status and set(run.parameters) == set(names)
    ]
    whole, table = table, table.select(kept)
    points = np.array(
        [[number(run.parameters[name], name) for name in names] for run in table.runs], float
    ).reshape(len(table.runs), len(names))
    distinct = np.unique(points, axis=0)
    if len(distinct) < FEWEST_VALUES:
        late = any(run.exit_status == TIMED_OUT for run in whole.runs)
        raise GnomonError(
            f"only {len(distinct)} of {_count_points(whole)} points have a run that worked, and "
            f"growth takes at least {FEWEST_VALUES}: "
            + ("allow more time with --timeout." if late else "see why the command fails.")
        )
    if len(distinct) < _ENOUGH and len(points) < 2 * _ENOUGH:
        warnings.append(
            f"with {len(distinct)} points and {len(points)} runs only growth that a model fits "
            f"nearly exactly is told from chance: {_ENOUGH} points or more show the rest"
        )
    if len(distinct) == len(points):
        warnings.append(
            "there is one run a point, so that scatter and misfit cannot be told apart: -r 3 can"
        )
    known = [i for i in range(len(table.events)) if np.isfinite(table.values[:, i]).any()]
    places = [parse_place(text, names) for text in at]
    rows = scale_models(
        table.values[:, known],
        {name: points[:, i] for i, name in enumerate(names)},
        events=[table.events[i].name for i in known],
        units=[table.events[i].unit for i in known],
        at=[*places, *_places_to_draw(points, places)],
        level=level,
    )
    means = np.array(
        [_means(table.values[(points == point).all(1)][:, known]) for point in distinct]
    )
    column = {table.events[event].name: means[:, i].tolist() for i, event in enumerate(known)}
    rows = tuple(
        replace(
            row,
            means=tuple(mean if isfinite(mean) else None for mean in column[row.event]),
            predictions=row.predictions[: len(places)],
            band=row.predictions[len(places) :],
        )
        for row in rows
    )
    return Scaling(
        parameters=names,
        points=tuple(tuple(point) for point in distinct.tolist()),
        runs=len(points),
        rows=tuple(sorted(rows, key=_rank)),
        components=principal_components(means, [table.events[i].name for i in known]),
        provenance=table.provenance,
        warnings=tuple(dict.fromkeys(warnings)),
        level=level,
        interrupted=interrupted,
    )


def _places_to_draw(
    points: NDArray[np.float64], asked: Sequence[Sequence[float]]
) -> list[list[float]]:
    """Return places all over the range of a single parameter, as far as was asked for."""
    if points.shape[1] != 1:
        return []
    known = [*points[:, 0].tolist(), *(place[0] for place in asked)]
    low, high = min(known), max(known)
    wide = low > 0 and high / low > WIDE_RANGE
    steps = np.geomspace(low, high, _DRAWN) if wide else np.linspace(low, high, _DRAWN)
    return [[value] for value in steps.tolist()]


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each column where it has values, NaN where it has none."""
    counted = np.isfinite(values)
    sums = np.where(counted, values, 0.0).sum(0)
    means: NDArray[np.float64] = np.full(sums.shape, np.nan)
    np.divide(sums, counted.sum(0), out=means, where=counted.any(0))
    return means


def _count_points(table: RunTable) -> int:
    return len({tuple(run.parameters.items()) for run in table.runs})


def _failures(table: RunTable) -> Iterator[str]:
    """Yield a warning for each point at which runs failed."""
    points: dict[str, list[RunInfo]] = {}
    for run in table.runs:
        where = ", ".join(f"{name}={value}" for name, value in run.parameters.items())
        points.setdefault(where, []).append(run)
    for where, runs in points.items():
        failed = [run for run in runs if run.exit_status]
        if failed:
            statuses = ", ".join(sorted({str(run.exit_status) for run in failed}))
            yield (
                f"at {where} {len(failed)} of {len(runs)} runs failed (exit status {statuses}) "
                "and are left out"
            )


def _rank(row: EventScaling) -> tuple[float, ...]:
    """Order by growth over the measured range; constants come last."""
    known = [abs(mean) for mean in row.means if mean is not None]
    low, high = min(known), max(known)
    growth = high / low if low > 0 else np.inf if high > 0 else 1.0
    return (float(not row.model.terms), -float(growth))


def principal_components(values: NDArray[np.float64], events: Sequence[str]) -> Components:
    """Return the components of points x events; events that do not vary or lack values are out."""
    complete = ~np.isnan(values).any(0)
    spread = np.where(complete, np.nan_to_num(values).std(0), 0.0)
    size = np.where(complete, np.abs(np.nan_to_num(values)).max(0, initial=0.0), 0.0)
    kept = np.flatnonzero(spread > 1e-12 * size)
    names = tuple(events[i] for i in kept.tolist())
    if not names:
        return Components((), np.empty(0), np.empty((0, 0)), np.empty((len(values), 0)))
    standard = (values[:, kept] - values[:, kept].mean(0)) / spread[kept]
    left, strength, right = np.linalg.svd(standard, full_matrices=False)
    variance = strength**2
    return Components(names, variance / variance.sum(), right, left * strength)
