"""Links: a ring of four nodes whose distances say too little, one node without processors."""

from __future__ import annotations

from math import isqrt

import numpy as np

from gnomon.analysis.links.graph import ring
from gnomon.analysis.links.result import LinkFacts, LinksResult, Matrices, NodeFacts, SlitLoss
from gnomon.recording.contents import Provenance


def _of(count: int, text: str = "", sentences: int = 3) -> LinksResult:
    """Return a ring of nodes whose numbers are not their places."""
    pairs = sorted(ring(count))
    numbers = [2 * place for place in range(count)]
    away = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    hops = np.minimum(away, count - away).astype(float)
    latency, rate = 80.0 + 48.0 * hops, 20.0 / (1.0 + hops)
    latency[-1, :] = rate[-1, :] = np.nan
    nodes = tuple(
        NodeFacts(
            number,
            4 if place < count - 1 else 0,
            1 << 30,
            80.0,
            20.0,
            (number,) if place < count - 1 else (0,),
        )
        for place, number in enumerate(numbers)
    )
    ends = [(numbers[a], numbers[b]) for a, b in pairs]
    adjacency = np.full((count, count), np.nan)
    for a, b in pairs:
        adjacency[a, b] = adjacency[b, a] = 48.0
    return LinksResult(
        machine=text or "this host",
        nodes=nodes,
        topology=text or "ring",
        distances=10.0 + 6.0 * hops,
        reported_links=tuple(LinkFacts(each, distance=6.0) for each in ends),
        measured=Matrices(latency, rate),
        measured_links=tuple(LinkFacts(each, 48.0, 10.0, duplex=text) for each in ends),
        adjacency=Matrices(adjacency, adjacency / 4),
        alike=(tuple(numbers[:-1]), (numbers[-1],)),
        disagreements=tuple(text or f"0->{2 * i}: a sentence." for i in range(sentences)),
        slit=SlitLoss(10.0 + 6.0 * hops, True, len(ends), (ends[0],), ((0, 4),), 1.43, ends[-1]),
        provenance=Provenance("host", command=(text,), host=text or "box", environment={"A": text}),
        warnings=(text or "a warning",),
    )


def small() -> LinksResult:
    return _of(4, sentences=9)


def empty() -> LinksResult:
    return LinksResult("", (), reported_links=(), distances=np.empty((0, 0)))


def hostile(text: str) -> LinksResult:
    return _of(4, text)


def huge(rows: int) -> LinksResult:
    """Matrices of about so many cells."""
    return _of(max(isqrt(rows), 3), sentences=rows)
