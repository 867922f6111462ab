"""The isosurface ray tracer over software shared memory: renderers that miss, communicators."""

from __future__ import annotations

from gnomon.messaging.simulator.layout import Layout, Waiting
from gnomon.messaging.simulator.script import AS_RECEIVED, OWN_THREAD, Distribution, Script

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
