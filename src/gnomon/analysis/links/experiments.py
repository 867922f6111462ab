"""Experiments on the links of a machine, the same for a real and a simulated one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from gnomon.analysis.links.graph import topology_pairs
from gnomon.analysis.links.loader import Loader, all_nodes, channels
from gnomon.analysis.links.result import (
    CrossTalk,
    Difference,
    Emulation,
    IdleBusy,
    Left,
    Level,
    Matrices,
    Pair,
    Saturation,
    Step,
)
from gnomon.errors import UsageError
from gnomon.result import Interval
from gnomon.stress.nodes import MOST_GENERATORS, Channel, check_most

SECONDS = 0.5
REPEATS = 3
TURNS = 10
MOST = 4
"""Generators a channel of matrices, when nothing else is said."""
_FLAT = 0.03  # a plateau is as flat as this, relatively
_CLOSE = 0.03  # a level is reached when it is this close, relatively to the plateau
_TRIES = 6
_STILL_GROWS = 1.03
Progress = Callable[[str], None]


def measure_matrices(
    loader: Loader, *, seconds: float = 0.2, most: int = MOST, progress: Progress | None = None
) -> Matrices:
    """Return the latency, and the bandwidth that generators reach together, of every channel.

    Generators are added as long as they bring more, up to `most` or as many as have a CPU.
    """
    import numpy as np

    check_most(most)
    nodes = all_nodes(loader)
    latency, rate = np.full((2, len(nodes), len(nodes)), np.nan)
    for channel in channels(loader, local=True):
        place = nodes.index(channel.reader), nodes.index(channel.home)
        _tell(progress, f"channel {channel}")
        latency[place] = loader.latency_ns(channel)
        best = 0.0
        for count in range(1, min(most, max(loader.most(channel), 1)) + 1):
            loader.set(channel, count)
            now = sum(loader.measure(seconds)[channel])
            grows = now > _STILL_GROWS * best
            best = max(best, now)
            if not grows:
                break
        loader.set(channel, 0)
        rate[place] = best / 1e9
    return Matrices(latency, rate)


def saturate(
    loader: Loader,
    channel: Channel,
    *,
    most: int | None = None,
    seconds: float = SECONDS,
    repeats: int = REPEATS,
    progress: Progress | None = None,
) -> Saturation:
    """Load a channel with more and more generators."""
    loader.check(channel)
    highest = _most(loader, channel, most)
    steps = []
    for count in range(1, highest + 1):
        _tell(progress, f"{count} of {highest} generators on {channel}")
        loader.set(channel, count)
        steps.append(_step(loader, channel, count, seconds, repeats))
    loader.set(channel, 0)
    top = max(step.total for step in steps)
    first = next(i for i, step in enumerate(steps) if step.total >= (1 - _FLAT) * top)
    reached = first + 1 < len(steps)
    plateau = sum(step.total for step in steps[first:]) / len(steps[first:])
    return Saturation(channel, tuple(steps), plateau, steps[first].count if reached else None)


def crosstalk(
    loader: Loader,
    channel: Channel,
    *,
    forward: int | None = None,
    most: int | None = None,
    seconds: float = SECONDS,
    repeats: int = REPEATS,
    progress: Progress | None = None,
) -> CrossTalk:
    """Load a channel fully, then the other direction with more and more generators."""
    loader.check(channel)
    if channel.local:
        raise UsageError(f"channel {channel} has no other direction: cross-talk needs two nodes.")
    loader.check(channel.reverse)
    if forward is None:
        found = saturate(loader, channel, seconds=seconds, repeats=1, progress=progress)
        forward = min((found.at or found.steps[-1].count) + 1, found.steps[-1].count)
    loader.set(channel, forward)
    highest = _most(loader, channel.reverse, most)
    steps = []
    for count in range(highest + 1):
        _tell(progress, f"{count} of {highest} generators on {channel.reverse}")
        loader.set(channel.reverse, count)
        steps.append(_step(loader, channel, count, seconds, repeats))
    loader.set(channel.reverse, 0)
    loader.set(channel, 0)
    totals = [step.total for step in steps]
    slack = _FLAT * totals[0] / 2
    flat = next(i for i in range(len(steps)) if max(totals[i:]) - min(totals[i:]) <= slack)
    monotone = all(b <= a + slack for a, b in pairwise(totals))
    # Medians of steps: a repetition that was disturbed counts as little as in `Step.total`.
    after = totals[flat:]
    return CrossTalk(
        channel,
        forward,
        tuple(steps),
        difference(steps[0].totals, after),
        monotone,
        steps[flat].count if flat + 1 < len(steps) else None,
    )


def idle_busy(
    loader: Loader,
    channel: Channel,
    *,
    count: int | None = None,
    seconds: float = SECONDS,
    repeats: int = TURNS,
    progress: Progress | None = None,
) -> IdleBusy:
    """Read a node that is idle, and one that waits busily, in turns."""
    loader.check(channel)
    if channel.local:
        raise UsageError(f"channel {channel} reads the node it runs on, which is never idle.")
    if count is None:
        found = saturate(loader, channel, seconds=seconds, repeats=1, progress=progress)
        count = found.at or found.steps[-1].count
    spinners = loader.most(channel.reverse) if channel.home in loader.readers else 0
    if not spinners:
        raise UsageError(f"node {channel.home} has no free CPU that could wait busily.")
    idle: list[float] = []
    busy: list[float] = []
    loader.set(channel, count)
    for turn in range(repeats):
        _tell(progress, f"turn {turn + 1} of {repeats}")
        # Which comes first alternates, so that a drift does not look like a difference.
        for spinning in (turn % 2 == 1, turn % 2 == 0):
            loader.busy(channel.home, spinners if spinning else 0)
            (busy if spinning else idle).append(sum(loader.measure(seconds)[channel]))
    loader.busy(channel.home, 0)
    loader.set(channel, 0)
    return IdleBusy(channel, count, spinners, tuple(idle), tuple(busy), difference(idle, busy))


def load_to(
    loader: Loader,
    channel: Channel,
    share: float,
    *,
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Level:
    """Load a channel to a share of what it can carry, and leave it so."""
    if not 0 < share <= 1:
        raise UsageError(f"a load must be above 0 and at most 100 %, not {share:.0%}.")
    found = saturate(loader, channel, seconds=seconds, repeats=1, progress=progress)
    wanted = share * found.plateau
    totals = {step.count: step.total for step in found.steps}
    count = next((n for n, total in totals.items() if total >= wanted), max(totals))
    duty = min(1.0, wanted / totals[count])
    reached = 0.0
    for _ in range(_TRIES):
        _tell(progress, f"{count} generators, {duty:.0%} of the time")
        loader.set(channel, count, duty)
        reached = sum(loader.measure(seconds)[channel])
        if abs(reached - wanted) <= _CLOSE * found.plateau or not reached:
            break
        better = min(1.0, max(0.01, duty * wanted / reached))
        if better == duty:
            break
        duty = better
    return Level(channel, count, duty, found.plateau, wanted, reached)


def emulate(
    loader: Loader,
    topology: str,
    linked: frozenset[Pair] | None = None,
    *,
    most: int | None = None,
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Emulation:
    """Load the channels that a topology does not have, so that little is left of them.

    `linked` are the pairs that the machine links, if they are known: a topology with others
    cannot be emulated. The load stays.
    """
    nodes = all_nodes(loader)
    if len(nodes) < 2:
        raise UsageError("one node has no links to take away: nothing can be emulated here.")
    pairs = {(nodes[a], nodes[b]) for a, b in topology_pairs(topology, len(nodes))}
    if linked is not None and not pairs <= linked:
        missing = ", ".join(f"{a}-{b}" for a, b in sorted(pairs - linked))
        raise UsageError(
            f"{loader.name} cannot be made a {topology}: it has no link {missing}, and load only "
            "takes links away."
        )
    every = channels(loader)
    gone = [
        c
        for c in every
        if (min(c), max(c)) not in pairs and (linked is None or (min(c), max(c)) in linked)
    ]
    kept = frozenset(every) - frozenset(gone)
    if not gone:
        raise UsageError(f"{loader.name} is a {topology} as it is: there is nothing to load.")
    before = probe(loader, every, seconds, progress)
    counts: dict[Channel, int] = {}
    for channel in gone:
        beside = sum(c.reader == channel.reader for c in gone)
        # One CPU of every node stays free for those who use what is left.
        room = max(1, (loader.most(Channel(channel.reader, channel.home)) - 1) // beside)
        counts[channel] = min(room, MOST_GENERATORS if most is None else most)
    for channel, count in counts.items():
        loader.set(channel, count)
    after = probe(loader, every, seconds, progress)
    return Emulation(
        topology,
        tuple(
            Left(channel, counts.get(channel, 0), before[channel], after[channel], channel in kept)
            for channel in every
        ),
    )


def probe(
    loader: Loader, every: Sequence[Channel], seconds: float, progress: Progress | None = None
) -> dict[Channel, float]:
    """Return what one further generator gets on each channel, one channel at a time."""
    found = {}
    for channel in every:
        _tell(progress, f"channel {channel}")
        running = loader.loads.get(channel, 0)
        if running + 1 > MOST_GENERATORS:
            found[channel] = sum(loader.measure(seconds)[channel]) / running
            continue
        loader.set(channel, running + 1)
        found[channel] = loader.measure(seconds)[channel][-1]
        loader.set(channel, running)
    return found


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Return the mean of the second less that of the first, with Welch's 95 % interval."""
    import numpy as np

    from gnomon.analysis.stats.distributions import t_quantile
    from gnomon.analysis.stats.two_samples import welch_df

    a, b = np.array(before), np.array(after)
    value = float(b.mean() - a.mean())
    if min(len(a), len(b)) < 2:
        return Difference(value, Interval(-np.inf, np.inf))
    shares = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if not sum(shares):
        return Difference(value, Interval(value, value))
    df = welch_df(np.array([shares[0]]), len(a), np.array([shares[1]]), len(b))[0]
    half = float(t_quantile(0.975, df) * np.sqrt(sum(shares)))
    return Difference(value, Interval(value - half, value + half))


def _step(loader: Loader, channel: Channel, count: int, seconds: float, repeats: int) -> Step:
    readings = [loader.measure(seconds).get(channel, ()) for _ in range(max(repeats, 1))]
    shares = tuple(sum(each) / len(each) for each in zip(*readings, strict=True))
    return Step(count, tuple(sum(each) for each in readings), shares)


def _most(loader: Loader, channel: Channel, asked: int | None) -> int:
    if asked is not None:
        check_most(asked)
        return asked
    return min(max(loader.most(channel), 1), MOST_GENERATORS)


def _tell(progress: Progress | None, text: str) -> None:
    if progress is not None:
        progress(text)
