"""E2: the three ping-pongs, and the same programs on machines without user-level notification."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Bar, Bars, Row, Scene
from gnomon.messaging.uln import KERNEL_NIC, ULN, USER_LEVEL_NIC
from gnomon.messaging.uln.ping_pongs import Style, run_ping_pong
from gnomon_studies.parker.scenes import ping_scene
from gnomon_studies.verdicts import shape, within


def run(seed: int) -> Iterator[Row]:  # noqa: ARG001 - nothing here is random
    """Time round trips."""
    polled = [run_ping_pong(Style.POLLING, late=late).results[0] for late in range(21)]
    yield within(
        "E2",
        "round trip, polling",
        896,
        sum(polled) / len(polled),
        absolute=20,
        note=f"ns; {min(polled)} or {max(polled)}: node A polls in step with its own send",
    )
    for style, published in ((Style.NOTIFIED, 916), (Style.THREADED, 921)):
        ours = run_ping_pong(style).results[0]
        yield within("E2", f"round trip, {style}", published, ours, absolute=1, note="ns")
    trips = [
        run_ping_pong(Style.NOTIFIED, kind).results[0] for kind in (ULN, USER_LEVEL_NIC, KERNEL_NIC)
    ]
    yield shape(
        "E2",
        "round trip with each kind of interface",
        "figures 1, 2 and 7 without numbers",
        ", ".join(f"{trip:,}" for trip in trips),
        true=trips == sorted(trips),
        tolerance="in this order",
        note="ns; user-level notification, interrupt and signal, all in the system; a microsecond "
        "for each operation of the system is the document's optimistic figure",
    )


def pictures(seed: int) -> list[Scene | Bars]:  # noqa: ARG001 - nothing here is random
    """Return figures 1 and 2: a message through the system; and all round trips."""
    machines = (
        ("all in the system", KERNEL_NIC),
        ("interrupt and signal", USER_LEVEL_NIC),
    )
    polled = run_ping_pong(Style.POLLING).results[0]
    bars = [
        Bar("polled", polled, 896),
        Bar("notified", run_ping_pong(Style.NOTIFIED).results[0], 916),
    ]
    bars.append(Bar("notified, receive thread", run_ping_pong(Style.THREADED).results[0], 921))
    bars += [Bar(name, run_ping_pong(Style.NOTIFIED, kind).results[0]) for name, kind in machines]
    return [
        *(
            ping_scene(f"There and back, {name}", run_ping_pong(Style.NOTIFIED, kind))
            for name, kind in machines
        ),
        Bars("Round trips of a minimal message, on each kind of machine", "ns", tuple(bars)),
    ]
