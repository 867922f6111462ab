"""How scaling looks in a terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import Any, TextIO

from gnomon.analysis.scaling.result import EventScaling, Prediction, Scaling
from gnomon.units import format_duration, format_si
from gnomon.views.counts import format_value
from gnomon.views.sparkline import sparkline
from gnomon.views.table import Colour, Column, Table

_STEEP = ("quadratic", "cubic", "exponential")
_MOST_LOADINGS = 4


def print_scaling(result: Scaling, stream: TextIO, *, everything: bool = False) -> None:
    """Write how events grow, then knees, predictions and what varies together."""
    origin = result.provenance
    label = "SIMULATED " if origin.simulated else ""
    what = " ".join(origin.command) or origin.target or "unnamed"
    stream.write(
        f"{label}{what}: counted by {origin.source}, {len(result.points)} points of "
        f"{', '.join(result.parameters)}, {result.runs} runs\n\n"
    )
    shown = [row for row in result.rows if everything or row.model.terms]
    if shown:
        _models(result, shown).print(stream)
    constant = [row.event for row in result.rows if not row.model.terms]
    if constant and not everything:
        stream.write(f"\n  {len(constant)} constant: {', '.join(constant)}\n")
    _knees(result, stream)
    _predictions(result, shown, stream)
    _components(result, stream)


def _models(result: Scaling, rows: list[EventScaling]) -> Table:
    table = Table(
        (
            Column("event"),
            Column("growth"),
            Column("model"),
            Column("R²", right=True),
            Column("adjusted", right=True),
            Column("over the range") if len(result.parameters) == 1 else Column(""),
            Column(""),
        )
    )
    for row in rows:
        course = sparkline(row.means, 24) if len(result.parameters) == 1 else ""
        table.add(
            row.event,
            row.growth,
            formula_text(row, result.parameters),
            _share(row.r_squared),
            _share(row.adjusted_r_squared),
            course,
            doubts_text(row),
            colour=_colour(row),
        )
    return table


def formula_text(row: EventScaling, names: tuple[str, ...]) -> str:
    """Return the model of an event with its unit."""
    text = row.formula(names)
    return f"{text} {row.unit}" if row.unit else text


def doubts_text(row: EventScaling) -> str:
    """Return what else would fit, and what does not."""
    near = [name for name, distance in row.alternatives if distance < 2]
    words = [f"or {near[0]}"] if near else []
    return "; ".join([*words, *([row.note] if row.note else [])])


def _colour(row: EventScaling) -> Colour | None:
    if not row.model.terms:
        return Colour.DIM
    return Colour.RED if any(word in row.growth for word in _STEEP) else None


def _share(number: float | None) -> str:
    return "" if number is None else f"{number:.4f}"


def _knees(result: Scaling, stream: TextIO) -> None:
    bent = [row for row in result.rows if row.knee is not None]
    if bent:
        stream.write("\n")
    for row in bent:
        assert row.knee is not None
        knee, name = row.knee, result.parameters[0]
        how = "log-log slope" if knee.log_log else "slope"
        stream.write(
            f"  knee: {row.event} bends at {name} = {knee.at:.4g}, {how} {knee.before:.4g} before "
            f"and {knee.after:.4g} after (p {knee.p:.1g})\n"
        )


def _predictions(result: Scaling, rows: list[EventScaling], stream: TextIO) -> None:
    if not any(row.predictions for row in rows):
        return
    table = Table(
        (
            Column("event"),
            Column("at"),
            Column("predicted", right=True),
            Column(f"{result.level:.0%} for one run", right=True),
        )
    )
    for row in rows:
        for prediction in row.predictions:
            table.add(row.event, place_text(result, prediction), *_predicted(prediction, row.unit))
    stream.write("\n")
    table.print(stream)


def place_text(result: Scaling, prediction: Prediction) -> str:
    """Return where a prediction is for."""
    pairs = zip(result.parameters, prediction.at, strict=True)
    return ", ".join(f"{name} = {value:g}" for name, value in pairs)


def _predicted(prediction: Prediction, unit: str) -> tuple[str, str]:
    bounds = f"{amount_text(prediction.low, unit)} to {amount_text(prediction.high, unit)}"
    return amount_text(prediction.value, unit), bounds


def amount_text(value: float, unit: str) -> str:
    """Return a predicted value with its unit."""
    if not isfinite(value):
        return "unbounded"
    if unit == "ns":
        return format_duration(value)
    if abs(value) < 1e6:
        return format_value(value, unit)
    return f"{format_si(value)}{unit}"


def _components(result: Scaling, stream: TextIO) -> None:
    found = result.components
    if len(found.events) < 2:
        return
    first = sorted(
        zip(found.events, found.loadings[0].tolist(), strict=True), key=lambda pair: -abs(pair[1])
    )
    names = ", ".join(name for name, _ in first[:_MOST_LOADINGS])
    stream.write(
        f"\n  {found.shares[0]:.0%} of the variation goes in one direction: {names}"
        f"{' and more' if len(first) > _MOST_LOADINGS else ''}\n"
    )


def scaling_as_json(result: Scaling) -> dict[str, Any]:
    """Return everything in the form that scripts read; unbounded ends are null."""
    found = result.components
    return {
        "provenance": asdict(result.provenance),
        "parameters": list(result.parameters),
        "points": [list(point) for point in result.points],
        "runs": result.runs,
        "level": result.level,
        "interrupted": result.interrupted,
        "events": [_row_as_json(row, result.parameters) for row in result.rows],
        "components": {
            "events": list(found.events),
            "shares": found.shares.tolist(),
            "loadings": found.loadings.tolist(),
            "scores": found.scores.tolist(),
        },
    }


def _row_as_json(row: EventScaling, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "event": row.event,
        "unit": row.unit or "count",
        "growth": row.growth,
        "formula": row.formula(names, digits=17),
        "coefficients": [
            {
                "term": c.term,
                "value": _finite(c.value),
                "interval": [_finite(c.low), _finite(c.high)],
            }
            for c in row.coefficients
        ],
        "r_squared": row.r_squared,
        "adjusted_r_squared": row.adjusted_r_squared,
        "noise": str(row.noise),
        "alternatives": [{"growth": name, "distance": d} for name, d in row.alternatives],
        "means": list(row.means),
        "knee": None if row.knee is None else asdict(row.knee),
        "predictions": [
            {
                "at": dict(zip(names, p.at, strict=True)),
                "value": _finite(p.value),
                "interval": [_finite(p.low), _finite(p.high)],
            }
            for p in row.predictions
        ],
        "note": row.note,
    }


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None
