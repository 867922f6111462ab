"""Servers and those who ask them: key-value stores, parameter servers, open arrivals."""

from __future__ import annotations

from gnomon.messaging.simulator.layout import Layout, Waiting
from gnomon.messaging.simulator.script import Distribution, Script

REQUEST = "request"
STEP = "step"


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
