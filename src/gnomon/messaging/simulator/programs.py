"""Message programs that are ready to run on a simulated cluster, by name with `key=value` words.

There are ping-pongs, exchanges between ranks (all to all, bulk-synchronous supersteps), servers
and those who ask them, and an isosurface ray tracer over software shared memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gnomon.errors import UsageError
from gnomon.events.tomlfile import nearest
from gnomon.messaging.simulator.cluster import LARGEST_NODES, WAITING, ClusterError, Waiting
from gnomon.messaging.simulator.layout import (
    AS_RECEIVED,
    OWN_THREAD,
    Distribution,
    Layout,
    Script,
)
from gnomon.units import parse_count

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


STEP = "step"
_BARRIER = 1 << 20


def all_to_all(*, ranks: int = 64, size: int = 1024, waiting: Waiting = "sleep") -> Layout:
    """Every rank sends to every other one and receives from each; `step` times it."""
    layout = Layout(ranks)
    everyone = layout.group([layout.mailbox(node, "source") for node in range(ranks)])
    step = layout.statistic(STEP)
    script = Script()
    script.begin(step)
    with script.repeat(ranks - 1) as offset:
        script.send_counted(everyone, offset, size)
    with script.repeat(ranks - 1) as offset:
        script.receive_counted(everyone, offset)
    script.finish(step)
    for rank, mailbox in enumerate(layout.groups[everyone]):
        layout.thread(f"rank {rank}", script, mailbox, rank=rank, waiting=waiting)
    return layout


def bulk_synchronous(
    *,
    ranks: int = 16,
    steps: int = 100,
    compute_ns: float = 100_000.0,
    size: int = 4096,
    neighbours: int = 2,
    work: Distribution = "exponential",
    waiting: Waiting = "sleep",
) -> Layout:
    """Compute, exchange with neighbours on both sides, meet at a barrier; `step` times each."""
    layout = Layout(ranks)
    everyone = layout.group([layout.mailbox(node, "source") for node in range(ranks)])
    step = layout.statistic(STEP)
    script = Script()
    offsets = [o for i in range(1, neighbours // 2 + 1) for o in (i, ranks - i)]
    with script.repeat(steps):
        script.begin(step)
        script.compute(compute_ns, work)
        for offset in offsets:
            script.send_offset(everyone, offset, size, tag=offset)
        for offset in offsets:
            script.receive_offset(everyone, offset, tag=offset)
        _barrier(script, everyone, ranks)
        script.finish(step)
    for rank, mailbox in enumerate(layout.groups[everyone]):
        layout.thread(f"rank {rank}", script, mailbox, rank=rank, waiting=waiting)
    return layout


def _barrier(script: Script, everyone: int, ranks: int) -> None:
    """Meet by dissemination: after round k everyone has heard of 2^k others."""
    distance = 1
    while distance < ranks:
        script.send_offset(everyone, distance, 8, tag=_BARRIER + distance)
        script.receive_offset(everyone, distance, tag=_BARRIER + distance)
        distance *= 2


REQUEST = "request"


def key_value(
    *,
    servers: int = 4,
    clients: int = 16,
    threads: int = 2,
    requests: int = 1000,
    think_ns: float = 20_000.0,
    service_ns: float = 1_000.0,
    request_bytes: int = 64,
    response_bytes: int = 1024,
    work: Distribution = "exponential",
    waiting: Waiting = "sleep",
) -> Layout:
    """Clients think, ask any server and wait for the answer; `request` times that."""
    layout = Layout(servers + clients)
    desks = [layout.mailbox(node) for node in range(servers)]
    # Clients come after the servers, so that all servers are others to them.
    asked = layout.group([*desks, layout.mailbox(servers)])
    request = layout.statistic(REQUEST)
    asking = Script()
    with asking.repeat(requests):
        asking.compute(think_ns, work)
        asking.begin(request)
        asking.send_random(asked, request_bytes)
        asking.receive()
        asking.finish(request)
    serving = _answering(service_ns, response_bytes, work)
    for node, desk in enumerate(desks):
        for thread in range(threads):
            layout.thread(f"server {node}.{thread}", serving, desk, waiting=waiting, daemon=True)
    for client in range(clients):
        own = layout.mailbox(servers + client)
        layout.thread(f"client {client}", asking, own, rank=servers, waiting=waiting)
    return layout


def parameter_server(
    *,
    workers: int = 8,
    steps: int = 100,
    compute_ns: float = 200_000.0,
    update_ns: float = 5_000.0,
    size: int = 65_536,
    work: Distribution = "exponential",
    waiting: Waiting = "sleep",
) -> Layout:
    """Workers compute, send what they found to one server and get the new parameters back."""
    layout = Layout(workers + 1)
    desk = layout.mailbox(0)
    step = layout.statistic(STEP)
    working = Script()
    with working.repeat(steps):
        working.begin(step)
        working.compute(compute_ns, work)
        working.send(desk, size)
        working.receive()
        working.finish(step)
    serving = _answering(update_ns, size, work)
    layout.thread("server", serving, desk, waiting=waiting, daemon=True)
    for worker in range(workers):
        layout.thread(f"worker {worker}", working, layout.mailbox(worker + 1), waiting=waiting)
    return layout


def open_service(
    *,
    threads: int = 1,
    between_ns: float = 2_000.0,
    service_ns: float = 1_000.0,
    requests: int = 10_000,
    work: Distribution = "exponential",
    waiting: Waiting = "sleep",
) -> Layout:
    """Requests that come whatever the server does; `request` times from sent to served.

    With one thread this is a queue; with many, on a core that they share, processor sharing.
    """
    layout = Layout(2)
    desk = layout.mailbox(0)
    request = layout.statistic(REQUEST)
    asking = Script()
    with asking.repeat(requests):
        asking.compute(between_ns, "exponential")
        asking.send(desk, 1)
    serving = Script()
    with serving.forever():
        serving.receive()
        serving.compute(service_ns, work)
        serving.age(request)
    for thread in range(threads):
        layout.thread(f"server {thread}", serving, desk, waiting=waiting, daemon=True)
    layout.thread("arrivals", asking, layout.mailbox(1))
    return layout


def _answering(service_ns: float, size: int, work: Distribution) -> Script:
    script = Script()
    with script.forever():
        script.receive()
        script.compute(service_ns, work)
        script.reply(size)
    return script


CYCLE = "cycle"
MISS = "miss"
_REQUEST, _RESPONSE = 1, 2


def dirt(
    *,
    nodes: int = 32,
    renderers: int = 3,
    render_ns: float = 11_780.0,
    request_ns: float = 356.0,
    response_ns: float = 413.0,
    sleep_ns: float = 0.0,
    wake_ns: float = 0.0,
    request_bytes: int = 58,
    response_bytes: int = 3350,
    misses: int = 1000,
    warm_up: int = 200,
    work: Distribution = "exponential",
    waiting: Waiting = "sleep",
) -> Layout:
    """Render, miss, ask the brick's home node, go on when the communicator has the answer.

    `cycle` times from miss to miss, `miss` the wait for one.
    """
    layout = Layout(nodes)
    mailboxes = [layout.mailbox(node) for node in range(nodes)]
    homes = layout.group(mailboxes)
    cycle, miss = layout.statistic(CYCLE), layout.statistic(MISS)
    rendering = Script()

    def one_miss(timed: bool) -> None:
        if timed:
            rendering.begin(cycle)
        rendering.compute(render_ns, work)
        if timed:
            rendering.begin(miss)
        rendering.send_random(homes, request_bytes, tag=_REQUEST, user=OWN_THREAD)
        # Going to sleep takes time, while the request is under way.
        rendering.compute(sleep_ns)
        rendering.wait()
        if timed:
            rendering.finish(miss)
            rendering.finish(cycle)

    if warm_up:
        with rendering.repeat(warm_up):
            one_miss(timed=False)
    with rendering.repeat(misses):
        one_miss(timed=True)
    serving = Script()
    with serving.forever():
        serving.receive()
        with serving.when_tag(_REQUEST):
            serving.compute(request_ns, work)
            serving.reply(response_bytes, tag=_RESPONSE, user=AS_RECEIVED)
        with serving.when_tag(_RESPONSE):
            serving.compute(response_ns, work)
            serving.compute(wake_ns)
            serving.signal_named()
    for node, mailbox in enumerate(mailboxes):
        layout.thread(f"communicator {node}", serving, mailbox, waiting=waiting, daemon=True)
    for node, mailbox in enumerate(mailboxes):
        for renderer in range(renderers):
            # A renderer sleeps until it is signalled, however its communicator learns of messages.
            layout.thread(f"renderer {node}.{renderer}", rendering, mailbox, rank=node)
    return layout


Builder = Callable[..., Layout]

_MOST = 10**12

_PROGRAMS: Mapping[str, Builder] = {
    "all-to-all": all_to_all,
    "bulk-synchronous": bulk_synchronous,
    "dirt": dirt,
    "key-value": key_value,
    "open-service": open_service,
    "parameter-server": parameter_server,
    "ping-pong": ping_pong,
}


def program_names() -> tuple[str, ...]:
    """Return the names of the programs that come with gnomon."""
    return tuple(_PROGRAMS)


def program_summary(name: str) -> str:
    """Return what a program does, in a sentence."""
    return (inspect.getdoc(_PROGRAMS[name]) or "").split("\n\n", maxsplit=1)[0].replace("\n", " ")


def program_parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a program, with what they are unless they are given."""
    return {
        key: each.default for key, each in inspect.signature(_PROGRAMS[name]).parameters.items()
    }


def build_program(name: str, words: Sequence[str], *, waiting: Waiting) -> Layout:
    """Return a program by its name and words like `rounds=100`; it waits as it says or is told."""
    if name not in _PROGRAMS:
        near = nearest(name, _PROGRAMS) or program_names()
        raise UsageError(f"there is no message program '{name}': choose from {', '.join(near)}.")
    defaults = program_parameters(name)
    given: dict[str, Any] = {"waiting": waiting}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.replace("-", "_")
        if not equals or key not in defaults:
            raise UsageError(
                f"'{word}' is not a parameter of {name}: it takes {', '.join(defaults)}, as in "
                f"{next(iter(defaults))}={next(iter(defaults.values()))}."
            )
        given[key] = _value(word, value, defaults[key], key)
    try:
        return _PROGRAMS[name](**given)
    except ClusterError as error:
        raise UsageError(str(error)) from None


def _value(word: str, value: str, default: Any, key: str) -> Any:
    if isinstance(default, str):
        known = WAITING if key == "waiting" else ("constant", "exponential", "uniform")
        if value not in known:
            raise UsageError(f"'{word}' is invalid: choose {', '.join(known)}.")
        return value
    try:
        amount = float(value) if isinstance(default, float) else parse_count(value)
    except (ValueError, UsageError):
        kind = "number" if isinstance(default, float) else "whole number"
        raise UsageError(f"'{word}' is invalid: give a {kind}, as in {key}={default}.") from None
    least = 0 if key in ("warm_up", "size", "request_bytes", "response_bytes") else 1
    if isinstance(default, float):
        least = 0
    most = LARGEST_NODES if key == "nodes" else _MOST
    if not least <= amount <= most:
        raise UsageError(f"'{word}' is out of range: {least} to {most:,}.")
    return amount
