"""What a message costs by each mechanism, in the terms that models of applications need."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.notify.result import Bench, Measured, Regime, Row
from gnomon.analysis.notify.statistics import difference
from gnomon.messaging.host import What

if TYPE_CHECKING:
    from gnomon.recording import Recording

REFERENCES = ("poll", "poll-pause")
"""Mechanisms whose time is the way through the memory, the better one first."""


@dataclass(frozen=True, slots=True)
class MessageCosts:
    """The costs of the smallest message by one mechanism in one regime, all in ns.

    `send` is the call that sends; it includes waking the receiver where that must be done.
    `receive` is the call that receives a message which is there already. `latency` goes from
    before the one to after the other. `notification` is how much of it polling would save, and
    `wake` what of it passes outside both calls and the way through the memory: at least that
    is spent on waking up, since the call that sends goes on meanwhile.
    """

    mechanism: str
    regime: Regime
    send: Measured
    receive: Measured
    latency: Measured
    notification: Measured
    wake: Measured


def message_costs(what: Bench | str | os.PathLike[str] | Recording) -> tuple[MessageCosts, ...]:
    """Return the measured costs of a benchmark or of its recording.

    Rows without times of sending and receiving, which are those of pollers on one core, are
    left out.
    """
    from gnomon.analysis.notify.recorded import bench_of

    result = what if isinstance(what, Bench) else bench_of(what)
    found = (_costs(row, _wire(result, row.regime)) for row in result.rows)
    return tuple(one for one in found if one is not None)


def _wire(result: Bench, regime: Regime) -> Measured:
    """Return the way through the memory alone; on one core there is none."""
    if regime is not Regime.SAME:
        for name in REFERENCES:
            row = result.row(name, regime)
            if row is not None:
                return row.round_trip.p50.times(0.5)
    return Measured(0.0, 0.0, 0.0)


def _costs(row: Row, wire: Measured) -> MessageCosts | None:
    send, receive = row.timing(What.SEND), row.timing(What.RECEIVE)
    if send is None or receive is None:
        return None
    latency = row.round_trip.p50.times(0.5)
    polls = row.mechanism in REFERENCES
    return MessageCosts(
        row.mechanism,
        row.regime,
        send.p50,
        receive.p50,
        latency,
        at_least_zero(Measured(0, 0, 0) if polls else difference(latency, wire)),
        at_least_zero(
            Measured(0, 0, 0) if polls else difference(latency, send.p50, receive.p50, wire)
        ),
    )


def at_least_zero(value: Measured) -> Measured:
    """Return a time that noise cannot make negative."""
    return Measured(*(max(each, 0.0) for each in (value.value, value.low, value.high)))
