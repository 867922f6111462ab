"""Two nodes that answer each other: what a message costs."""

from __future__ import annotations

from gnomon.messaging.simulator.layout import Layout, Waiting
from gnomon.messaging.simulator.script import Script

ROUND_TRIP = "round trip"


def ping_pong(*, rounds: int = 1000, size: int = 38, waiting: Waiting = "sleep") -> Layout:
    """Send a message there and back so many times; `round trip` times each."""
    layout = Layout(2)
    here, there = layout.mailbox(0), layout.mailbox(1)
    trip = layout.statistic(ROUND_TRIP)
    asking = Script()
    with asking.repeat(rounds):
        asking.begin(trip)
        asking.send(there, size)
        asking.receive()
        asking.finish(trip)
    answering = Script()
    with answering.repeat(rounds):
        answering.receive()
        answering.reply(size)
    layout.thread("ping", asking, here, waiting=waiting)
    layout.thread("pong", answering, there, waiting=waiting)
    return layout
