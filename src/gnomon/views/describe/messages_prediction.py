"""How predictions for applications look: the answer, what it rests on, and each way beside it."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import units
from gnomon.messaging.result import Application, Predicted, Prediction
from gnomon.views import blocks as b
from gnomon.views.shared import counted

_GAIN = "times as fast at user level"
_DRAWN = 24  # mechanisms that can be told apart in a chart


def describe(result: Prediction) -> Iterator[b.Block]:
    """Yield what there is to see of a prediction."""
    yield b.Headline(f"ESTIMATED {result.sentence}", tuple(_lines(result)))
    yield b.Table.of(
        (*result.rows, result.user_level),
        b.Column("notified by", lambda row: _name(row, result)),
        b.Column("cycle", lambda row: b.Cell.of(row.cycle, "ns"), interval="95 % interval"),
        b.Column("running", "running", "%", bar=True, drop=1),
        b.Column("waiting", "waiting", "%", bar=True, drop=1),
        b.Column("handler busy", "load", "%", drop=3),
        b.Column(_GAIN, lambda row: _gain(row, result), interval="95 %", digits=4),
        name="ways",
    )
    yield b.Text(_about(result.application))
    if result.regime:
        yield b.Text(f"costs were measured in regime {result.regime}; cycles are modelled")
    if result.rows:
        yield from _charts(result)


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


def _gain(row: Predicted, result: Prediction) -> b.Cell:
    return b.Cell.of(None if row is result.user_level else row.speedup)


def _name(row: Predicted, result: Prediction) -> str:
    """Return the name of a way, and what is special about it."""
    if row is result.user_level:
        return f"{row.mechanism} (modelled)"
    marks = ["used now"] * (row is result.now) + ["keeps a CPU busy"] * row.polls
    return f"{row.mechanism} ({', '.join(marks)})" if marks else row.mechanism


def _about(what: Application) -> str:
    compute, handler = (units.brief(part.value, "ns") for part in (what.compute, what.handler))
    return (
        f"{what.name}: {counted(what.threads, 'thread')} with {compute} of compute "
        f"and {handler} of a handler per message, {what.request:,} B there and {what.response:,} B "
        f"back, received by {'a communicator' if what.communicator else 'each thread for itself'}"
    )


def _charts(result: Prediction) -> Iterator[b.Chart]:
    rows = sorted(result.rows, key=lambda row: -row.speedup.value)[:_DRAWN]
    names = tuple(row.mechanism for row in rows)
    gain = b.Layer(
        b.Kind.RANGES,
        tuple(row.speedup.value for row in rows),
        names,
        low=tuple(row.speedup.low for row in rows),
        high=tuple(row.speedup.high for row in rows),
        tones=tuple(b.Tone.DOUBT if row is result.now else b.Tone.PLAIN for row in rows),
    )
    yield b.Chart.of(
        "How many times as fast user-level notification would be as each mechanism, with 95 % "
        "intervals from those of the inputs.",
        b.Axis("times as fast", zero=True),
        b.Axis("", names=names),
        gain,
        marks=(b.Mark(1.0, "no gain"),),
        key=((b.Tone.DOUBT, "used now"),),
    )
    yield b.Chart.of(
        "How many times as long a cycle takes as with user-level notification, over the compute "
        "time per message.",
        b.Axis("compute per message", "ns", log=10),
        b.Axis("times as long"),
        *(
            b.Layer(b.Kind.LINE, curve.compute, curve.slowdown, curve.mechanism)
            for curve in result.curves[:_DRAWN]
        ),
        marks=(b.Mark(result.application.compute.value, "this application"),),
    )
