"""Making surveys: which batches there are, their runs, and going on with an unfinished one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gnomon.analysis.estimate.observe import tick_length
from gnomon.analysis.survey.batches import Batch, FindSource, plan_batches, read_batches, run_order
from gnomon.analysis.survey.recorded import ONE_RUN, survey_of
from gnomon.analysis.survey.result import SurveyResult
from gnomon.analysis.survey.runs import OnProgress, carry_out
from gnomon.analysis.survey.subject import choose_events, choose_sources
from gnomon.analysis.survey.turns import Turns, always_counted
from gnomon.errors import RecordingError, UsageError
from gnomon.recording import Recording, RecordingWriter
from gnomon.recording.contents import SIMULATED_CLOCK, Provenance
from gnomon.sources.base import Command, Source
from gnomon.sources.registry import On, current_word, event_prefix, sources
from gnomon.units import parse_duration


def survey(
    command: Sequence[str] | Command,
    events: str | None = None,
    *,
    output: str | os.PathLike[str],
    repeat: int = 3,
    on: On = None,
    one_run: bool = False,
    interval: str | int | None = None,
    timeout: str | float | None = None,
    seed: int = 1,
    overwrite: bool = False,
    on_progress: OnProgress | None = None,
) -> SurveyResult:
    """Measure every event that can be counted over a command, and record it in `output`.

    `on` says where to count, as `--on` does: a word, a source, or a list of them; without it on
    this host, and under valgrind where that is installed. With `one_run` all events of a source
    share one run and take turns, a set of them an `interval` (20 ms, on a simulated machine 20 us
    of its time). A run that takes longer than `timeout` is an error; what was measured before it
    is kept.
    """
    if repeat < 1:
        raise UsageError(f"{repeat} runs make no sense: run at least once.")
    seconds = _seconds(timeout)
    command = _as_command(command)
    chosen = choose_events(choose_sources(command, on, seed), events)
    find = _Find(seed, [source for source, _ in chosen])
    if one_run:
        batches = tuple(
            Batch(number, source.name, tuple((request,) for request in requests))
            for number, (source, requests) in enumerate(chosen)
        )
        misfits: tuple[str, ...] = ()
    else:
        batches, misfits = plan_batches(chosen)
    # A command that cannot even be started must neither leave a recording nor replace one.
    find(batches[0].origin).open(batches[0].groups, command).close()
    provenance = _provenance(command, batches, find, (repeat, seed), one_run=one_run)
    turns = None
    if one_run:
        turns = Turns(interval, seed)
        provenance = _with_turns(provenance, batches, find, command, turns)
    elif interval is not None:
        raise UsageError("an interval is for events that take turns: ask for one run as well.")
    writer = RecordingWriter(output, provenance, overwrite=overwrite)
    for text in misfits:
        writer.warn(f"not counted: {text}")
    order = run_order(len(batches), repeat, seed)
    return _go(writer, batches, order, command, find, seconds, turns, on_progress)


def resume(
    path: str | os.PathLike[str],
    *,
    timeout: str | float | None = None,
    on: On = None,
    on_progress: OnProgress | None = None,
) -> SurveyResult:
    """Make the runs that a survey still lacks; a survey that lacks none is returned as it is.

    The recording knows where it counted. `on` is for sources of your own, which have no word.
    """
    seconds = _seconds(timeout)
    with Recording.open(path) as recording:
        provenance = recording.provenance
        if not provenance.plan:
            raise RecordingError(f"'{recording.path}' is no survey, so there is nothing to resume.")
        done = {(run.run, run.batch) for run in recording.runs}
        where = recording.path
    seed = provenance.seed or 1
    order = run_order(len(provenance.plan), provenance.repeat or 1, seed)
    rest = [key for key in order if key not in done]
    if not rest:
        with Recording.open(where) as recording:
            return survey_of(recording)
    find = _Find(seed, () if on is None else sources(on, usual_seed=seed))
    batches = read_batches(provenance.plan, find)
    command = Command(provenance.command)
    writer = RecordingWriter.reopen(where)
    turns = Turns(provenance.interval, seed) if provenance.target.endswith(ONE_RUN) else None
    return _go(writer, batches, rest, command, find, seconds, turns, on_progress)


def _go(
    writer: RecordingWriter,
    batches: Sequence[Batch],
    order: Sequence[tuple[int, int]],
    command: Command,
    find: FindSource,
    timeout: float | None,
    turns: Turns | None,
    on_progress: OnProgress | None,
) -> SurveyResult:
    with writer:
        outcome = carry_out(
            batches,
            order,
            command,
            find,
            writer,
            timeout=timeout,
            turns=turns,
            on_progress=on_progress,
        )
        for text in outcome.warnings:
            writer.warn(text)
        if outcome.interrupted:
            writer.suspend()
    with Recording.open(writer.path) as recording:
        return survey_of(recording)


def _seconds(timeout: str | float | None) -> float | None:
    return parse_duration(timeout, "timeout") / 1e9 if isinstance(timeout, str) else timeout


def _provenance(
    command: Command,
    batches: Sequence[Batch],
    find: FindSource,
    repeated: tuple[int, int],
    *,
    one_run: bool,
) -> Provenance:
    origins = list(dict.fromkeys(batch.origin for batch in batches))
    found = [find(origin) for origin in origins]
    told = [source.provenance(command) for source in found]
    # The host is what is not simulated; what valgrind is belongs to a survey of it alone.
    machines = [each.machine for each in told if each.clock == SIMULATED_CLOCK]
    repeat, seed = repeated
    return replace(
        told[0],
        source=", ".join(origins),
        simulated=all(source.capabilities.simulated for source in found),
        target=f"command {ONE_RUN}" if one_run else "command",
        machine=", ".join(machines) or told[0].machine,
        plan=tuple(batch.text for batch in batches),
        repeat=repeat,
        seed=seed,
    )


def _with_turns(
    provenance: Provenance,
    batches: Sequence[Batch],
    find: FindSource,
    command: Command,
    turns: Turns,
) -> Provenance:
    """Return a provenance that tells what is counted all the time, and how long a turn is."""
    several = len({batch.origin for batch in batches}) > 1
    always: list[str] = []
    lengths = []
    for batch in batches:
        source = find(batch.origin)
        prefix = event_prefix(batch.origin) if several else ""
        always += [prefix + label for label in always_counted(source, batch, command)]
        lengths.append(tick_length(turns.interval, source))
    same = lengths[0] if len(set(lengths)) == 1 else None
    return replace(provenance, always=tuple(always), interval=same)


class _Find:
    """Finds sources by origin, each once: opening one may take longer than a short run."""

    def __init__(self, seed: int, known: Sequence[Source]) -> None:
        self._seed = seed
        self._found = {source.name: source for source in known}

    def __call__(self, origin: str) -> Source:
        if origin not in self._found:
            (self._found[origin],) = sources(current_word(origin), usual_seed=self._seed)
        return self._found[origin]


def _as_command(command: Sequence[str] | Command) -> Command:
    if isinstance(command, str):
        raise UsageError("give the command as a list of words, as in ['./program', 'arg'].")
    return command if isinstance(command, Command) else Command(tuple(command))


def resumable(path: str | os.PathLike[str], command: Sequence[str]) -> bool:
    """Whether there is an unfinished survey of the same command at a path."""
    try:
        with Recording.open(path) as recording:
            provenance = recording.provenance
            lacks = len(recording.runs) < len(provenance.plan) * (provenance.repeat or 1)
            return lacks and tuple(provenance.command) == tuple(command)
    except RecordingError:
        return False


def default_output(command: Sequence[str]) -> str:
    """Return the name of a survey's recording when none is given: that of the program."""
    name = Path(command[0].partition(":")[2] or command[0]).name if command else "program"
    return f"{name}-survey.gnomon"
