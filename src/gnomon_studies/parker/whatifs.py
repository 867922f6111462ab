"""E7: smaller blocks (what-if A), responses that wake the renderer (B), and all together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gnomon.analysis.study import Bar, Bars, Curve, Curves, Row
from gnomon.messaging import (
    DIRT_RESPONSE_PRINTED,
    OS_NIC,
    BlockLaw,
    DirectResume,
    Dirt,
    best_edge,
    response_bytes,
    solve,
)
from gnomon_studies.parker.overheads import needed
from gnomon_studies.verdicts import exact, within

_NODES = (8, 16, 24, 32, 64, 128, 256)
_PICKED = "the law on the edge was picked from four because it fits; the text has volumes"
_PRINTED = Dirt(response_bytes=DIRT_RESPONSE_PRINTED)
_AS_PRINTED = f"with a response of {DIRT_RESPONSE_PRINTED:,} bytes as printed"


def run(seed: int) -> Iterator[Row]:  # noqa: ARG001 - nothing here is random
    """Evaluate the model for blocks, wake-ups and both."""
    yield from _blocks()
    yield from _blocks_as_written()
    yield from _direct()
    yield from _together()


def _blocks() -> Iterator[Row]:
    yield exact("E7", "best block edge, 32 nodes", 7, best_edge(Dirt()), _PICKED, calibrated=True)
    yield exact(
        "E7", "best block edge, 256 nodes", 7, best_edge(Dirt(256)), _PICKED, calibrated=True
    )
    behind = _percent(Dirt(8, edge=8), Dirt(8, edge=7))
    yield exact(
        "E7",
        "best block edge, 8 nodes",
        8,
        best_edge(Dirt(8)),
        f"published as better than 7³ by less than 0.005 %, ours is worse by {behind:.1g} %",
        calibrated=True,
    )
    best = Dirt(edge=7)
    note = f"{_gain(_PRINTED, best):.4f} {_AS_PRINTED}"
    ours = _gain(Dirt(), best)
    yield within(
        "E7", "gain of the best block", 1.22, ours, absolute=0.003, note=f"{_PICKED}; {note}",
        calibrated=True,
    )  # fmt: skip
    for nodes, published in ((8, 0.74), (256, 0.84)):
        yield _over_seven(f"6³ over 7³, {nodes} nodes", published, Dirt(nodes, edge=6))
    yield _over_seven("8³ over 7³, 256 nodes", 0.0076, Dirt(256, edge=8), allowed=0.005)
    worst = BlockLaw.EDGE_WORST
    edge = best_edge(Dirt(law=worst))
    yield exact("E7", "best block edge, worst case", 8, edge, _PICKED, calibrated=True)
    for nodes, published in ((8, 0.97), (256, 0.99)):
        eight = Dirt(nodes, edge=8, law=worst)
        seven = replace(eight, edge=7)
        size = _response_for(eight, seven.render_time() / (1 + published / 100))
        yield within(
            "E7",
            f"worst case: 7³ over 8³, {nodes} nodes",
            published,
            _percent(seven, eight),
            absolute=0.02,
            note=_unstated(size, 8),
            calibrated=True,
        )


def _over_seven(quantity: str, published: float, case: Dirt, allowed: float = 0.05) -> Row:
    """Compare how much longer a block of another size takes than one of 7³."""
    seven = Dirt(case.nodes, edge=7)
    size = _response_for(case, seven.render_time() * (1 + published / 100))
    return within(
        "E7", quantity, published, _percent(case, seven), absolute=allowed,
        note=_unstated(size, case.edge or 0), calibrated=True,
    )  # fmt: skip


def _response_for(case: Dirt, goal: float) -> float:
    """Return the bytes of a response with which a case would render in a time."""

    def time(size: float) -> float:
        base, more = case.exchange, size - response_bytes(case.edge or 0)
        longer = replace(base, latency=base.latency + more, occupancy=base.occupancy + more)
        return case.misses * solve(longer, case.renderers).cycle

    return needed(time, goal, 0, 10_000)


def _unstated(size: float, edge: int) -> str:
    return (
        f"%; {size:,.0f} bytes of response for {edge}³ would give it, ours has "
        f"{response_bytes(edge):,}; headers of other blocks are not stated"
    )


def _blocks_as_written() -> Iterator[Row]:
    law = Dirt(law=BlockLaw.VOLUME)
    note = "misses by the ratio of volumes to the power of 2/3, as the text has it"
    edge = best_edge(law)
    yield exact("E7", "law as written: best block edge", 7, edge, note)
    ours = _gain(Dirt(), replace(law, edge=edge))
    yield within(
        "E7", "law as written: gain of the best block", 1.22, ours, absolute=0.003, note=note
    )
    worst = best_edge(Dirt(law=BlockLaw.VOLUME_WORST), range(3, 13))
    yield exact("E7", "law as written: best block edge, worst case", 8, worst, note)


def _direct() -> Iterator[Row]:
    conservative, aggressive = DirectResume.CONSERVATIVE, DirectResume.AGGRESSIVE
    for what, edge, how, ends in (
        ("published block, conservative", None, conservative, (-1.31, -1.37)),
        ("published block, aggressive", None, aggressive, (-0.77, -0.81)),
        ("7³, conservative", 7, conservative, (0.344, 0.397)),
        ("7³, aggressive", 7, aggressive, (1.50, 1.64)),
    ):
        for nodes, value in zip((8, 256), ends, strict=True):
            base = Dirt(nodes, edge=edge)
            ours = _percent(base, replace(base, direct=how))
            printed = replace(base, response_bytes=DIRT_RESPONSE_PRINTED)
            other = _percent(printed, replace(printed, direct=how))
            note = "%" if edge else f"%; {other:.2f} {_AS_PRINTED}"
            yield within(
                "E7", f"direct wake, {what}, {nodes} nodes", value, ours, absolute=0.03, note=note
            )
    best = best_edge(Dirt(direct=aggressive))
    yield exact("E7", "direct wake: best block edge", 6, best)
    for nodes, published in ((8, 3.28), (256, 3.70)):
        seven, six = Dirt(nodes, edge=7), Dirt(nodes, edge=6, direct=aggressive)
        size = _response_for(six, seven.render_time() / (1 + published / 100))
        yield within(
            "E7",
            f"direct wake: 6³ over 7³ without, {nodes} nodes",
            published,
            _percent(seven, six),
            absolute=0.05,
            note=_unstated(size, 6),
        )
    yield from _ranges()


def _ranges() -> Iterator[Row]:
    """Compare the gains over all blocks that are smaller or larger than the best."""
    for what, edges, published in (
        ("smaller than the best", range(1, 6), (4.81, 16.6, 8.99)),
        ("of 7³ and larger", range(7, 13), (-1.14, 1.15, -0.55)),
    ):
        gains = _direct_gains(edges)
        ours = (min(gains), max(gains), sum(gains) / len(gains))
        note = f"%; edges {edges[0]} to {edges[-1]} at 32 nodes: those that fit"
        for name, value, mine in zip(("least", "most", "mean"), published, ours, strict=True):
            apart = "" if name != "most" else _most_by_mean(published[2], gains)
            yield within(
                "E7",
                f"direct wake, blocks {what}: {name}",
                value,
                mine,
                absolute=0.1,
                note=note + apart,
                calibrated=True,
            )


def _most_by_mean(mean: float, gains: Sequence[float]) -> str:
    """Say what the largest gain must be for the published mean, the others being ours."""
    most = mean * len(gains) - (sum(gains) - max(gains))
    return f"; the published mean needs {most:.2f}"


def _direct_gains(edges: Sequence[int]) -> list[float]:
    return [
        _percent(Dirt(edge=edge), Dirt(edge=edge, direct=DirectResume.AGGRESSIVE)) for edge in edges
    ]


def _together() -> Iterator[Row]:
    gains = [
        _gain(Dirt(nodes, overheads=OS_NIC), Dirt(nodes, edge=6, direct=DirectResume.AGGRESSIVE))
        for nodes in _NODES
    ]
    printed = [
        _gain(
            replace(_PRINTED, nodes=nodes, overheads=OS_NIC),
            Dirt(nodes, edge=6, direct=DirectResume.AGGRESSIVE),
        )
        for nodes in _NODES
    ]
    note = (
        "over a network interface of the system, with 6³ and direct wake; 8 to 256 nodes; "
        f"{min(printed):.3f} to {max(printed):.3f} {_AS_PRINTED}"
    )
    yield within("E7", "all together: least", 1.89, min(gains), absolute=0.01, note=note)
    yield within("E7", "all together: most", 1.99, max(gains), absolute=0.011, note=note)


def _gain(before: Dirt, after: Dirt) -> float:
    return before.slowdown(after)


def _percent(longer: Dirt, shorter: Dirt) -> float:
    return 100 * (_gain(longer, shorter) - 1)


def pictures(seed: int) -> list[Curves | Bars]:  # noqa: ARG001 - nothing here is random
    """Return render times over block sizes, and what all changes bring together."""
    edges = range(6, 13)  # below, the text's worst case leaves no room for the others
    laws = (
        ("edge to the 2/3, as the results have it", BlockLaw.EDGE, None),
        ("the same, responses wake the renderer", BlockLaw.EDGE, DirectResume.AGGRESSIVE),
        ("edge, the worst case of the results", BlockLaw.EDGE_WORST, None),
        ("volume to the 2/3, as the text has it", BlockLaw.VOLUME, None),
        ("volume, the worst case of the text", BlockLaw.VOLUME_WORST, None),
    )
    blocks = Curves(
        "Render time over the edge of a block, by the law that misses follow; 32 nodes, 1 is the"
        " published block of 12³",
        "edge of a block",
        "render time",
        tuple(
            Curve(
                name,
                tuple(
                    (edge, Dirt(edge=edge, law=law, direct=direct).slowdown(Dirt()))
                    for edge in edges
                ),
            )
            for name, law, direct in laws
        ),
    )
    best = Dirt(edge=7)
    both = Dirt(edge=6, direct=DirectResume.AGGRESSIVE)
    before = Dirt(overheads=OS_NIC)
    steps = (
        ("user-level notification", Dirt(), 1.509),
        ("and blocks of 7³", best, None),
        ("and blocks of 6³, responses that wake the renderer", both, None),
    )
    together = Bars(
        "How many times as fast as with a network interface of the system, 32 nodes; 1.89 to 1.99"
        " was published of all together for 8 to 256 nodes",
        "speedup",
        tuple(Bar(name, _gain(before, after), known) for name, after, known in steps),
        even=1.0,
    )
    return [blocks, together]
