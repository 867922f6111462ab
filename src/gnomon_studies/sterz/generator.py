"""E8: what one load generator reads over a link, as a triad and as a copy.

The simulated core has its ten fill buffers for loads and stores together and no prefetcher, so
that stores of a generator cost it reads. The document's core hides that by prefetching.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon.stress.streams import Stream
from gnomon_studies.sterz.channel import CHANNEL, calibrated, gib, loader
from gnomon_studies.verdicts import holds, within

_PUBLISHED = {Stream.TRIAD: 5.2, Stream.COPY: 4.3}
_NEAR = 0.05


def run(seed: int) -> Iterator[Row]:
    """Run one generator of each kind."""
    found = {stream: single(stream, seed) for stream in (Stream.READ, *_PUBLISHED)}
    yield calibrated(
        "E8", "plain reads of one generator, GiB/s", 5.2, found[Stream.READ], "a link's latency"
    )
    for stream, published in _PUBLISHED.items():
        yield within(
            "E8",
            f"{stream} of one generator, GiB/s of remote reads",
            published,
            found[stream],
            relative=_NEAR,
            note="ten fill buffers serve loads and stores; there is no prefetcher",
        )
    triad, copy = (found[stream] for stream in _PUBLISHED)
    yield holds(
        "E8",
        "a triad reads more than a copy",
        "5.2 to 4.3",
        f"{triad:.2f} to {copy:.2f}",
        "triad above copy",
        true=triad > copy,
        note="a third of a triad's references are stores, half of a copy's",
    )


def single(stream: Stream, seed: int) -> float:
    """Return what one generator reads, in GiB/s."""
    with loader(stream, seed) as load:
        load.set(CHANNEL, 1)
        return gib(sum(load.measure(0)[CHANNEL]))
