"""Surveys: forty events in twelve runs, five of them folded away."""

from __future__ import annotations

from gnomon.analysis.survey.result import Fold, SurveyResult, SurveyRow, SurveySource
from gnomon.recording.contents import Provenance, RunInfo, Status
from gnomon.result import Interval

_FOLDS = (Fold.ZERO, Fold.CONSTANT, Fold.SAME, Fold.NOISY, Fold.MISSING)


def _row(number: int, shown: int, text: str = "") -> SurveyRow:
    fold = None if number < shown else _FOLDS[number % len(_FOLDS)]
    values = tuple(1_000.0 * (number + 1) + run for run in range(4))
    missing = fold is Fold.MISSING
    mean = None if missing else sum(values) / len(values)
    estimated = number % 7 == 3 and mean is not None
    status = Status.ESTIMATED if estimated else Status.COUNTED
    if missing:
        status = Status.NOT_SUPPORTED
    return SurveyRow(
        event=text or f"event-{number}",
        rank=number + 1 if fold is None else None,
        folded=fold,
        reason=text or ("" if fold is None else "a reason"),
        mean=mean,
        interval=Interval(0.9 * mean, 1.1 * mean) if estimated and mean is not None else None,
        spread=None if missing else 0.01 * (number % 9),
        unit="ns" if number % 3 == 0 else "B" if number % 3 == 1 else "",
        status=status,
        origin="laptop" if number % 5 == 4 else "host",
        simulated=number % 5 == 4,
        share=number / (100 + number) if number % 2 and fold is None else None,
        basis="10 ns each" if number % 2 else "",
        correlation=0.5 if number % 4 == 0 else None,
        values=() if missing else values,
        runs=() if missing else tuple((run, number) for run in range(4)),
        scope="thread",
        description=text or "what it counts, in a sentence of the length that most of them have",
        caveats=(text or "a caveat",) if number == 0 else (),
    )


def _of(rows: tuple[SurveyRow, ...], runs: int, text: str = "") -> SurveyResult:
    infos = tuple(RunInfo(i, 0, i * 10**9, i * 10**9 + 10**8 + i * 10**6, 0) for i in range(runs))
    origin = Provenance(
        "host",
        command=(text or "./program", text or "argument"),
        host=text or "box",
        plan=("host event",),
        repeat=12,
        environment={"A": text},
    )
    return SurveyResult(
        rows,
        infos,
        12,
        text or "program-survey.gnomon",
        elapsed=1.05e8 if infos else None,
        sources=(
            SurveySource("host", "host", text or "the kernel and the hardware (perf)"),
            SurveySource("laptop", text or "laptop", "the SIMULATED machine laptop", own_time=True),
        ),
        provenance=origin,
        warnings=(text or "a warning",),
    )


def small() -> SurveyResult:
    return _of(tuple(_row(number, 35) for number in range(40)), 12)


def empty() -> SurveyResult:
    return SurveyResult((), (), 0, provenance=Provenance(""))


def hostile(text: str) -> SurveyResult:
    return _of(tuple(_row(number, 10, text) for number in range(15)), 4, text)


def huge(rows: int) -> SurveyResult:
    return _of(tuple(_row(number, rows // 2) for number in range(rows)), rows)
