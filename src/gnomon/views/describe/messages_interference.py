"""How compute beside communicators looks: what each way of waiting takes, and what it gains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.analysis.messages.result import Pays, by_reason
from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Headline,
    Kind,
    Layer,
    Section,
    Table,
    Text,
)

if TYPE_CHECKING:
    from gnomon.analysis.messages.result import Beside, Interference
    from gnomon.result import Quantity

_DRAWN = 24  # ways that can be told apart in a chart


def describe(result: Interference) -> Iterator[Block]:
    """Yield what there is to see of compute beside communicators."""
    sentence = result.recommendation
    yield Headline(f"{sentence[:1].upper()}{sentence[1:]}", (_where(result),))
    for pause in result.pauses:
        yield Section(f"A message {units.brief(pause, 'ns')} after each answer")
        yield Table.of(
            result.at(pause),
            (
                Column("waits by", lambda row: row.mechanism),
                Column("compute lost", lambda row: _cell(row.lost, "%"), interval="95 % interval"),
                Column("latency", lambda row: _cell(row.latency, "ns"), interval="95 %"),
                Column("p50", lambda row: row.p50, "ns", drop=3),
                Column("p99", lambda row: row.p99, "ns", drop=2),
                Column("work/msg", lambda row: _cell(row.work_per_message, "ns"), drop=1),
                Column("pays below", _pays),
                Column("messages", lambda row: row.messages, drop=6),
            ),
            name=f"pause-{pause}",
        )
    if result.rows:
        yield _trade(result)
    for reason, names in by_reason(result.left_out).items():
        yield Text(f"left out: {', '.join(names)} ({reason})")


def _where(result: Interference) -> str:
    threads = len(result.compute)
    cpus = ",".join(map(str, sorted(set(result.compute))))
    return (
        f"{threads} computing thread{'s' * (threads != 1)} on CPU {cpus}; the communicator on CPU "
        f"{result.communicator}, {result.shares}; the client on CPU {result.client}; "
        f"{result.rounds} rounds"
    )


def _cell(value: Quantity, unit: str) -> Cell:
    return Cell(value.value, unit, value.low, value.high)


def _pays(row: Beside) -> Cell:
    """Return the compute per message below which a way pays off against blocking."""
    if row.pays is not Pays.BELOW or row.between is None:
        return Cell(str(row.pays))
    return Cell(row.break_even, "ns", *row.between)


def _trade(result: Interference) -> Chart:
    ways: dict[str, list[Beside]] = {}
    for row in result.rows:
        ways.setdefault(row.mechanism, []).append(row)
    layers = (
        Layer(
            Kind.RANGES,
            tuple(row.latency.value for row in rows),
            tuple(row.lost.value for row in rows),
            name,
            tuple(row.lost.low for row in rows),
            tuple(row.lost.high for row in rows),
            texts=tuple(units.brief(row.pause, "ns") for row in rows),
        )
        for name, rows in itertools.islice(ways.items(), _DRAWN)
    )
    return Chart(
        "Compute lost against the mean round trip, with 95 % intervals of what is lost; beside a "
        "point is the pause between messages. Down and to the left is better.",
        Axis("mean round trip", "ns", log=10),
        Axis("compute lost", "%"),
        tuple(layers),
    )
