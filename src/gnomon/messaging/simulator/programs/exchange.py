"""Ranks that exchange with each other: all to all, and bulk-synchronous supersteps."""

from __future__ import annotations

from gnomon.messaging.simulator.layout import Layout, Waiting
from gnomon.messaging.simulator.script import Distribution, Script

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
