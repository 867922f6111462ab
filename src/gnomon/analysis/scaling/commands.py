"""Running a command with every combination of parameters, in random order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gnomon.analysis.runs import RunTable, tabulate
from gnomon.analysis.scaling.parameters import Parameter, combinations, filled_in
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
    warnings = [*outcome.warnings, *outcome.stopped(terms.timeout)]
    table = tabulate(origin, outcome.events, runs, readings, warnings)
    return table, outcome.interrupted


def _label(point: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
