"""Running a command with every combination of parameters, in random order."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from gnomon.analysis.campaign import Task, carry_out, prepare
from gnomon.analysis.runs import RunTable, tabulate
from gnomon.analysis.scaling.parameters import Parameter, combinations, filled_in
from gnomon.errors import GnomonError, UsageError
from gnomon.recording.contents import Reading, RunInfo
from gnomon.sources.base import Command, Source
from gnomon.units import parse_duration


def measure_points(
    command: Command,
    parameters: Sequence[Parameter],
    events: str | None,
    *,
    repeat: int,
    seed: int,
    output: str | os.PathLike[str] | None,
    overwrite: bool,
    timeout: str | float | None,
    source: Source,
    on_run: Callable[[RunInfo], None] | None,
) -> tuple[RunTable, bool]:
    """Return a table of all runs, each with its parameters, and whether it was interrupted."""
    if repeat < 1:
        raise UsageError(f"{repeat} runs make no sense: run each point at least once.")
    points = combinations(parameters)
    commands = [
        Command(
            filled_in(command.argv, point), command.environment, command.directory, command.stdout
        )
        for point in points
    ]
    source, groups = prepare(source, events, commands[:1])
    tasks = [
        Task(number, 0, commands[number], points[number])
        for number in range(len(points))
        for _ in range(repeat)
    ]
    # In random order a drift of the machine is scatter; in order it would look like growth.
    random.Random(seed).shuffle(tasks)
    tasks = [Task(t.subject, run, t.command, t.parameters) for run, t in enumerate(tasks)]
    origin = source.provenance(command)
    readings: list[Reading] = []
    runs: list[RunInfo] = []
    seconds = parse_duration(timeout, "timeout") / 1e9 if isinstance(timeout, str) else timeout
    with ExitStack() as stack:
        writer = None
        if output is not None:
            from gnomon.recording import RecordingWriter

            writer = stack.enter_context(RecordingWriter(output, origin, overwrite=overwrite))

        def take(_: Task, info: RunInfo, some: Sequence[Reading]) -> None:
            readings.extend(some)
            runs.append(info)
            if writer is not None:
                writer.append(some)
                writer.add_run(info)
            if on_run is not None:
                on_run(info)

        outcome = carry_out(source, groups, tasks, take, timeout=seconds)
        if writer is not None:
            for event in outcome.events:
                writer.add_event(event)
            for text in outcome.warnings:
                writer.warn(text)
    if outcome.nothing_counted:
        reasons = "; ".join(outcome.warnings)
        raise GnomonError(f"not a single event can be counted here: {reasons or 'no reason'}.")
    warnings = [*outcome.warnings, *outcome.stopped(seconds)]
    table = tabulate(origin, outcome.events, runs, readings, warnings)
    return table, outcome.interrupted
