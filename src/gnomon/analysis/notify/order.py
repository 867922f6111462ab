"""The order of the classes of mechanisms: polling, futexes, UNIX sockets, TCP."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.notify.result import Measured, Regime
from gnomon.analysis.notify.statistics import LEAST_TIMES

if TYPE_CHECKING:
    from gnomon.analysis.notify.result import Bench

CLASSES = {
    "polling": ("poll", "poll-pause", "umwait", "tpause", "uintr"),
    "futex": ("futex", "eventfd"),
    "UNIX socket": ("unix-stream", "unix-datagram"),
    "TCP": ("tcp",),
}
"""Mechanisms of each class: who waits there needs more and more of the kernel."""
_HIDDEN = ("futex", "UNIX socket")


@dataclass(frozen=True, slots=True)
class Place:
    """The fastest mechanism of a class in a regime, and its round trip in ns."""

    name: str
    mechanism: str
    time: Measured


@dataclass(frozen=True, slots=True)
class Order:
    """The classes of a regime, from the one that should be fastest to the one that should not."""

    regime: Regime
    places: tuple[Place, ...]

    @property
    def signs(self) -> tuple[str, ...]:
        """How each place stands to the next: `<` or `>` where intervals are apart, else `~`."""
        return tuple(_sign(one.time, other.time) for one, other in itertools.pairwise(self.places))

    @property
    def shown(self) -> bool:
        """Whether every class is faster than the next, their intervals being apart."""
        return all(sign == "<" for sign in self.signs)

    def place(self, name: str) -> Place | None:
        """Return the place of a class, if it was measured."""
        return next((place for place in self.places if place.name == name), None)


def orders_of(bench: Bench) -> tuple[Order, ...]:
    """Return the order of classes in each regime in which there are two or more."""
    found = (Order(regime, tuple(_places(bench, regime))) for regime in bench.regimes)
    return tuple(order for order in found if len(order.places) > 1)


def _places(bench: Bench, regime: Regime) -> list[Place]:
    places = []
    for name, mechanisms in CLASSES.items():
        # Pollers on one core wait for the end of a slice, and not for a message.
        if name == "polling" and regime is Regime.SAME:
            continue
        rows = [
            row
            for m in mechanisms
            if (row := bench.row(m, regime)) is not None and row.round_trip.samples >= LEAST_TIMES
        ]
        if rows:
            best = min(rows, key=lambda row: row.round_trip.p50.value)
            places.append(Place(name, best.mechanism, best.round_trip.p50))
    return places


def _sign(one: Measured, other: Measured) -> str:
    if one.high < other.low:
        return "<"
    return ">" if one.low > other.high else "~"


def hidden_text(orders: tuple[Order, ...]) -> str:
    """Say where waking the other CPU hides how futexes and sockets differ; nothing if nowhere."""
    alone = next((order for order in orders if order.regime is Regime.SAME), None)
    if alone is None or (apart := _pair(alone)) is None or _sign(*apart) != "<":
        return ""
    hidden = [
        (order, pair)
        for order in orders
        if order is not alone and (pair := _pair(order)) is not None and _sign(*pair) != "<"
    ]
    if not hidden:
        return ""
    names = " and ".join(order.regime for order, _ in hidden)
    waking = max(pair[0].value - apart[0].value for _, pair in hidden)
    differ = apart[1].value - apart[0].value
    if waking <= differ:
        return ""
    return (
        f"{names}: waking the other CPU adds {waking / 1000:.1f} µs to a round trip, which hides "
        f"that a futex is {differ / 1000:.1f} µs faster than a UNIX socket, as one core shows"
    )


def _pair(order: Order) -> tuple[Measured, Measured] | None:
    one, other = (order.place(name) for name in _HIDDEN)
    return None if one is None or other is None else (one.time, other.time)
