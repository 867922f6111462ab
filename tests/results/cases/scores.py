"""Scores of estimators: two data sets, one of which has nothing that is long enough."""

from __future__ import annotations

from gnomon.analysis.estimate.scoring.result import (
    DataSetScore,
    ModelScore,
    OrderScore,
    PredictionScore,
    Scores,
    TotalScore,
)


def _model(number: int) -> ModelScore:
    kinds = (number % 3 != 2, number % 7 == 3, number % 3 == 1)
    return ModelScore(*kinds, 0.3, 0.5 + number / 1e6, 0.6, 1.0, 1.1, 0.91, 0.84)


def _of(models: int, text: str = "") -> Scores:
    names = [f"{text}model-{number}" for number in range(models)]
    full = DataSetScore(
        47,
        3,
        338,
        0.557,
        {name: _model(number) for number, name in enumerate(names)},
        TotalScore(0.15, 0.16, 0.885),
        0.639,
        {text or "chosen": OrderScore(0.29, 0.76, 0.87), f"{text}2": OrderScore(0.3, 1.0, 1.0)},
        {"1": PredictionScore(0.639, 0.9), "16": PredictionScore(0.8, 0.88)},
    )
    none = DataSetScore(0, 4, 0, None, {})
    return Scores(1, {text or "corun": full, f"{text}short": none}, warnings=(text or "left out",))


def small() -> Scores:
    return _of(6)


def empty() -> Scores:
    return Scores(0, {})


def hostile(text: str) -> Scores:
    return _of(3, text)


def huge(rows: int) -> Scores:
    return _of(rows)
