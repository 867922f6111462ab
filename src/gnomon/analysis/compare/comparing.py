"""Comparing two recordings, or two commands that are run in turns: what changed, event by event."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.analysis.compare.result import Comparison, EventComparison, Method, Verdict
from gnomon.analysis.runs import RunTable, table_of, tabulate, without_failures
from gnomon.analysis.stats.methods import Correction, Test
from gnomon.errors import GnomonError, UsageError
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
from gnomon.sources.registry import kind_of, recorded_by, source
from gnomon.units import parse_seconds

if TYPE_CHECKING:
    from gnomon.measure.campaign import OnProgress
    from gnomon.recording import Recording


def compare(
    a: Recording | str | os.PathLike[str] | Sequence[str] | Command,
    b: Recording | str | os.PathLike[str] | Sequence[str] | Command,
    events: str | None = None,
    *,
    repeat: int = 10,
    test: str = "welch",
    correction: str = "bh",
    alpha: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
    anyway: bool = False,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    show_output: bool = False,
    timeout: str | float | None = None,
    warmup: int = 0,
    resume: bool = False,
    on: Source | str | None = None,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Say for every event how much b differs from a, and whether that is more than chance.

    Both are recordings or their paths, or both are commands, as lists of words: then they
    are run `repeat` times each in turn, and `output` keeps them as NAME-a and NAME-b.
    `events` chooses events; `timeout` stops a run of a command, and `warmup` runs of each come
    first that are not counted. A call that was interrupted goes on when it is repeated; `resume`
    makes it an error that there is nothing to go on with. `anyway` compares counts of different
    sources.

    >>> result = gn.compare(["true"], ["echo"], "page-faults", repeat=3)
    >>> all(row.a.runs == 3 for row in result.rows)
    True
    """
    method = Method(_test(test), _correction(correction), _share(alpha), _share(level), seed)
    commands = [_as_command(one) for one in (a, b)]
    if all(commands):
        first, second = (command for command in commands if command is not None)
        tables, interrupted = measure_both(
            (first, second),
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
        return compare_tables(*tables, method, anyway=anyway, interrupted=interrupted)
    if any(commands):
        raise UsageError("a recording and a command cannot be compared: give two of a kind.")
    if output is not None:
        raise UsageError("there is nothing to record: both are recordings already.")
    with _opened(a) as one, _opened(b) as other:
        tables = (_chosen(table_of(one), events), _chosen(table_of(other), events))
    return compare_tables(*tables, method, anyway=anyway)


def compare_tables(
    a: RunTable,
    b: RunTable,
    method: Method | None = None,
    *,
    anyway: bool = False,
    interrupted: bool = False,
) -> Comparison:
    """Compare two tables of runs x events; the work behind `compare`."""
    from gnomon.analysis.compare.decide import decide, drifts, extrapolated, outliers

    method = Method() if method is None else method
    warnings = [*_origins(a.provenance, b.provenance, anyway=anyway)]
    for name, table in (("A", a), ("B", b)):
        warnings += [f"{name}: {text}" for text in table.warnings]
    a, failed_a = without_failures(a, "A")
    b, failed_b = without_failures(b, "B")
    warnings += [*failed_a, *failed_b]
    places_a, places_b = _places(a), _places(b)
    shared = [name for name in places_a if name in places_b]
    if not shared:
        raise GnomonError(
            "the two have no event with values in common: count the same events in both."
        )
    infos = [a.events[places_a[name]] for name in shared]
    values_a = a.values[:, [places_a[name] for name in shared]]
    values_b = b.values[:, [places_b[name] for name in shared]]
    rows = extrapolated(decide(infos, values_a, values_b, method), a.scaled, b.scaled)
    warnings += _apart(a, b)
    warnings += _few(rows)
    return Comparison(
        provenance=a.provenance,
        a=a.provenance,
        b=b.provenance,
        runs=(len(a.runs), len(b.runs)),
        rows=rows,
        resolution=_resolution(rows),
        only_in_a=tuple(name for name in places_a if name not in places_b),
        only_in_b=tuple(name for name in places_b if name not in places_a),
        drifts=drifts(infos, values_a, values_b, method.alpha),
        outliers=outliers(
            infos,
            {
                "A": (values_a, [run.run for run in a.runs]),
                "B": (values_b, [run.run for run in b.runs]),
            },
            method.alpha,
        ),
        warnings=tuple(dict.fromkeys(warnings)),
        test=method.test,
        correction=method.correction,
        alpha=method.alpha,
        level=method.level,
        interrupted=interrupted,
    )


def _as_command(subject: object) -> Command | None:
    if isinstance(subject, Command):
        return subject
    if isinstance(subject, str | os.PathLike) or not isinstance(subject, Sequence):
        return None
    if not subject:
        raise UsageError("a command is empty: give at least the name of a program.")
    return Command(tuple(subject))


@contextmanager
def _opened(subject: object) -> Iterator[Recording]:
    from gnomon.recording import Recording

    if isinstance(subject, Recording):
        yield subject
        return
    if not isinstance(subject, str | os.PathLike):
        raise UsageError("give recordings, paths of recordings, or commands as lists of words.")
    with Recording.open(subject) as recording:
        yield recording


def _test(name: str) -> Test:
    if name not in list(Test):
        raise UsageError(f"there is no test '{name}': choose from {', '.join(Test)}.")
    return Test(name)


def _correction(name: str) -> Correction:
    if name not in list(Correction):
        raise UsageError(f"there is no correction '{name}': choose from {', '.join(Correction)}.")
    return Correction(name)


def _share(number: float) -> float:
    if not 0 < number < 1:
        raise UsageError(f"the level must be between 0 and 1, not {number}.")
    return number


def _chosen(table: RunTable, events: str | None) -> RunTable:
    """Return the table with the events of a list only, which may leave modifiers out."""
    if events is None:
        return table
    wanted = [name.strip() for name in events.split(",") if name.strip()]
    names = [info.name for info in table.events]
    keep: list[int] = []
    for name in wanted:
        found = [i for i, known in enumerate(names) if name in (known, known.rpartition(":")[0])]
        if not found:
            raise UsageError(f"'{name}' is not in the recording: it has {', '.join(names)}.")
        keep += found
    infos = tuple(table.events[i] for i in keep)
    return RunTable(
        table.provenance, infos, table.runs, table.values[:, keep], table.scaled, table.warnings
    )


def _places(table: RunTable) -> dict[str, int]:
    """Return the columns of the events that have a value at all."""
    import numpy as np

    known = np.atleast_1d((~np.isnan(table.values)).any(0))
    return {info.name: i for i, info in enumerate(table.events) if known[i]}


def _origins(a: Provenance, b: Provenance, *, anyway: bool) -> Iterator[str]:
    """Refuse what cannot be compared, and yield a warning for what should be looked at."""
    one, other = recorded_by(a), recorded_by(b)
    if a.simulated != b.simulated:
        yield _refuse("one is simulated and the other measured", anyway)
    elif a.simulated and a.machine != b.machine and kind_of(a.source) == kind_of(b.source):
        yield f"the machines differ: A is {a.machine or 'unknown'}, B is {b.machine or 'unknown'}"
    elif one != other:
        yield _refuse(f"A was counted by {one} and B by {other}", anyway)
    pairs = (("CPU", a.cpu, b.cpu), ("host", a.host, b.host), ("kernel", a.kernel, b.kernel))
    for what, first, second in pairs:
        if first and second and first != second and not (a.simulated and b.simulated):
            yield f"the {what} differs: A ran on {first}, B on {second}"


def _refuse(why: str, anyway: bool) -> str:
    if not anyway:
        raise UsageError(
            f"{why}: their counts are not comparable; --anyway compares them regardless."
        )
    return f"{why}: their counts are not comparable"


def _apart(a: RunTable, b: RunTable) -> Iterator[str]:
    """Yield a warning when one was measured as a whole before the other."""
    if a.provenance.simulated or b.provenance.simulated:
        return
    if not a.provenance.host or a.provenance.host != b.provenance.host:
        return
    if len(a.runs) == len(b.runs) == 1:
        return  # nothing to take turns with, and nothing to test either
    times = [sorted(run.started_at for run in table.runs) for table in (a, b)]
    if any(not some or not some[0] for some in times):
        return
    if times[0][-1] < times[1][0] or times[1][-1] < times[0][0]:
        yield (
            "A and B were measured one after the other, so a drift of the machine looks like a "
            "change: `gnomon compare -- CMD_A -- CMD_B` runs them in turn"
        )


def _few(rows: Sequence[EventComparison]) -> Iterator[str]:
    """Yield a warning about too few runs, with the number that would do."""
    untested = [row for row in rows if row.verdict is Verdict.UNTESTED]
    if untested:
        which = "no event" if len(untested) == len(rows) else f"{len(untested)} events not"
        yield (f"too few runs: with one run per side {which} can be tested; use five or more each")
    suspected = [row for row in rows if row.verdict is Verdict.SUSPECTED]
    if not suspected:
        return
    needed = sorted(row.runs_needed for row in suspected if row.runs_needed)
    count = f"{len(suspected)} event{'s' * (len(suspected) > 1)}"
    text = f"too few runs to be sure of {count} among {len(rows)}"
    if needed:
        most = f", {needed[-1]:,} for all of them" if needed[-1] != needed[0] else ""
        text += f": {needed[0]:,} each would do for the clearest{most}"
    yield text


def _resolution(rows: Sequence[EventComparison]) -> float | None:
    """Return how small a change of the unchanged events could have been seen, at the median."""
    widths = sorted(
        max(row.ratio_interval.high - 1, 1 - row.ratio_interval.low)
        for row in rows
        if row.verdict is Verdict.UNCHANGED and row.ratio_interval is not None
    )
    return widths[len(widths) // 2] if widths else None


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
        raise GnomonError("interrupted before each command had run once: nothing to compare.")
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
