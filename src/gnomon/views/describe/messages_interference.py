"""How compute beside communicators looks: what each way of waiting takes, and what it gains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gnomon import units
from gnomon.analysis.messages.result import Beside, Interference, Pays, by_reason
from gnomon.views import blocks as b
from gnomon.views.shared import counted

_DRAWN = 24  # ways that can be told apart in a chart
_WITHIN = "95 % interval"


def describe(result: Interference) -> Iterator[b.Block]:
    """Yield what there is to see of compute beside communicators."""
    sentence, threads = result.recommendation, len(result.compute)
    where = (
        f"{counted(threads, 'computing thread')} on CPU "
        f"{','.join(map(str, sorted(set(result.compute))))}; the communicator on CPU "
        f"{result.communicator}, {result.shares}; the client on CPU {result.client}; "
        f"{result.rounds} rounds"
    )
    yield b.Headline(f"{sentence[:1].upper()}{sentence[1:]}", (where,))
    for pause in result.pauses:
        yield b.Section(f"Pause of {units.brief(pause, 'ns')} before each message")
        yield b.Table.of(
            result.at(pause),
            b.Column("waits by", "mechanism"),
            b.Column("compute lost", lambda row: b.Cell.of(row.lost, "%"), interval=_WITHIN),
            b.Column("latency", lambda row: b.Cell.of(row.latency, "ns"), interval="95 %"),
            b.Column("p50", "p50", "ns", drop=3),
            b.Column("p99", "p99", "ns", drop=2),
            b.Column("work/msg", lambda row: b.Cell.of(row.work_per_message, "ns"), drop=1),
            b.Column("pays below", _pays),
            b.Column("messages", drop=6),
            name=f"pause-{pause}",
        )
    if result.rows:
        yield _trade(result)
    for reason, names in by_reason(result.left_out).items():
        yield b.Text(f"not measured: {', '.join(names)} ({reason})")


def _pays(row: Beside) -> b.Cell:
    """Return the compute per message below which a way pays off against blocking."""
    if row.pays is not Pays.BELOW or row.between is None:
        return b.Cell(str(row.pays))
    return b.Cell(row.break_even, "ns", *row.between)


def _trade(result: Interference) -> b.Chart:
    layers = (
        b.Layer(
            b.Kind.RANGES,
            tuple(row.latency.value for row in rows),
            tuple(row.lost.value for row in rows),
            name,
            tuple(row.lost.low for row in rows),
            tuple(row.lost.high for row in rows),
            texts=tuple(units.brief(row.pause, "ns") for row in rows),
        )
        for name, rows in itertools.islice(result.ways.items(), _DRAWN)
    )
    return b.Chart.of(
        "Compute lost against the mean round trip, with 95 % intervals of the loss; beside a "
        "point is the pause between messages. Down and to the left is better.",
        b.Axis("mean round trip", "ns", log=10),
        b.Axis("compute lost", "%"),
        *layers,
    )
