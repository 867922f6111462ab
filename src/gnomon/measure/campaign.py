"""Campaigns: many runs in an order, each kept as it ends, so that they go on where they stopped.

    plan = Plan("compare", tasks, identity)
    with Campaign(plan) as campaign:
        outcome = campaign.carry_out(make, take)

`make` carries one task out, `take` gets every task with what it gave: first those that were kept
by a campaign that did not come to its end, then each that is made now.
"""

from __future__ import annotations

import fcntl
import os
import stat
import termios
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Self, TypeVar

from gnomon.errors import GnomonError, UsageError
from gnomon.measure.keep import Cached, Keep, Key, Recorded, check_cached
from gnomon.measure.run import Measurement, Stopper, measure, stopped_runs
from gnomon.sources.base import Command, Cpus

if TYPE_CHECKING:
    from types import TracebackType

    from gnomon.events.event import Group
    from gnomon.measure.run import Sink
    from gnomon.recording.contents import EventInfo, Provenance, Reading
    from gnomon.sources.base import Source, Target

_WARMUP = -1
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Task:
    """One run to be made: of which subject, under which number, with which parameters.

    Tasks of one `label` take about as long as each other, `expected` seconds as far as that is
    known before. What the program prints is seen in a run that is `shown`: the campaign says which.
    """

    subject: int = 0
    run: int = 0
    batch: int = 0
    parameters: dict[str, str] = field(default_factory=dict)
    label: str = ""
    shown: bool = False
    expected: float | None = None

    @property
    def key(self) -> Key:
        """What tells the task from the others of its campaign."""
        return self.subject, self.run, self.batch

    @property
    def is_warmup(self) -> bool:
        """Whether nothing of this run is kept."""
        return self.run <= _WARMUP


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a campaign has come, and how many seconds the rest takes, where that is known.

    `task` is what runs next. `note` is something to be told, such as that the campaign waits for
    another one; `places` is set in the last note of a campaign that did not come to its end, and
    names what its runs are kept in.
    """

    done: int
    total: int
    left: float | None = None
    task: Task | None = None
    note: str = ""
    places: tuple[str, ...] = ()


OnProgress = Callable[[Progress], None]
Make = Callable[[Task], Measurement]
Take = Callable[[Task, Measurement], None]
Then = Callable[[Task, Measurement], Sequence[Task]]
"""Returns the tasks that follow from what a task gave."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How the runs of a campaign are made and kept, in the words that all commands share.

    Without `overwrite` an unfinished campaign of the same identity goes on by itself; `resume`
    makes it an error that there is none. What the program prints is shown in the first run alone,
    unless `show_output` is set.
    """

    repeat: int = 1
    seed: int = 0
    timeout: float | None = None
    warmup: int = 0
    resume: bool = False
    output: str | os.PathLike[str] | None = None
    overwrite: bool = False
    show_output: bool = False
    on_progress: OnProgress | None = None

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError("--repeat must be at least 1.")
        if self.warmup < 0:
            raise UsageError("--warmup must be at least 0.")
        if self.resume and self.overwrite:
            raise UsageError("--resume continues earlier runs and --force drops them: choose one.")

    @property
    def outputs(self) -> list[Path]:
        """The recording that was asked for, if one was."""
        return [] if self.output is None else [Path(self.output)]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign is to do; `identity` is what must be the same for it to go on.

    With `outputs` there is a recording for each subject, without them runs are kept in the
    user's cache. `warmup` tasks are made first, and forgotten. Where everything is `simulated`
    there is no need to be alone on the host. `noun` is what tasks are called in messages.
    """

    kind: str
    tasks: Sequence[Task]
    identity: Mapping[str, str]
    outputs: Sequence[tuple[Path, Provenance]] = ()
    warmup: Sequence[Task] = ()
    simulated: bool = False
    noun: str = "runs"


@dataclass(slots=True)
class Outcome:
    """What came of a campaign; `timed_out` holds the tasks that were stopped for their time.

    `cut_short` is what the run gave that Ctrl-C ended; it is not among those that are taken.
    `refused` has a reading without value for each event when nothing could be counted.
    """

    events: tuple[EventInfo, ...] = ()
    warnings: list[str] = field(default_factory=list)
    timed_out: list[Task] = field(default_factory=list)
    exit_status: int = 0
    interrupted: bool = False
    nothing_counted: bool = False
    refused: Sequence[Reading] = ()
    cut_short: Measurement | None = None

    def check_counted(self) -> None:
        """Raise when not a single event could be counted."""
        if self.nothing_counted:
            reasons = "; ".join(self.warnings)
            raise GnomonError(f"no event can be counted here: {reasons or 'no reason'}.")

    def stopped(self, seconds: float | None, subject: int | None = None) -> list[str]:
        """Return a warning when runs took too long, of one subject or of all."""
        count = sum(subject in (None, task.subject) for task in self.timed_out)
        return stopped_runs(count, seconds)


class Campaign:
    """Carries out a plan. Leaving the block by an error, or early, keeps the runs that are done."""

    def __init__(self, plan: Plan, terms: Terms) -> None:
        self._plan = plan
        self._terms = terms
        self._tasks = list(plan.tasks)
        self._tell = terms.on_progress or (lambda _: None)
        self._stack = ExitStack()
        self._keep: Keep | None = None
        self._done = 0
        self._over = False  # there is nothing to go on with
        self._warnings: list[str] = []

    def __enter__(self) -> Self:
        plan = self._plan
        overwrite, resume = self._terms.overwrite, self._terms.resume
        with ExitStack() as failing:
            # A recording that cannot be written is told before anybody waits for another campaign.
            if plan.outputs:
                self._keep = Recorded(
                    plan.outputs, plan.identity, overwrite=overwrite, resume=resume
                )
                failing.callback(self._keep.close, (), ended=False)
            elif resume:
                check_cached(plan.kind, plan.identity)
            if not plan.simulated:
                from gnomon.measure.cache import exclusive

                what = f"'gnomon {plan.kind}' of {plan.identity.get('command', '')}"
                self._stack.enter_context(exclusive(what, self.note))
                failing.callback(self._stack.close)
            if self._keep is None:
                self._keep = Cached(plan.kind, plan.identity, overwrite=overwrite)
            failing.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._keep is not None
        total = len(self._tasks)
        # What is wrong with the runs themselves would be so again: they are not kept for that.
        ended = (self._over or self._done == total) and (
            error is None or isinstance(error, GnomonError)
        )
        if error is not None:
            self._warnings.append(f"the recording stopped early: {error or type(error).__name__}")
        try:
            self._keep.close(self._warnings, ended=ended)
        finally:
            self._stack.close()
        if not ended and self._done:
            places = " and ".join(f"'{place}'" for place in self._keep.places)
            self.note(
                f"{self._done} of {total} {self._plan.noun} are kept in {places}", self._keep.places
            )

    @property
    def places(self) -> tuple[str, ...]:
        """What the runs are kept in."""
        assert self._keep is not None
        return self._keep.places

    def warn(self, texts: Iterable[str]) -> None:
        """Note in the recordings what their readers should know."""
        self._warnings += texts

    def note(self, text: str, places: tuple[str, ...] = ()) -> None:
        """Tell something while the campaign goes on."""
        self._tell(Progress(self._done, len(self._tasks), note=text, places=places))

    def carry_out(self, make: Make, take: Take | None = None, then: Then | None = None) -> Outcome:
        """Carry out the tasks that are left, in their order, and what follows from them.

        Ctrl-C ends the campaign after the current run, which is not taken, as it was cut short.
        """
        assert self._keep is not None
        outcome = Outcome()
        before = self._keep.before(readings=take is not None)
        rest: list[Task] = []
        for task in self._tasks:  # which may become more meanwhile
            if task.key in before:
                self._take(task, before[task.key], take, outcome)
                self._tasks += then(task, before[task.key]) if then is not None else ()
            else:
                rest.append(task)
        if self._done:
            many = f"{self._done} of {len(self._tasks)} {self._plan.noun}"
            self.note(f"going on with the rest: {many} were made before")
            if not self._plan.simulated:
                outcome.warnings.append(
                    f"{many} were made before an interruption: conditions may have changed since"
                )
        warmup = self._plan.warmup if rest else ()
        clock = _Clock()
        queue = [*warmup, *rest]
        try:
            for place, task in enumerate(queue):
                left = clock.left(queue[max(place, len(warmup)) :])
                self._tell(Progress(self._done, len(self._tasks), left, task))
                started = time.monotonic()
                made = make(replace(task, shown=place == 0 or self._terms.show_output))
                if made.interrupted:
                    outcome.interrupted, outcome.cut_short = True, made
                    break
                if task.is_warmup:
                    continue
                if made.nothing_counted:
                    self._nothing_counted(task, made, outcome)
                    break
                clock.note(task.label, time.monotonic() - started)
                with Stopper().installed() as stopper:  # a run is kept as a whole or not at all
                    self._keep.take(task, made)
                    self._take(task, made, take, outcome)
                more = then(task, made) if then is not None else ()
                self._tasks += more
                queue += more
                if stopper.requested:
                    outcome.interrupted = True
                    break
        except KeyboardInterrupt:  # between two runs, where nobody else handles it
            outcome.interrupted = True
        self._warnings += outcome.warnings
        return outcome

    def _nothing_counted(self, task: Task, made: Measurement, outcome: Outcome) -> None:
        """End here: what cannot be counted in one run cannot be in the others."""
        assert self._keep is not None
        outcome.events, outcome.refused = made.events, made.readings
        outcome.warnings += made.warnings
        outcome.nothing_counted = self._over = True
        self._keep.take(task, made)

    def _take(self, task: Task, made: Measurement, take: Take | None, outcome: Outcome) -> None:
        self._done += 1
        outcome.events = outcome.events or made.events
        outcome.exit_status = made.exit_status or outcome.exit_status
        outcome.warnings += [text for text in made.warnings if text not in outcome.warnings]
        if made.timed_out:
            outcome.timed_out.append(task)
        if take is not None:
            take(task, made)


class _Clock:
    """Learns how long a task of each label takes: some are far slower than others."""

    def __init__(self) -> None:
        self._taken: dict[str, list[float]] = {}

    def note(self, label: str, seconds: float) -> None:
        self._taken.setdefault(label, []).append(seconds)

    def left(self, tasks: Sequence[Task]) -> float | None:
        """Return the seconds that these tasks will take; None where nothing is known of one."""
        means = {label: sum(taken) / len(taken) for label, taken in self._taken.items()}
        usual = max(means.values(), default=None)
        found = [means.get(task.label, task.expected) or usual for task in tasks]
        known = [seconds for seconds in found if seconds is not None]
        return sum(known) if known and len(known) == len(found) else None


def prepare(source: Source, events: str | None, targets: Sequence[Target]) -> Sequence[Group]:
    """Return what to count; raises where a target cannot be measured."""
    from gnomon.events.syntax import ask
    from gnomon.sources.base import preset_table

    if events is None:
        groups = source.default_events()
    else:
        groups = ask(events, source.resolve, preset_table(source, events)).groups
    for target in targets:
        source.open(groups, target).close()
    return groups


def one_run(
    source: Source,
    groups: Sequence[Group],
    target: Target,
    task: Task,
    *,
    interval: int | None = None,
    duration: float | None = None,
    timeout: float | None = None,
    on_readings: Sink | None = None,
) -> Measurement:
    """Make one run of a campaign; one that takes longer than `timeout` s has status 124."""
    limits = [limit for limit in (duration, timeout) if limit is not None]
    found: list[Reading] = []

    def take(readings: Iterable[Reading]) -> None:
        kept = [reading._replace(run=task.run, batch=task.batch) for reading in readings]
        found.extend(kept)
        if on_readings is not None and not task.is_warmup:
            on_readings(kept)

    longest = min(limits, default=None)
    ours = as_repeated(target, task)
    made = measure(source, groups, ours, interval=interval, duration=longest, sink=take)
    made.warnings += lost_input(target)
    made.readings = found
    made.runs = [
        replace(info, run=task.run, batch=task.batch, parameters=task.parameters)
        for info in made.runs
    ]
    made.check_time(timeout)
    return made


def as_repeated(target: Target, task: Task) -> Target:
    """Return a target whose program can be run again and again.

    Without an input of its own it reads nothing, as the first run would leave nothing of ours to
    the others. What it prints never mixes with what we print.
    """
    if isinstance(target, Cpus) and target.command is not None:
        command = as_repeated(target.command, task)
        return replace(target, command=command) if isinstance(command, Command) else target
    if not isinstance(target, Command):
        return target
    stdout = 2 if target.stdout is None else target.stdout
    return replace(target, input=target.input or os.devnull, stdout=stdout, quiet=not task.shown)


def lost_input(target: Target) -> list[str]:
    """Return a note where a program that is run repeatedly could expect our standard input."""
    command = target.command if isinstance(target, Cpus) else target
    if not isinstance(command, Command) or command.input:
        return []
    try:
        mode, waiting = os.fstat(0), bytearray(4)
        if stat.S_ISFIFO(mode.st_mode):
            fcntl.ioctl(0, termios.FIONREAD, waiting)
        given = any(waiting) or (stat.S_ISREG(mode.st_mode) and mode.st_size > 0)
    except OSError:
        return []
    note = "the program was given no standard input, as it runs repeatedly: use --input FILE"
    return [note] if given else []


def warmups(tasks: Sequence[Task], each: int) -> list[Task]:
    """Return `each` tasks for every subject that are made first and forgotten."""
    first = list({task.subject: task for task in reversed(tasks)}.values())
    return [replace(task, run=_WARMUP - turn) for turn in range(each) for task in first]


def shuffled(tasks: Sequence[_T], seed: int) -> list[_T]:
    """Return tasks in random order: drift of the machine is then scatter and not growth."""
    result = list(tasks)
    Random(seed).shuffle(result)
    return result


def in_rounds(tasks: int, rounds: int, seed: int) -> list[tuple[int, int]]:
    """Return (round, task) so that every round has all tasks, each time in another order."""
    random = Random(seed)
    order = []
    for number in range(rounds):
        tasks_of_round = list(range(tasks))
        random.shuffle(tasks_of_round)
        order += [(number, task) for task in tasks_of_round]
    return order
