"""Running two commands in turn, so that whatever disturbs the machine disturbs both."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

from gnomon.analysis.runs import RunTable, tabulate
from gnomon.errors import GnomonError
from gnomon.measure.campaign import (
    Campaign,
    Plan,
    Task,
    Terms,
    one_run,
    prepare,
    warmups,
)
from gnomon.measure.identity import identify
from gnomon.measure.run import Measurement
from gnomon.recording.contents import Provenance, Reading, RunInfo
from gnomon.sources.base import Command, Source


def order_in_turn(repeat: int, seed: int) -> list[int]:
    """Return which of two to run when: pairs A B or B A by chance, so that neither leads."""
    draw = random.Random(seed)
    # As many pairs of each kind as can be, so that a steady drift cancels out.
    firsts = [i % 2 for i in range(repeat)]
    draw.shuffle(firsts)
    return [side for first in firsts for side in (first, 1 - first)]


def measure_both(
    commands: tuple[Command, Command],
    events: str | None,
    terms: Terms,
    source: Source,
) -> tuple[tuple[RunTable, RunTable], bool]:
    """Return a table for each command, and whether it was interrupted."""
    groups = prepare(source, events, commands)
    origins = [source.provenance(command) for command in commands]
    tasks: list[Task] = []
    for side in order_in_turn(terms.repeat, terms.seed):
        tasks.append(Task(side, sum(side == task.subject for task in tasks), label="AB"[side]))
    options = {"-e": events, "--repeat": terms.repeat, "--seed": terms.seed}
    plan = Plan(
        "compare",
        tasks,
        identify(commands, [(source, origins[0])], options),
        _outputs(terms.output, origins),
        warmups(tasks, terms.warmup),
        simulated=source.capabilities.simulated,
    )
    readings: tuple[list[Reading], list[Reading]] = ([], [])
    runs: tuple[list[RunInfo], list[RunInfo]] = ([], [])

    def make(task: Task) -> Measurement:
        return one_run(source, groups, commands[task.subject], task, timeout=terms.timeout)

    def take(task: Task, made: Measurement) -> None:
        readings[task.subject].extend(made.readings)
        runs[task.subject].extend(made.runs)

    with Campaign(plan, terms) as campaign:
        outcome = campaign.carry_out(make, take)
    outcome.check_counted()
    if not all(runs):
        raise GnomonError(
            "it was interrupted before each command had run once: nothing to compare."
        )
    tables = [
        tabulate(
            origins[i],
            outcome.events,
            runs[i],
            readings[i],
            [*outcome.warnings, *outcome.stopped(terms.timeout, i)],
        )
        for i in (0, 1)
    ]
    return (tables[0], tables[1]), outcome.interrupted


def _outputs(
    output: str | os.PathLike[str] | None, origins: Sequence[Provenance]
) -> list[tuple[Path, Provenance]]:
    """Return where the recordings of both sides are to be; nowhere without an output."""
    if output is None:
        return []
    base = str(Path(output)).removesuffix(".gnomon")
    names = [Path(f"{base}-{side}.gnomon") for side in "ab"]
    return list(zip(names, origins, strict=True))
