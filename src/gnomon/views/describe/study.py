"""How the findings of a study look: what was published beside what was found, and drawings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon.analysis.study.result import Bars, Curves, Drawings, Findings, Row, Surface
from gnomon.views import blocks as b
from gnomon.views.timelines import drawing

_TONES = {"reproduced": b.Tone.GOOD, "not reproduced": b.Tone.BAD, "shape only": b.Tone.DOUBT}


def describe(result: Findings) -> Iterator[b.Block]:
    """Yield what there is to see of a study, from the result alone."""
    numbers = ", ".join(f"{count} {verdict}" for verdict, count in result.verdicts.items())
    count = len(result.rows)
    yield b.Headline(
        f"{result.title}: {count} quantit{'y' if count == 1 else 'ies'}, {numbers}",
        (f"after {result.document}; seed {result.seed}",),
    )
    columns = (
        b.Column("id"),
        b.Column("quantity", flex=True),
        b.Column("published", flex=True, digits=5),
        b.Column("ours", digits=5),
        b.Column("tolerance", drop=5),
        b.Column("verdict", _verdict),
        b.Column("note", flex=True, drop=5),
    )
    yield b.Table.of(result.rows, *columns, name="rows")
    for each in result.drawings:
        yield from _drawn(each)


def _verdict(row: Row) -> b.Cell:
    return b.Cell(str(row.verdict), tone=_TONES[row.verdict])


def _drawn(drawings: Drawings) -> Iterator[b.Block]:
    yield b.Section(f"{drawings.id}: {drawings.title}")
    yield from map(_surface, drawings.surfaces)
    yield from map(_curves, drawings.curves)
    yield from map(_bars, drawings.bars)
    for scene in drawings.scenes:
        yield drawing(scene.timeline, f"{scene.title}.")


def _surface(surface: Surface) -> b.Fold:
    corner = b.Column(f"{surface.y_label} \\ {surface.x_label}")
    lines = zip(surface.rows, surface.cells, strict=True)
    rows = tuple((b.Cell(name), *map(b.Cell, cells)) for name, cells in lines)
    columns = (corner, *map(b.Column, surface.columns))
    table = b.Table(columns, rows, heat=True, name=surface.title)
    return b.Fold(f"{surface.title}.", (table,))


def _curves(curves: Curves) -> b.Chart:
    layers: list[b.Layer] = []
    for curve in curves.curves:
        layers += _points(b.Kind.LINE, curve.points, curve.name)
        layers += _points(b.Kind.DOTS, curve.published, f"{curve.name}, published")
    axis = b.Axis(curves.x_label, log=2 if curves.doubling else 0)
    return b.Chart.of(f"{curves.title}.", axis, b.Axis(curves.y_label), *layers)


def _points(
    kind: b.Kind, points: Sequence[tuple[b.Value, b.Value]], name: str
) -> Iterator[b.Layer]:
    """Yield points as a layer, if there are any; published ones are dots."""
    if points:
        xs, ys = zip(*points, strict=True)
        yield b.Layer(kind, xs, ys, name, reported=kind is b.Kind.DOTS)


def _bars(bars: Bars) -> b.Chart:
    names, ours = (tuple(getattr(bar, field) for bar in bars.bars) for field in ("name", "ours"))
    known = [(bar.published, bar.name) for bar in bars.bars if bar.published is not None]
    found = b.Layer(b.Kind.BARS, ours, names, "ours", base=bars.even)
    layers = (found, *_points(b.Kind.DOTS, known, "published"))
    axis = b.Axis(bars.label, zero=bars.even == 0)
    return b.Chart(f"{bars.title}.", axis, b.Axis("", names=names), layers)
