"""E10: does it matter whether the node that is read is idle or waits busily?

The simulated machine has no states of sleep, so that nothing can wake up. What it can show is
that busy CPUs take nothing from a channel: they share neither its link nor its memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.links.experiments import idle_busy
from gnomon.analysis.study import Row
from gnomon.stress.streams import Stream
from gnomon_studies.sterz.channel import CHANNEL, gib, loader
from gnomon_studies.verdicts import shape

_TURNS = 6
_NOTHING = 0.1  # GiB/s


def run(seed: int) -> Iterator[Row]:
    """Measure in turns with an idle and a busy receiver."""
    with loader(Stream.READ, seed) as load:
        found = idle_busy(load, CHANNEL, count=3, repeats=_TURNS)
    change = found.difference
    low, high = gib(change.low), gib(change.high)
    yield shape(
        "E10",
        "change with a busy receiver, GiB/s",
        "none; sometimes a little less",
        f"{gib(change.value):+.3f} ({low:+.3f} to {high:+.3f})",
        true=low > -_NOTHING and high < _NOTHING,
        tolerance="95 % interval within ± 0.1",
        note=f"{_TURNS} turns, {found.spinners} busy CPUs; no sleep is simulated, so no wake-up",
    )
