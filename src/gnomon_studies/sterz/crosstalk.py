"""E11: a channel at its most while the other direction is loaded more and more.

Requests of one direction travel with the data of the other, and take 8 bytes of a link each. With
6 bytes the published loss would come out: this figure of the description was not fitted to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.links.experiments import crosstalk
from gnomon.analysis.links.results import CrossTalk
from gnomon.analysis.study import Row
from gnomon.stress.streams import Stream
from gnomon_studies.sterz.channel import CHANNEL, READS, gib, loader
from gnomon_studies.verdicts import factor, holds

MOST = 8
DROP = 1.0
"""GiB/s that the document lost to cross-talk, about."""
_REPEATS = 5


def run(seed: int) -> Iterator[Row]:
    """Load the other direction step by step."""
    found = measured(seed)
    totals = [gib(step.total) for step in found.steps]
    yield holds(
        "E11",
        "falls gradually, then stays",
        "gradual fall, then constant",
        f"{', '.join(f'{total:.2f}' for total in totals)} GiB/s",
        "never rises; flat at the end",
        true=found.monotone and found.flat_from is not None and found.flat_from > 1,
        note=f"flat from {found.flat_from} generators against {found.forward} on; {READS}",
    )
    low, high = gib(found.drop.low), gib(found.drop.high)
    yield factor(
        "E11",
        "what is lost to cross-talk, GiB/s",
        DROP,
        -gib(found.drop.value),
        most=1.5,
        note=f"95 % interval {-high:.2f} to {-low:.2f}; requests of 8 bytes; 6 would give 1",
    )


def measured(seed: int) -> CrossTalk:
    """Return what the channel gets."""
    with loader(Stream.READ, seed) as load:
        return crosstalk(load, CHANNEL, forward=4, most=MOST, repeats=_REPEATS)
