"""Making a survey: a campaign with a run for every batch of events and repetition."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gnomon.analysis.survey.batches import (
    PLAIN,
    Batch,
    FindSource,
    choose_events,
    choose_sources,
    plan_batches,
    read_batches,
)
from gnomon.errors import GnomonError, NotPermittedError, RecordingError, UsageError
from gnomon.measure.campaign import (
    Campaign,
    Plan,
    Task,
    Terms,
    as_repeated,
    in_rounds,
    lost_input,
    warmups,
)
from gnomon.measure.identity import Identity, identify
from gnomon.measure.keep import refuse_change
from gnomon.measure.run import Measurement, measure, measure_wall, runs_command
from gnomon.recording.contents import ONE_RUN, SIMULATED_CLOCK, Provenance
from gnomon.sources.base import Command, Cpus, Process, Source, Target, as_target
from gnomon.sources.registry import On, current_word, event_prefix, sources
from gnomon.units import format_duration, parse_duration, parse_seconds

if TYPE_CHECKING:
    from gnomon.analysis.survey.budget import Choice
    from gnomon.analysis.survey.result import SurveyResult
    from gnomon.measure.campaign import OnProgress
    from gnomon.sources.abilities import RecordsWall


def survey(
    command: Sequence[str] | Target,
    events: str | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    repeat: int | None = None,
    on: On = None,
    one_run: bool = False,
    interval: str | int | None = None,
    duration: str | float | None = None,
    timeout: str | float | None = None,
    warmup: int = 0,
    resume: bool = False,
    seed: int = 1,
    overwrite: bool = False,
    show_output: bool = False,
    everything: bool = False,
    on_progress: OnProgress | None = None,
) -> SurveyResult:
    """Say where the time of a command goes, count its events, and record both in `output`.

    A plain run comes first, of which the wall time is recorded. Then events are counted, by default
    as many and as often as three times the program's time and a second allow: `repeat` runs of
    each batch go above that, `everything` counts all events.
    Instead of a command it may be a `Process` or `Cpus`; a run of them takes `duration`, by
    default 1 s, and a command is ended after it.
    `on` says where to count, as `--on` does: a word, a source, or a list of them; without it on
    this host, and under valgrind where that is installed. With `one_run` all events of a source
    share one run and take turns, a set of them an `interval` (20 ms, on a simulated machine 20 us
    of its time). A run that takes longer than `timeout` is an error; what was measured before it
    is kept. `warmup` runs come first that are not counted. A survey that is unfinished in `output`
    goes on, if program, options and machine are the same; `resume` makes it an error that there is
    none.

    >>> result = gn.survey(["true"], "page-faults", output="s.gnomon", repeat=2, on="host")
    >>> result.complete
    True
    """
    target = as_target(command)
    limit = parse_seconds(duration, "duration")
    limit = _USUAL if limit is None and not runs_command(target) else limit
    terms = Terms(
        repeat=1 if repeat is None else repeat,
        seed=seed,
        timeout=parse_seconds(timeout, "timeout"),
        warmup=warmup,
        resume=resume,
        output=_default_output(target) if output is None else output,
        overwrite=overwrite,
        show_output=show_output,
        on_progress=on_progress,
    )
    if interval is not None and not one_run:
        raise UsageError("--interval is for events that take turns: add --one-run.")
    found = choose_sources(target, on, seed)
    wall, refusal = (None, "") if one_run else _recorder(found, target)
    if wall is None and repeat is None:
        repeat, terms = _UNPLANNED, replace(terms, repeat=_UNPLANNED)
    identity = identify(
        [target],
        [(source, source.provenance(target)) for source in found],
        {
            "-e": events,
            "--repeat": repeat,
            "--seed": seed,
            "--one-run": one_run,
            "-i": parse_duration(interval) if isinstance(interval, str) else interval,
            "-d": limit,
            "--all": everything,
            PLAIN: wall.name if wall is not None else None,
        },
    )
    [path] = terms.outputs
    if not overwrite and (before := _Found.at(path)) is not None and not before.complete:
        refuse_change(f"'{before.path}'", before.provenance.campaign, identity, _OTHERWISE)
        return _go_on(before, terms, _Find(seed, found), target, limit)
    chosen = choose_events(found, events)
    find = _Find(seed, [source for source, _ in chosen])
    if one_run:
        batches = tuple(
            Batch(number, source.name, tuple((request,) for request in requests))
            for number, (source, requests) in enumerate(chosen)
        )
        misfits: tuple[str, ...] = ()
    else:
        batches, misfits = plan_batches(chosen)
    # What cannot even be started must neither leave a recording nor replace one.
    if wall is None:
        find(batches[0].origin).open(batches[0].groups, target).close()
    provenance = _provenance(target, batches, find, (repeat, seed), one_run=one_run)
    if one_run:
        provenance = _with_turns(provenance, batches, find, target, interval)
    made = _Made(batches, target, limit, find, terms, identity, provenance, wall)
    made.chosen = on is not None or events is not None
    return made.carry_out(interval, [*refusal, *(f"not counted: {text}" for text in misfits)])


_UNPLANNED = 3  # repetitions where no plain run says how long the program takes
_OTHERWISE = "choose another name with -o, or start anew with --force"
_USUAL = 1.0  # seconds of a run of what does not end by itself


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
    found = _Found.at(path)
    from gnomon.recording import Recording

    if found is None or not found.provenance.plan:
        with Recording.open(path) as recording:  # raises when there is none
            where = recording.path
        raise RecordingError(f"'{where}' is not a survey, so there is nothing to resume.")
    provenance = found.provenance
    if found.complete:
        from gnomon.analysis.survey.recorded import survey_of

        with Recording.open(found.path) as recording:
            return survey_of(recording)
    seed = provenance.seed or 1
    find = _Find(seed, () if on is None else sources(on, usual_seed=seed))
    if not provenance.target.startswith("command"):
        raise UsageError(
            f"'{found.path}' is of {provenance.target}, which may have changed: to go on, repeat "
            "the whole command that began it."
        )
    command = Command(provenance.command)
    if before := provenance.campaign:
        origins = dict.fromkeys(line.partition(" ")[0] for line in provenance.plan)
        counted = [(find(origin), find(origin).provenance(command)) for origin in origins]
        now = identify([command], counted, {})
        same = {k: v for k, v in now.items() if k.startswith(("program ", "machine "))}
        refuse_change(f"'{found.path}'", before, {**before, **same}, _OTHERWISE)
    terms = Terms(
        repeat=provenance.repeat or 1,
        seed=seed,
        timeout=parse_seconds(timeout, "timeout"),
        output=found.path,
        on_progress=on_progress,
    )
    return _go_on(found, terms, find, command, _limit(provenance.campaign))


@dataclass(frozen=True, slots=True)
class _Found:
    """A survey that is there already, finished or not."""

    path: Path
    provenance: Provenance
    complete: bool

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> _Found | None:
        """Return what is recorded at a path, None when that is nothing that could go on."""
        place = Path(path)
        if not place.exists() and not place.with_name(f"{place.name}.gnomon").exists():
            return None
        from gnomon.recording import Recording

        try:
            with Recording.open(path) as recording:
                provenance = recording.provenance
                from gnomon.analysis.survey.budget import planned_runs

                planned = planned_runs(provenance, recording.runs)
                lacks = len(recording.runs) < planned
                return cls(recording.path, provenance, recording.complete and not lacks)
        except RecordingError:
            return None


def _recorder(found: Sequence[Source], target: Target) -> tuple[Source | None, tuple[str, ...]]:
    """Return the source that records wall time, if one can; what cannot be started raises."""
    from gnomon.sources.abilities import RecordsWall

    for source in found:
        if isinstance(source, RecordsWall):
            try:
                source.record_wall(target).close()
            except NotPermittedError as error:
                return None, (f"wall time is not recorded: {error}",)
            return source, ()
    return None, ()


def _limit(identity: Identity) -> float | None:
    text = identity.get("-d", "")
    return float(text) if text else None


def _go_on(
    found: _Found, terms: Terms, find: FindSource, target: Target, limit: float | None
) -> SurveyResult:
    """Make the rest of the runs as they were planned."""
    provenance = found.provenance
    made = _Made(
        read_batches(provenance.plan, find),
        target,
        limit,
        find,
        terms,
        provenance.campaign,
        provenance,
        find(wall) if (wall := provenance.campaign.get(PLAIN)) else None,
    )
    made.chosen = bool(provenance.campaign.get("-e"))
    return made.carry_out(provenance.interval, ())


@dataclass(slots=True)
class _Made:
    """A survey that is being made."""

    batches: Sequence[Batch]
    target: Target
    limit: float | None
    find: FindSource
    terms: Terms
    identity: Identity
    provenance: Provenance
    wall: Source | None = None  # that records the plain run
    chosen: bool = False  # sources or events were named

    def carry_out(self, interval: str | int | None, warnings: Sequence[str]) -> SurveyResult:
        """Make the runs, and return the survey that is recorded then."""
        terms = self.terms
        if self.wall is None:
            tasks = self._rounds([terms.repeat] * len(self.batches))
        else:
            tasks = [Task(0, 0, len(self.batches), label="plain run")]
        outputs = [(path, self.provenance) for path in terms.outputs]
        simulated = all(self.find(batch.origin).capabilities.simulated for batch in self.batches)
        warmup = warmups(tasks, terms.warmup)
        plan = Plan("survey", tasks, self.identity, outputs, warmup, simulated=simulated)
        count = self._in_turns(interval) if self._one_run else self._whole
        with Campaign(plan, terms) as campaign:
            campaign.warn(warnings)
            campaign.carry_out(
                lambda task: self._run(task, count),
                then=lambda task, made: self._then(task, made, campaign),
            )
        from gnomon.analysis.survey.recorded import survey_of
        from gnomon.recording import Recording

        with Recording.open(campaign.places[0]) as recording:
            return survey_of(recording)

    def _rounds(self, runs: Sequence[int], seconds: Sequence[float] = ()) -> list[Task]:
        """Return the tasks that run each batch so often.

        Each repetition takes all batches in an order of its own, so that neither drift nor an
        interruption favours some of them.
        """
        order = in_rounds(len(runs), max(runs, default=0), self.terms.seed)
        return [
            Task(0, run, n, label=self.batches[n].origin, expected=seconds[n] if seconds else None)
            for run, n in order
            if run < runs[n]
        ]

    def _then(self, task: Task, made: Measurement, campaign: Campaign) -> Sequence[Task]:
        """Return what is to be run after the plain run, and tell how long it will take."""
        if self.wall is None or task.batch != len(self.batches):
            return ()
        from gnomon.analysis.survey.budget import runs_of

        info = made.runs[0]
        runs = runs_of(info)
        if made.wall is None:  # it was made before an interruption
            return self._rounds(runs)
        took = info.end - info.start
        tasks = self._rounds(runs, self._choice(made).seconds)
        if tasks:
            left = sum(each.expected or 0.0 for each in tasks)
            many = f"{len(tasks)} more run{'s' * (len(tasks) != 1)}"
            campaign.note(
                f"the plain run took {format_duration(took)}; "
                f"{many} to count events: about {format_duration(left * 1e9)}"
            )
        return tasks

    def _choice(self, made: Measurement) -> Choice:
        """Return how often to run each batch, by what the plain run took."""
        from gnomon.analysis.survey.budget import Plain, choose

        assert made.wall is not None
        return choose(
            self.batches,
            self.find,
            Plain.of(made.wall),
            self.provenance.repeat,
            chosen=self.chosen,
            everything=self.identity.get("--all", "") == "True",
        )

    def _plain(self, task: Task) -> Measurement:
        recorder = cast("RecordsWall", self.wall)
        target = as_repeated(self.target, task)
        made = measure_wall(recorder, target, duration=self._longest)
        choice = self._choice(made)
        made.runs = [replace(made.runs[0], parameters=choice.as_parameters())]
        return made

    @property
    def _one_run(self) -> bool:
        return self.provenance.target.endswith(ONE_RUN)

    @property
    def _longest(self) -> float | None:
        limits = [each for each in (self.limit, self.terms.timeout) if each is not None]
        return min(limits, default=None)

    def _whole(self, source: Source, batch: Batch, task: Task) -> Measurement:
        return measure(source, batch.groups, as_repeated(self.target, task), duration=self._longest)

    def _in_turns(self, interval: str | int | None) -> Callable[[Source, Batch, Task], Measurement]:
        from gnomon.analysis.survey.turns import Turns, measure_in_turns

        def count(source: Source, batch: Batch, task: Task) -> Measurement:
            # Another order in every run: what one misses another may meet.
            turns = Turns(interval, self.terms.seed + task.run)
            target = as_repeated(self.target, task)
            return measure_in_turns(source, batch, target, self._longest, turns)

        return count

    def _run(self, task: Task, count: Callable[[Source, Batch, Task], Measurement]) -> Measurement:
        plain = task.batch == len(self.batches)
        made = self._plain(task) if plain else self._counted(task, count)
        made.warnings += lost_input(self.target)
        made.check_time(self.terms.timeout)
        if made.timed_out and not made.interrupted:
            raise GnomonError(
                f"a run was stopped because it took longer than {self.terms.timeout:g} s: "
                "allow more time with --timeout; what was measured before is recorded."
            )
        made.runs = [replace(info, run=task.run, batch=task.batch) for info in made.runs]
        return made

    def _counted(
        self, task: Task, count: Callable[[Source, Batch, Task], Measurement]
    ) -> Measurement:
        batch = self.batches[task.batch]
        source = self.find(batch.origin)
        made = count(source, batch, task)
        several = len({each.origin for each in self.batches}) > 1
        prefix = event_prefix(batch.origin) if several else ""
        return replace(
            made,
            events=tuple(
                replace(
                    info,
                    name=prefix + info.name,
                    source=batch.origin,
                    simulated=source.capabilities.simulated,
                )
                for info in made.events
            ),
            readings=[
                reading._replace(event=prefix + reading.event, run=task.run, batch=task.batch)
                for reading in made.readings
            ],
        )


def _provenance(
    target: Target,
    batches: Sequence[Batch],
    find: FindSource,
    repeated: tuple[int | None, int],
    *,
    one_run: bool,
) -> Provenance:
    origins = list(dict.fromkeys(batch.origin for batch in batches))
    found = [find(origin) for origin in origins]
    told = [source.provenance(target) for source in found]
    # The host is what is not simulated; what valgrind is belongs to a survey of it alone.
    machines = [each.machine for each in told if each.clock == SIMULATED_CLOCK]
    repeat, seed = repeated
    what = "command" if isinstance(target, Command) else told[0].target
    return replace(
        told[0],
        source=", ".join(origins),
        simulated=all(source.capabilities.simulated for source in found),
        target=f"{what} {ONE_RUN}" if one_run else what,
        machine=", ".join(machines) or told[0].machine,
        plan=tuple(batch.text for batch in batches),
        repeat=repeat,
        seed=seed,
    )


def _with_turns(
    provenance: Provenance,
    batches: Sequence[Batch],
    find: FindSource,
    target: Target,
    interval: str | int | None,
) -> Provenance:
    """Return a provenance that tells what is counted all the time, and how long a turn is."""
    from gnomon.analysis.estimate.estimating import tick_length
    from gnomon.analysis.survey.turns import always_counted

    several = len({batch.origin for batch in batches}) > 1
    always: list[str] = []
    lengths = []
    for batch in batches:
        source = find(batch.origin)
        prefix = event_prefix(batch.origin) if several else ""
        always += [prefix + label for label in always_counted(source, batch, target)]
        lengths.append(tick_length(interval, source))
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


def _default_output(target: Target) -> str:
    """Return the name of a survey's recording when none is given: that of the program."""
    command = target.command if isinstance(target, Cpus) else target
    if isinstance(command, Command) and command.argv:
        word = command.argv[0]
        name = Path(word.partition(":")[2] or word).name
    else:
        name = f"process-{target.pid}" if isinstance(target, Process) else "cpus"
    return f"{name}-survey.gnomon"
