"""Runs of a program for many values of a parameter, and what they say of every event."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.analysis.runs import RunTable, table_of, tabulate
from gnomon.analysis.scaling.parameters import (
    Parameter,
    check,
    combinations,
    filled_in,
    parse_place,
)
from gnomon.errors import UsageError
from gnomon.measure.campaign import (
    Campaign,
    Plan,
    Task,
    Terms,
    one_run,
    prepare,
    shuffled,
    warmups,
)
from gnomon.measure.identity import identify
from gnomon.measure.run import Measurement
from gnomon.recording.contents import Reading, RunInfo
from gnomon.sources.base import Command, Source
from gnomon.sources.registry import source
from gnomon.units import parse_seconds

if TYPE_CHECKING:
    from gnomon.analysis.scaling.result import Scaling
    from gnomon.measure.campaign import OnProgress
    from gnomon.recording import Recording


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
    show_output: bool = False,
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

    >>> grown = gn.scale(["true", "{n}"], {"n": [1, 2, 4]}, "page-faults", repeat=2)
    >>> len(grown.points)
    3
    """
    if not 0 < level < 1:
        raise UsageError(f"the level must be between 0 and 1, not {level:g}.")
    places = [at] if isinstance(at, str) else list(at)
    if isinstance(subject, Command) or (
        isinstance(subject, Sequence) and not isinstance(subject, str)
    ):
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
                show_output=show_output,
                on_progress=on_progress,
            ),
            source(on),
        )
        from gnomon.analysis.scaling.modelling import scale_table

        return scale_table(table, places, level, interrupted=interrupted)
    from gnomon.analysis.scaling.modelling import scale_table
    from gnomon.recording import Recording

    if parameters:
        raise UsageError("a recording has its parameters already: omit them.")
    if isinstance(subject, Recording):
        return scale_table(table_of(subject), places, level)
    with Recording.open(subject) as recording:
        return scale_table(table_of(recording), places, level)


def measure_points(
    command: Command,
    parameters: Sequence[Parameter],
    events: str | None,
    terms: Terms,
    source: Source,
) -> tuple[RunTable, bool]:
    """Return a table of all runs, each with its parameters, and whether it was interrupted."""
    points = combinations(parameters)
    first = replace(command, argv=filled_in(command.argv, points[0]))
    groups = prepare(source, events, [first])
    each = [point for point in points for _ in range(terms.repeat)]
    # In random order a drift of the machine is scatter; in order it would look like growth.
    tasks = [
        Task(0, run, 0, point, label=_label(point))
        for run, point in enumerate(shuffled(each, terms.seed))
    ]
    origin = source.provenance(command)
    values = {f"--param {one.name}": ",".join(one.values) for one in parameters}
    options = {"-e": events, "--repeat": terms.repeat, "--seed": terms.seed, **values}
    plan = Plan(
        "scale",
        tasks,
        identify([command], [(source, origin)], options),
        [(path, origin) for path in terms.outputs],
        warmups(tasks, terms.warmup),
        simulated=source.capabilities.simulated,
    )
    readings: list[Reading] = []
    runs: list[RunInfo] = []

    def make(task: Task) -> Measurement:
        filled = replace(command, argv=filled_in(command.argv, task.parameters))
        return one_run(source, groups, filled, task, timeout=terms.timeout)

    def take(_: Task, made: Measurement) -> None:
        readings.extend(made.readings)
        runs.extend(made.runs)

    with Campaign(plan, terms) as campaign:
        outcome = campaign.carry_out(make, take)
    outcome.check_counted()
    if outcome.interrupted and not runs:
        raise KeyboardInterrupt  # before the first run had ended: there is nothing to model
    warnings = [*outcome.warnings, *outcome.stopped(terms.timeout)]
    table = tabulate(origin, outcome.events, runs, readings, warnings)
    return table, outcome.interrupted


def _label(point: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
