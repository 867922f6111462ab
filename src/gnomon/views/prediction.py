"""How predictions for applications look in a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from gnomon.units import format_duration
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from gnomon.analysis.prediction import Application, Predicted, Prediction, Quantity


GAIN = "speedup at user level"
"""What the last column says: how many times as fast the application would be."""


def print_prediction(prediction: Prediction, stream: TextIO) -> None:
    """Write the answer in words, then a line for each way of being told."""
    stream.write(f"ESTIMATED {prediction.sentence}\n\n")
    headings = ("cycle", "running", "waiting", GAIN)
    table = Table([Column("told by"), *(Column(name, right=True) for name in headings)])
    for row in (*prediction.rows, prediction.target):
        table.add(
            way_text(row, prediction),
            format_duration(row.cycle.value),
            f"{row.running:.0%}",
            f"{row.waiting:.0%}",
            "" if row is prediction.target else gain_text(row.speedup),
        )
    table.print(stream)
    stream.write("\n")
    stream.writelines(f"  {line}\n" for line in assumed(prediction))


def way_text(row: Predicted, prediction: Prediction) -> str:
    """Return the name of a way, and what is special about it."""
    if row is prediction.target:
        return f"{row.way.name} (modelled)"
    marks = ["used now"] if row is prediction.now else []
    if row.way.polls:
        marks.append("keeps a CPU busy")
    return f"{row.way.name} ({', '.join(marks)})" if marks else row.way.name


def gain_text(speedup: Quantity) -> str:
    """Return a speedup with its interval."""
    return f"{speedup.value:.3f} [{speedup.low:.3f}, {speedup.high:.3f}]"


def assumed(prediction: Prediction) -> list[str]:
    """Return what a prediction rests on and what it means for a run, a line each."""
    lines = [_about(prediction.application)]
    if prediction.regime:
        lines.append(f"costs were measured in regime {prediction.regime}; cycles are modelled")
    if prediction.saved is not None:
        lines.append(f"a thread would save {format_duration(prediction.saved)} of a run")
    return lines


def _about(application: Application) -> str:
    threads = "1 thread" if application.threads == 1 else f"{application.threads} threads"
    received = "by a communicator" if application.communicator else "by each thread for itself"
    return (
        f"{threads} with {format_duration(application.compute.value)} of compute and "
        f"{format_duration(application.handler.value)} of a handler per message, "
        f"{application.request:,} B there and {application.response:,} B back, received {received}"
    )


def prediction_as_json(prediction: Prediction) -> dict[str, Any]:
    """Return everything in the form that scripts read; times are in ns."""
    application = prediction.application
    return {
        "sentence": prediction.sentence,
        "application": {
            "name": application.name,
            "compute": _quantity(application.compute),
            "handler": _quantity(application.handler),
            "threads": application.threads,
            "request": application.request,
            "response": application.response,
            "exchanges": application.exchanges,
            "communicator": application.communicator,
        },
        "regime": prediction.regime,
        "mechanism": prediction.now.way.name,
        "break_even": prediction.break_even,
        "saved": prediction.saved,
        "rows": [_row(row) for row in prediction.rows],
        "user_level": _row(prediction.target),
        "curves": [
            {"mechanism": one.way, "compute": list(one.compute), "slowdown": list(one.slowdown)}
            for one in prediction.curves
        ],
    }


def _row(row: Predicted) -> dict[str, Any]:
    return {
        "mechanism": row.way.name,
        "measured": row.way.measured,
        "polls": row.way.polls,
        "cycle": _quantity(row.cycle),
        "speedup": _quantity(row.speedup),
        "running": row.running,
        "waiting": row.waiting,
        "load": row.load,
    }


def _quantity(quantity: Quantity) -> dict[str, float]:
    return {"value": quantity.value, "low": quantity.low, "high": quantity.high}
