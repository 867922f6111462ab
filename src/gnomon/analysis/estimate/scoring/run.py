"""Scoring of many models on many files, on several processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.scoring.entries import Entry, Rule
from gnomon.analysis.estimate.scoring.errors import (
    EventScore,
    ModelScore,
    event_scores,
    model_score,
)

if TYPE_CHECKING:
    from gnomon.analysis.estimate.scoring.data import CounterSeries, DataSet
    from gnomon.analysis.estimate.scoring.extras import ExtraScores, FileExtras


@dataclass(frozen=True, slots=True)
class DataSetScore:
    """All models on one data set."""

    name: str
    files: int
    skipped: int
    events: int
    scaling_error: float
    models: tuple[ModelScore, ...]
    extras: ExtraScores | None


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
) -> list[DataSetScore]:
    """Score entries on data sets; `on_done` is called `amount_of_work` times."""
    parts: dict[Work, list[EventScore] | FileExtras] = {}
    for work, part in _carried_out(data_sets, _works(data_sets, entries, extras), seed, jobs):
        parts[work] = part
        if on_done is not None:
            on_done()
    return [
        _data_set_score(number, data_set, entries, extras, parts)
        for number, data_set in enumerate(data_sets)
    ]


def amount_of_work(data_sets: Sequence[DataSet], entries: Sequence[Entry], extras: bool) -> int:
    """How many pieces of work there are."""
    return len(_works(data_sets, entries, extras))


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

    models = []
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
        models.append(
            model_score(
                entry.name,
                events,
                causal=entry.rule is not Rule.SMOOTHED,
                calibrated=entry.rule is Rule.CALIBRATED,
                strict=entry.rule is Rule.STRICT,
            )
        )
        if entry.rule is not Rule.CALIBRATED:
            scaled = [each.window_scaled for each in events]
    summed = None
    if extras and files:
        from gnomon.analysis.estimate.scoring.extras import extra_scores

        summed = extra_scores([parts[Work(number, file, None)] for file in files])  # type: ignore[misc]
    return DataSetScore(
        data_set.name,
        len(files),
        data_set.skipped,
        sum(len(series.events) for series in data_set.series),
        float(np.mean(scaled)) if scaled else float("nan"),
        tuple(models),
        summed,
    )
