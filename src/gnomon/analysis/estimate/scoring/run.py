"""Scoring of many models on many files, on several processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Model
from gnomon.analysis.estimate.models import DEFAULT, find_model, is_model, model_names
from gnomon.analysis.estimate.scoring.data import read_data_sets
from gnomon.analysis.estimate.scoring.errors import EventScore, event_scores, model_score
from gnomon.analysis.estimate.scoring.result import DataSetScore, Scores
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.estimate.scoring.data import CounterSeries, DataSet
    from gnomon.analysis.estimate.scoring.extras import FileExtras


def bench(
    data: str | os.PathLike[str],
    models: Sequence[str] | None = None,
    *,
    jobs: int | None = None,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> Scores:
    """Score estimators on a folder of data sets in which every count is known.

    Without `models` all of them are scored, totals, predictions and orders of reading as well.
    `jobs` processes do the work, one per CPU without it. `on_progress` is told how many pieces of
    work are done, and how many there are.

    >>> rows = "".join(f"{n % 7 + 9},{n % 5 + 3},{n % 3}\\n" for n in range(310))
    >>> Path("data/one").mkdir(parents=True)
    >>> written = Path("data/one/a.csv").write_text(f"instructions,cycles,loads\\n{rows}")
    >>> "hold" in gn.lab.bench("data", ["hold"], jobs=1).datasets["one"].models
    True
    """
    if jobs is not None and jobs < 1:
        raise UsageError("--jobs must be at least 1.")
    entries = all_entries() if models is None else choose_entries(models)
    left_out: list[str] = []
    data_sets = read_data_sets(data, left_out.append)
    total, done = len(_works(data_sets, entries, models is None)), 0

    def advance() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, total)

    workers = jobs or len(os.sched_getaffinity(0))
    extras = models is None
    found = score(data_sets, entries, extras=extras, seed=seed, jobs=workers, on_done=advance)
    warnings = tuple(f"a folder without counts was left out: {reason}" for reason in left_out)
    return Scores(seed, found, warnings=warnings)


class Rule(StrEnum):
    """What an estimate of a row may depend on."""

    STRICT = "strict"
    """Rows up to it."""
    CAUSAL = "causal"
    """Rows up to the end of its rotation."""
    SMOOTHED = "smoothed"
    """All rows."""
    CALIBRATED = "calibrated"
    """As causal, after a first half in which every event was read in every row."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the table."""

    model: str
    rule: Rule

    @property
    def name(self) -> str:
        """The model's name, and the rule unless it is the usual one."""
        return self.model if self.rule is usual_rule(self.model) else f"{self.model}-{self.rule}"

    def make(self) -> Model:
        """The model itself."""
        return find_model(self.model)


def usual_rule(model: str) -> Rule:
    """Hold is the one that needs no more than the past; the others wait for the rotation."""
    return Rule.STRICT if model == "hold" else Rule.CAUSAL


def all_entries() -> list[Entry]:
    """Every model under its usual rule, and what else is worth a line."""
    entries = []
    for model in model_names():
        entries.append(Entry(model, usual_rule(model)))
        if model == DEFAULT:
            entries += [
                Entry(model, rule) for rule in (Rule.STRICT, Rule.SMOOTHED, Rule.CALIBRATED)
            ]
        elif model in ("interpolation", "trapezoid"):
            entries.append(Entry(model, Rule.SMOOTHED))
    return entries


def choose_entries(names: Sequence[str]) -> list[Entry]:
    """The entries of these names; any model may be asked for under any rule."""
    return [_entry(name) for name in dict.fromkeys(names)]


def _entry(name: str) -> Entry:
    if is_model(name):
        return Entry(name, usual_rule(name))
    model, _, rule = name.rpartition("-")
    if is_model(model) and rule in set(Rule):
        return Entry(model, Rule(rule))
    known = ", ".join(model_names())
    rules = ", ".join(f"-{rule}" for rule in Rule)
    raise UsageError(f"'{name}' is not a model: there are {known}, each also with {rules}.")


@dataclass(frozen=True, slots=True)
class Work:
    """One entry on one file, or what else is scored on it if there is no entry."""

    data_set: int
    file: int
    entry: Entry | None


def score(
    data_sets: Sequence[DataSet],
    entries: Sequence[Entry],
    *,
    extras: bool = True,
    seed: int = 0,
    jobs: int = 1,
    on_done: Callable[[], None] | None = None,
) -> dict[str, DataSetScore]:
    """Score entries on data sets; `on_done` is called after each piece of work."""
    parts: dict[Work, list[EventScore] | FileExtras] = {}
    for work, part in _carried_out(data_sets, _works(data_sets, entries, extras), seed, jobs):
        parts[work] = part
        if on_done is not None:
            on_done()
    return {
        data_set.name: _data_set_score(number, data_set, entries, extras, parts)
        for number, data_set in enumerate(data_sets)
    }


def score_file(series: CounterSeries, entry: Entry) -> list[EventScore]:
    """Score one entry on one file."""
    from gnomon.analysis.estimate.model import causal, strict
    from gnomon.analysis.estimate.scoring.masking import fully_read, in_turn

    half = len(series) // 2
    model = entry.make()
    if entry.rule is Rule.CALIBRATED:
        readings = in_turn(series, half)
        estimates = causal(model, readings, fully_read(series, half))
        return event_scores(series.name, readings, series.counts[half:], estimates)
    readings = in_turn(series)
    if entry.rule is Rule.SMOOTHED:
        estimates = model.smooth(readings)
    elif entry.rule is Rule.STRICT:
        estimates = strict(model, readings)
    else:
        estimates = causal(model, readings)
    return event_scores(series.name, readings, series.counts, estimates)


def _works(data_sets: Sequence[DataSet], entries: Sequence[Entry], extras: bool) -> list[Work]:
    wanted: list[Entry | None] = [*([None] if extras else []), *entries]
    works = [
        Work(number, file, entry)
        for number, data_set in enumerate(data_sets)
        for file in range(len(data_set.series))
        for entry in wanted
    ]
    # The longest files first, so that no processor is left with one of them at the end.
    return sorted(works, key=lambda work: -len(data_sets[work.data_set].series[work.file]))


def _carry_out(
    series: CounterSeries, entry: Entry | None, seed: int
) -> list[EventScore] | FileExtras:
    if entry is not None:
        return score_file(series, entry)
    from gnomon.analysis.estimate.scoring.extras import score_extras

    return score_extras(series, seed)


def _carried_out(
    data_sets: Sequence[DataSet], works: Sequence[Work], seed: int, jobs: int
) -> Iterator[tuple[Work, list[EventScore] | FileExtras]]:
    if jobs == 1:
        for work in works:
            series = data_sets[work.data_set].series[work.file]
            yield work, _carry_out(series, work.entry, seed)
        return
    with ProcessPoolExecutor(jobs, initializer=_end_with, initargs=(os.getpid(),)) as pool:
        running: dict[Future[list[EventScore] | FileExtras], Work] = {}
        try:
            for work in works:
                series = data_sets[work.data_set].series[work.file]
                running[pool.submit(_carry_out, series, work.entry, seed)] = work
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _end_with(parent: int) -> None:
    """End this process when the one that started it does, however that comes to pass."""
    import ctypes
    import signal

    set_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)
    if os.getppid() != parent:  # it was too late to ask
        os._exit(1)


def _data_set_score(
    number: int,
    data_set: DataSet,
    entries: Sequence[Entry],
    extras: bool,
    parts: dict[Work, list[EventScore] | FileExtras],
) -> DataSetScore:
    import numpy as np

    models = {}
    scaled: list[float] = []
    files = range(len(data_set.series))
    for entry in entries if files else ():
        events = [
            each
            for file in files
            for each in parts[Work(number, file, entry)]  # type: ignore[union-attr]
        ]
        if not events:  # nothing happened in what is scored
            continue
        models[entry.name] = model_score(
            events,
            causal=entry.rule is not Rule.SMOOTHED,
            calibrated=entry.rule is Rule.CALIBRATED,
            strict=entry.rule is Rule.STRICT,
        )
        if entry.rule is not Rule.CALIBRATED:
            scaled = [each.window_scaled for each in events]
    summed = ()
    if extras and files:
        from gnomon.analysis.estimate.scoring.extras import extra_scores

        summed = extra_scores([parts[Work(number, file, None)] for file in files])  # type: ignore[assignment, misc]
    return DataSetScore(
        len(files),
        data_set.skipped,
        sum(len(series.events) for series in data_set.series),
        float(np.mean(scaled)) if scaled else None,
        models,
        *summed,
    )
