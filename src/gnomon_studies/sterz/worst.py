"""E12: the least that load alone can leave to a thread.

The document computes it: a fair share among all 36 threads of a socket of what cross-talk leaves.
Here the shares are measured as well, with as many generators a channel as there may be.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon.stress.channels import MOST_GENERATORS
from gnomon.stress.streams import Stream
from gnomon_studies.sterz.channel import CHANNEL, PLATEAU, gib, loader
from gnomon_studies.sterz.crosstalk import DROP
from gnomon_studies.verdicts import holds, within

THREADS = 36
PUBLISHED = 0.36
_FAIR = 0.03


def run(seed: int) -> Iterator[Row]:
    """Compute the share from published figures and from ours."""
    yield within(
        "E12",
        "worst share of a thread, GiB/s, from published figures",
        PUBLISHED,
        (PLATEAU - DROP) / THREADS,
        absolute=0.01,
        note=f"arithmetic: ({PLATEAU} - {DROP:g}) / {THREADS}",
    )
    shares = [gib(share) for share in loaded(seed)]
    total, count = sum(shares), len(shares)
    yield within(
        "E12",
        "worst share of a thread, GiB/s, from what is left here",
        PUBLISHED,
        total / THREADS,
        absolute=0.02,
        note=f"{total:.2f} GiB/s under cross-talk / {THREADS}; what a channel carries is an input",
    )
    spread = (max(shares) - min(shares)) * count / total
    yield holds(
        "E12",
        "load alone cannot make it worse: shares stay fair",
        "a 36th each",
        f"{min(shares):.3f} to {max(shares):.3f} GiB/s of {count}",
        "within 3 %",
        true=spread < _FAIR,
        note=f"{count} generators a direction, the most that a channel takes",
    )


def loaded(seed: int) -> tuple[float, ...]:
    """Return the share of each generator while both directions are as full as can be."""
    with loader(Stream.READ, seed) as load:
        load.set(CHANNEL, MOST_GENERATORS)
        load.set(CHANNEL.reverse, MOST_GENERATORS)
        return load.measure(0)[CHANNEL]
