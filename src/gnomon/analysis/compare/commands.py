"""Running two commands in turn, so that whatever disturbs the machine disturbs both."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from gnomon.analysis.campaign import Outcome, Task, carry_out, prepare
from gnomon.analysis.runs import RunTable, tabulate
from gnomon.errors import GnomonError, UsageError
from gnomon.recording.contents import Provenance, Reading, RunInfo
from gnomon.sources.base import Command, Source
from gnomon.units import parse_duration


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
    *,
    repeat: int,
    seed: int,
    output: str | os.PathLike[str] | None,
    overwrite: bool,
    timeout: str | float | None,
    source: Source,
    on_run: Callable[[RunInfo], None] | None,
) -> tuple[tuple[RunTable, RunTable], bool]:
    """Return a table for each command, and whether it was interrupted."""
    if repeat < 1:
        raise UsageError(f"{repeat} runs make no sense: run each command at least once.")
    source, groups = prepare(source, events, commands)
    seconds = parse_duration(timeout, "timeout") / 1e9 if isinstance(timeout, str) else timeout
    origins = [source.provenance(command) for command in commands]
    readings: tuple[list[Reading], list[Reading]] = ([], [])
    runs: tuple[list[RunInfo], list[RunInfo]] = ([], [])
    numbers = [0, 0]
    tasks = []
    for side in order_in_turn(repeat, seed):
        tasks.append(Task(side, numbers[side], commands[side]))
        numbers[side] += 1
    with _Writers(output, origins, overwrite) as writers:

        def take(task: Task, info: RunInfo, some: Sequence[Reading]) -> None:
            readings[task.subject].extend(some)
            runs[task.subject].append(info)
            writers.take(task, info, some)
            if on_run is not None:
                on_run(info)

        outcome = carry_out(source, groups, tasks, take, timeout=seconds)
        writers.finish(outcome)
    if outcome.nothing_counted:
        reasons = "; ".join(outcome.warnings)
        raise GnomonError(f"not a single event can be counted here: {reasons or 'no reason'}.")
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
            [*outcome.warnings, *outcome.stopped(seconds, i)],
        )
        for i in (0, 1)
    ]
    return (tables[0], tables[1]), outcome.interrupted


class _Writers:
    """The recordings of both sides, or nothing without an output."""

    def __init__(
        self, output: str | os.PathLike[str] | None, origins: list[Provenance], overwrite: bool
    ) -> None:
        self._stack = ExitStack()
        self._writers = []
        if output is None:
            return
        from gnomon.recording import RecordingWriter

        base = str(Path(output)).removesuffix(".gnomon")
        names = [f"{base}-{side}.gnomon" for side in "ab"]
        for name in names:
            if Path(name).exists() and not overwrite:
                raise UsageError(f"'{name}' exists: choose another name or add --force.")
        for name, origin in zip(names, origins, strict=True):
            writer = RecordingWriter(name, origin, overwrite=overwrite)
            self._writers.append(self._stack.enter_context(writer))

    def __enter__(self) -> _Writers:
        return self

    def __exit__(self, *error: object) -> bool | None:
        return self._stack.__exit__(*error)  # type: ignore[arg-type]

    def take(self, task: Task, info: RunInfo, readings: Sequence[Reading]) -> None:
        """Record a run."""
        if self._writers:
            self._writers[task.subject].append(readings)
            self._writers[task.subject].add_run(info)

    def finish(self, outcome: Outcome) -> None:
        """Record what is known at the end only."""
        for writer in self._writers:
            for event in outcome.events:
                writer.add_event(event)
            for text in outcome.warnings:
                writer.warn(text)
