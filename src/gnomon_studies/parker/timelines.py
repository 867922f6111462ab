"""A message from end to end, ping-pongs, and pictures of them."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Bar, Bars, Row, Scene
from gnomon.messaging import (
    KERNEL_NIC,
    PING,
    ULN,
    USER_LEVEL_NIC,
    Descriptor,
    ProgramRun,
    Style,
    Thread,
    run_ping_pong,
    run_programs,
)
from gnomon_studies.verdicts import shape, within


def ping_scene(title: str, found: ProgramRun) -> Scene:
    """Return the part of a ping-pong that is timed, after the two nodes have met."""
    timeline = found.timeline
    start = timeline.time_of("send is called", PING)
    return Scene(title, timeline.cut(start, start + found.results[0]))


# E1: what happens to a message and when: tables 1 to 3, through the programming interface.

_SEND = (
    ("send exchange issues", 5),
    ("exchange reaches the NIC", 15),
    ("exchange result is back", 25),
    ("send returns", 26),
    ("first byte leaves", 45),
    ("first byte arrives", 345),
    ("last byte arrives", 383),
)
_POLLED = (
    ("last missing poll reaches the NIC", 413),
    ("poll reaches the NIC", 434),
    ("poll response is back", 444),
    ("receive returns", 448),
)
_PHASES = ULN.costs.poll_period
_CONTRADICTED = (
    "ns from the first byte; table 3 contradicts tables 1 and 2, which give what ours is"
)


def run_timelines(seed: int) -> Iterator[Row]:  # noqa: ARG001 - nothing here is random
    """Follow a polled and a notified message, then time single operations."""
    yield from _table_1()
    yield from _table_2()
    yield from _table_3()


def pictures_of_timelines(seed: int) -> list[Scene]:  # noqa: ARG001 - nothing here is random
    """Return the polled and the notified message of tables 1 and 2."""
    return [
        ping_scene("A message that node 1 polls for, and its answer", run_ping_pong(Style.POLLING)),
        ping_scene(
            "A message that wakes the thread that waits for it, and its answer",
            run_ping_pong(Style.NOTIFIED),
        ),
    ]


def _table_1() -> Iterator[Row]:
    runs = [run_ping_pong(Style.POLLING, late=late) for late in range(_PHASES)]
    for what, published in (*_SEND, ("marked as arrived", 423), *_POLLED):
        times = [_since_send(each, what) for each in runs]
        note = "ns"
        if max(times) > min(times):
            note = f"ns; {min(times)} to {max(times)} over the phases of the polls, their mean"
        yield within(
            "E1", f"polled: {what}", published, sum(times) / len(times), absolute=1, note=note
        )


def _table_2() -> Iterator[Row]:
    found = run_ping_pong(Style.NOTIFIED)
    for what, published in (
        *_SEND,
        ("marked as arrived", 423),
        ("thread 'main' woken", 433),
        ("receive returns", 458),
    ):
        name = what.replace("'main' ", "")
        ours = _since_send(found, what)
        yield within("E1", f"notified: {name}", published, ours, absolute=1, note="ns")


def _table_3() -> Iterator[Row]:
    polled, notified = run_ping_pong(Style.POLLING), run_ping_pong(Style.NOTIFIED)
    phases = [run_ping_pong(Style.POLLING, late=late) for late in range(_PHASES)]
    latency = sum(_since_first(each) for each in phases) / len(phases)
    threaded = run_ping_pong(Style.THREADED)
    wake = next(mark for mark in threaded.timeline.marks if mark.what.startswith("wakes"))
    goes_on = next(mark for mark in threaded.timeline.marks if mark.what == "goes on")
    spent = next(span for span in threaded.timeline.spans if span.what == "wake_thread")
    for quantity, published, ours, note in (
        ("send overhead", 26, _since_send(polled, "send returns"), "ns"),
        ("send initiation", 45, _since_send(polled, "first byte leaves"), "ns"),
        ("polled receive, message there", 31, _receive(sleeping=False), "ns"),
        ("polled receive, latency", 93, latency, _CONTRADICTED),
        ("notified receive, message there", 32, _receive(sleeping=True), "ns"),
        ("notified receive, latency", 103, _since_first(notified), _CONTRADICTED),
        ("wake overhead", 2, spent.end - spent.start, "ns"),
        ("wake latency", 5, goes_on.time - wake.time, "ns"),
    ):
        yield within("E1", quantity, published, ours, absolute=1, note=note)


def _since_send(found: ProgramRun, what: str) -> int:
    timeline = found.timeline
    return timeline.time_of(what, PING) - timeline.time_of("send is called", PING)


def _since_first(found: ProgramRun) -> int:
    return _since_send(found, "receive returns") - _since_send(found, "first byte arrives")


def _receive(*, sleeping: bool) -> int:
    """Return how long it takes to receive a message that has come already."""

    async def program(thread: Thread) -> int:
        comm = await thread.establish_communication(1)
        await thread.send(Descriptor(comm_id=comm))
        await thread.compute(1000)
        start = thread.get_clock()
        thread.free_note(await (thread.sleep_recv() if sleeping else thread.poll_recv()))
        return thread.get_clock() - start

    time: int = run_programs(program).results[0]
    return time


# E2: the three ping-pongs, and the same programs on machines without user-level notification.


def run_trips(seed: int) -> Iterator[Row]:  # noqa: ARG001 - nothing here is random
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


def pictures_of_trips(seed: int) -> list[Scene | Bars]:  # noqa: ARG001 - nothing here is random
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
