"""How scores of estimators look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from gnomon.analysis.estimate.scoring.extras import ExtraScores
from gnomon.analysis.estimate.scoring.run import DataSetScore
from gnomon.views.table import Column, Table


def print_scores(scores: Sequence[DataSetScore], stream: TextIO) -> None:
    """Write a table for each data set."""
    for number, score in enumerate(scores):
        stream.write("\n" if number else "")
        _print_data_set(score, stream)
    stream.write(
        "\n  window error: of the totals of rotations, relative. Ratios: to linear scaling, "
        "geometric mean, 95th\n  percentile and maximum over events of files. Covered: unread "
        "slices within the 90 % interval,\n  on average and 5th percentile over events of files. "
        "Calibrated: on second halves.\n"
    )


def _print_data_set(score: DataSetScore, stream: TextIO) -> None:
    skipped = f", {score.skipped} too short" if score.skipped else ""
    stream.write(f"{score.name}: {score.files} files{skipped}, {score.events} events of files")
    if math.isfinite(score.scaling_error):
        stream.write(f"; window error of linear scaling {score.scaling_error:.1%}")
    stream.write("\n\n")
    if not score.models:
        return
    headings = ("window error", "ratio", "p95", "max", "slice ratio", "covered", "p5")
    columns = [Column("model"), Column("sees"), *(Column(name, right=True) for name in headings)]
    table = Table(columns)
    for model in score.models:
        sees = "strict" if model.strict else "causal" if model.causal else "all"
        table.add(
            model.model,
            "calibrated" if model.calibrated else sees,
            f"{model.window_error:.1%}",
            f"{model.window_ratio:.3f}",
            f"{model.p95_ratio:.2f}",
            f"{model.max_ratio:.2f}",
            f"{model.slice_ratio:.3f}",
            f"{model.coverage90:.1%}",
            f"{model.coverage90_p5:.1%}",
        )
    table.print(stream)
    if score.extras is not None:
        _print_extras(score.extras, stream)


def _print_extras(extras: ExtraScores, stream: TextIO) -> None:
    prediction = f"mean square error {extras.prediction_ratio:.3f} of hold's"
    totals = extras.totals
    stream.write(
        f"\n  totals of runs: error {totals.error:.1%}, linear scaling {totals.scaled_error:.1%}; "
        f"{totals.coverage90:.1%} in their 90 % intervals\n"
    )
    stream.write(f"  prediction of the next row: {prediction}\n")
    stream.writelines(
        f"  reading order {name}: window error {order.window_error:.1%}, "
        f"{order.mean_ratio:.3f} of round-robin's, geometric {order.geometric_ratio:.3f}\n"
        for name, order in extras.orders.items()
    )


def scores_as_json(scores: Sequence[DataSetScore], seed: int) -> dict[str, Any]:
    """Return the scores in the form that scripts read."""
    return {"seed": seed, "datasets": {score.name: _data_set_as_json(score) for score in scores}}


def _data_set_as_json(score: DataSetScore) -> dict[str, Any]:
    models = {}
    for model in score.models:
        fields = asdict(model)
        models[fields.pop("model")] = fields
    extras = asdict(score.extras) if score.extras is not None else {}
    return {
        "files": score.files,
        "skipped": score.skipped,
        "events": score.events,
        "scaling_window_error": score.scaling_error if math.isfinite(score.scaling_error) else None,
        "models": models,
        **extras,
    }
