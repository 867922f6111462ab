"""How the findings of a study look: what was published beside what was found, and drawings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.study.result import Bars, Curves, Drawings, Findings, Row, Surface

_TONES = {"reproduced": b.Tone.GOOD, "not reproduced": b.Tone.BAD, "shape only": b.Tone.DOUBT}


def describe(result: Findings) -> Iterator[b.Block]:
    """Yield what there is to see of a study, from the result alone."""
    numbers = ", ".join(f"{count} {verdict}" for verdict, count in result.verdicts.items())
    count = len(result.rows)
    yield b.Headline(
        f"{result.title}: {count} quantit{'y' if count == 1 else 'ies'}, {numbers}",
        (f"after {result.document}; seed {result.seed}",),
    )
    yield b.Table.of(
        result.rows,
        (
            b.Column("id", lambda row: row.id),
            b.Column("quantity", lambda row: row.quantity, flex=True),
            b.Column("published", lambda row: row.published, flex=True, digits=5),
            b.Column("ours", lambda row: row.ours, digits=5),
            b.Column("tolerance", lambda row: row.tolerance, drop=5),
            b.Column("verdict", _verdict),
            b.Column("note", lambda row: row.note, flex=True, drop=5),
        ),
        name="rows",
    )
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
        from gnomon.views.describe.messages_timeline import drawing

        yield drawing(scene.timeline, f"{scene.title}.")


def _surface(surface: Surface) -> b.Fold:
    corner = f"{surface.y_label} \\ {surface.x_label}"
    columns = (b.Column(corner), *(b.Column(name) for name in surface.columns))
    rows = tuple(
        (b.Cell(name), *map(b.Cell, cells))
        for name, cells in zip(surface.rows, surface.cells, strict=True)
    )
    table = b.Table(columns, rows, heat=True, name=surface.title)
    return b.Fold(f"{surface.title}.", (table,))


def _curves(curves: Curves) -> b.Chart:
    layers = []
    for curve in curves.curves:
        for points, reported in ((curve.points, False), (curve.published, True)):
            xs, ys = zip(*points, strict=True) if points else ((), ())
            if reported and points:
                name = f"{curve.name}, published"
                layers.append(b.Layer(b.Kind.DOTS, xs, ys, name, reported=True))
            elif points:
                layers.append(b.Layer(b.Kind.LINE, xs, ys, curve.name))
    doubling = 2 if curves.doubling else 0
    x, y = b.Axis(curves.x_label, log=doubling), b.Axis(curves.y_label)
    return b.Chart(f"{curves.title}.", x, y, tuple(layers))


def _bars(bars: Bars) -> b.Chart:
    names = tuple(bar.name for bar in bars.bars)
    published = [bar for bar in bars.bars if bar.published is not None]
    layers = [
        b.Layer(b.Kind.BARS, tuple(bar.ours for bar in bars.bars), names, "ours", base=bars.even),
        b.Layer(
            b.Kind.DOTS,
            tuple(bar.published for bar in published),
            tuple(bar.name for bar in published),
            "published",
            reported=True,
        ),
    ]
    axis = b.Axis(bars.label, zero=bars.even == 0)
    return b.Chart(f"{bars.title}.", axis, b.Axis("", names=names), tuple(layers))
