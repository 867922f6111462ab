"""How predictions for applications look: the answer, what it rests on, and each way beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Headline,
    Kind,
    Layer,
    Mark,
    Table,
    Text,
    Tone,
)

if TYPE_CHECKING:
    from gnomon.analysis.messages.result import Predicted, Prediction
    from gnomon.messaging import Quantity

_GAIN = "times as fast at user level"
_DRAWN = 24  # mechanisms that can be told apart in a chart


def describe(result: Prediction) -> Iterator[Block]:
    """Yield what there is to see of a prediction."""
    yield Headline(f"ESTIMATED {result.sentence}", tuple(_lines(result)))
    yield Table.of(
        (*result.rows, result.user_level),
        (
            Column("told by", lambda row: _name(row, result)),
            Column("cycle", lambda row: _cell(row.cycle, "ns"), interval="95 % interval"),
            Column("running", lambda row: row.running, "%", bar=True, drop=1),
            Column("waiting", lambda row: row.waiting, "%", bar=True, drop=1),
            Column("handler busy", lambda row: row.load, "%", drop=3),
            Column(_GAIN, lambda row: _gain(row, result), interval="95 %", digits=4),
        ),
        name="ways",
    )
    yield Text(_about(result))
    if result.regime:
        yield Text(f"costs were measured in regime {result.regime}; cycles are modelled")
    if result.rows:
        yield _speedups(result)
        yield _slowdowns(result)


def _lines(result: Prediction) -> Iterator[str]:
    if result.rows:
        now, then = (units.brief(row.cycle.value, "ns") for row in (result.now, result.user_level))
        yield f"a cycle of {now} would take {then}"
    if result.break_even is not None:
        yield (
            f"with more than {units.brief(result.break_even, 'ns')} of compute per message it "
            f"would gain less than {units.number(result.worth, '%')}"
        )
    if result.saved is not None:
        yield f"a thread would save {units.brief(result.saved, 'ns')} of a run"


def _name(row: Predicted, result: Prediction) -> str:
    """Return the name of a way, and what is special about it."""
    if row is result.user_level:
        return f"{row.mechanism} (modelled)"
    marks = ["used now"] if row is result.now else []
    if row.polls:
        marks.append("keeps a CPU busy")
    return f"{row.mechanism} ({', '.join(marks)})" if marks else row.mechanism


def _cell(value: Quantity, unit: str = "") -> Cell:
    return Cell(value.value, unit, value.low, value.high)


def _gain(row: Predicted, result: Prediction) -> Cell:
    return Cell() if row is result.user_level else _cell(row.speedup)


def _about(result: Prediction) -> str:
    application = result.application
    threads = "1 thread" if application.threads == 1 else f"{application.threads} threads"
    received = "by a communicator" if application.communicator else "by each thread for itself"
    compute, handler = (
        units.brief(part.value, "ns") for part in (application.compute, application.handler)
    )
    return (
        f"{application.name}: {threads} with {compute} of compute and {handler} of a handler per "
        f"message, {application.request:,} B there and {application.response:,} B back, received "
        f"{received}"
    )


def _speedups(result: Prediction) -> Chart:
    rows = sorted(result.rows, key=lambda row: -row.speedup.value)[:_DRAWN]
    names = tuple(row.mechanism for row in rows)
    return Chart(
        "How many times as fast user-level notification would be as each mechanism, with 95 % "
        "intervals from those of the inputs.",
        Axis("times as fast", zero=True),
        Axis("", names=names),
        (
            Layer(
                Kind.RANGES,
                tuple(row.speedup.value for row in rows),
                names,
                low=tuple(row.speedup.low for row in rows),
                high=tuple(row.speedup.high for row in rows),
                tones=tuple(Tone.DOUBT if row is result.now else Tone.PLAIN for row in rows),
            ),
        ),
        marks=(Mark(1.0, "no gain"),),
        key=((Tone.DOUBT, "used now"),),
    )


def _slowdowns(result: Prediction) -> Chart:
    return Chart(
        "How many times as long a cycle takes as with user-level notification, over the compute "
        "time per message.",
        Axis("compute per message", "ns", log=10),
        Axis("times as long"),
        tuple(
            Layer(Kind.LINE, curve.compute, curve.slowdown, curve.mechanism)
            for curve in result.curves[:_DRAWN]
        ),
        marks=(Mark(result.application.compute.value, "this application"),),
    )
