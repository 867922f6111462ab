"""How a comparison looks: what changed, by how much and how surely; the rest folded away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.analysis.compare.result import Verdict
from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Finding,
    Fold,
    Headline,
    Kind,
    Layer,
    Mark,
    Table,
    Text,
    Tone,
)

if TYPE_CHECKING:
    from gnomon.analysis.compare.result import Comparison, EventComparison
    from gnomon.recording.contents import Provenance

_ELAPSED = "elapsed"
_QUIET = (Verdict.UNCHANGED, Verdict.EQUAL)
_MOST_SIGNS = 8
_MOST_NAMES = 12
_MOST_DRAWN = 40
_NAMED = 4
_FAR = 100.0  # times the outermost ratio: where an interval without an end is cut
_KEY = (
    (Tone.BAD, "more in B"),
    (Tone.GOOD, "less in B"),
    (Tone.DOUBT, "perhaps changed"),
    (Tone.FAINT, "no change seen"),
)


def describe(result: Comparison) -> Iterator[Block]:
    """Yield what there is to see of a comparison, from the result alone."""
    sides = tuple(
        f"{side}: {_subject(origin)}, {runs} run{'s' * (runs != 1)}"
        for side, origin, runs in zip("AB", (result.a, result.b), result.runs, strict=True)
    )
    yield Headline(_answer(result), sides)
    yield from _findings(result)
    loud = [row for row in result.rows if row.verdict not in _QUIET]
    quiet = [row for row in result.rows if row.verdict in _QUIET]
    yield _table(result, loud, "changes")
    yield from _effects(result)
    if quiet:
        yield Fold(_quiet(result, quiet), (_table(result, quiet, "unchanged"),))
    for side, names in (("A", result.only_in_a), ("B", result.only_in_b)):
        yield from _only(side, names)


def _subject(origin: Provenance) -> str:
    """Return what was measured, by what, and where."""
    what = " ".join(origin.command) or origin.target or "unnamed"
    where = origin.host
    label = ", SIMULATED" if origin.simulated else ""
    return f"{what}: counted by {origin.source}{f' on {where}' if where else ''}{label}"


def _answer(result: Comparison) -> str:
    """Return the time that B takes beside that of A, or how many events changed."""
    elapsed = next((row for row in result.rows if row.event == _ELAPSED), None)
    if elapsed is None or elapsed.ratio is None:
        changed = result.counts[Verdict.CHANGED]
        return f"{changed} of {len(result.rows)} events changed from A to B"
    a, b = (units.brief(side.mean, elapsed.unit) for side in (elapsed.a, elapsed.b))
    times = f"B takes {b}, A {a}"
    if elapsed.verdict is Verdict.UNTESTED:
        return f"{times}: with one run each, chance cannot be told from change"
    if elapsed.verdict in _QUIET:
        return f"{times}: no change seen{_sure(elapsed, result.level)}"
    maybe = "perhaps " if elapsed.verdict is Verdict.SUSPECTED else ""
    return f"{times}: {maybe}{_speed(elapsed.ratio)}{_sure(elapsed, result.level)}"


def _speed(ratio: float) -> str:
    if ratio >= 1.5:
        return f"{units.number(ratio, digits=2)} times as long"
    if ratio <= 1 / 1.5:
        return f"{units.number(1 / ratio, digits=2)} times as fast"
    return f"{units.number(ratio, 'x')} of time"


def _sure(row: EventComparison, level: float) -> str:
    if row.ratio_interval is None:
        return ""
    ends = units.interval(*row.ratio_interval, "x")
    return f" ({units.number(level, '%')} interval {ends})"


def _findings(result: Comparison) -> Iterator[Block]:
    counts = result.counts
    tested = len(result.rows) - counts[Verdict.UNTESTED]
    changed, perhaps = counts[Verdict.CHANGED], counts[Verdict.SUSPECTED]
    also = f", {perhaps} perhaps" if perhaps else ""
    yield Finding(f"{changed} of {tested} events changed (q ≤ {result.alpha:g}){also}.")
    signs = [*_drifts(result), *_outliers(result)]
    yield from (Finding(text, Tone.DOUBT) for text in signs[:_MOST_SIGNS])
    if len(signs) > _MOST_SIGNS:
        rest = tuple(Text(text) for text in signs[_MOST_SIGNS:])
        yield Fold(f"{len(rest)} more drifts and outliers", rest)


def _drifts(result: Comparison) -> Iterator[str]:
    for drift in result.drifts:
        slope = "" if drift.slope is None else f"{units.number(1 + drift.slope, 'x')} "
        yield f"drift: {drift.event} changes {slope}from run to run"


def _outliers(result: Comparison) -> Iterator[str]:
    unit_of = {row.event: row.unit for row in result.rows}
    for each in result.outliers:
        unit = unit_of.get(each.event, "")
        value, others = (units.brief(v, unit) for v in (each.value, each.mean_of_others))
        where = f"run {each.run} of {each.side}"
        yield f"outlier: {each.event} in {where} is {value}, {others} in the others"


def _table(result: Comparison, rows: Sequence[EventComparison], name: str) -> Table:
    return Table.of(
        rows,
        (
            Column("event", lambda row: row.event),
            Column("A", lambda row: Cell(_whole(row.a.mean), row.unit), drop=3),
            Column("B", lambda row: Cell(_whole(row.b.mean), row.unit), drop=3),
            Column("B to A", _change, interval=f"{units.number(result.level, '%')} interval"),
            Column("q", lambda row: row.q, "p", drop=4),
            Column("verdict", _verdict, flex=True, drop=4),
        ),
        name=name,
    )


def _whole(mean: float) -> float:
    """Return a mean of counts as an integer where it is one."""
    return int(mean) if mean == int(mean) else mean


def _change(row: EventComparison) -> Cell:
    low, high = row.ratio_interval if row.ratio_interval is not None else (None, None)
    return Cell(row.ratio, "x", low, high, tone=_tone(row))


def _tone(row: EventComparison) -> Tone:
    if row.verdict is Verdict.SUSPECTED:
        return Tone.DOUBT
    if row.verdict is not Verdict.CHANGED:
        return Tone.FAINT
    return Tone.BAD if row.difference > 0 else Tone.GOOD


def _verdict(row: EventComparison) -> str:
    """Return in words what can be said of an event."""
    word = {Verdict.SUSPECTED: "perhaps", Verdict.UNTESTED: ""}.get(row.verdict, str(row.verdict))
    return ": ".join(part for part in (word, row.note) if part)


def _quiet(result: Comparison, rows: Sequence[EventComparison]) -> str:
    counts = [f"{n} {verdict}" for verdict, n in result.counts.items() if verdict in _QUIET and n]
    names = ", ".join(row.event for row in rows[:_NAMED])
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    within = ""
    if result.resolution is not None and result.resolution <= 1:
        which = "half of them " if result.counts[Verdict.UNCHANGED] > 1 else ""
        within = f" ({which}within {units.number(result.resolution, '±')})"
    return f"{', '.join(counts)}: {names}{more}{within}"


def _only(side: str, names: Sequence[str]) -> Iterator[Block]:
    if not names:
        return
    said = f"only in {side}: {', '.join(names[:_MOST_NAMES])}"
    if len(names) > _MOST_NAMES:
        left = ", ".join(names[_MOST_NAMES:])
        yield Fold(f"{said} and {len(names) - _MOST_NAMES} more", (Text(left),))
    else:
        yield Text(said)


def _effects(result: Comparison) -> Iterator[Block]:
    """Draw B relative to A for the events that matter most, the greatest ratio first."""
    rows = [row for row in result.rows if row.ratio is not None and row.ratio > 0][:_MOST_DRAWN]
    if not rows:
        return
    rows.sort(key=lambda row: -(row.ratio or 0.0))
    ratios = [row.ratio or 1.0 for row in rows]
    least, most = min(ratios) / _FAR, max(ratios) * _FAR
    ends = [row.ratio_interval or (row.ratio or 1.0,) * 2 for row in rows]
    yield Chart(
        f"B relative to A with its {units.number(result.level, '%')} interval.",
        Axis("B to A", "x", log=10),
        Axis("", names=tuple(row.event for row in rows)),
        (
            Layer(
                Kind.RANGES,
                tuple(ratios),
                tuple(row.event for row in rows),
                low=tuple(max(low, least) for low, _ in ends),
                high=tuple(min(high, most) for _, high in ends),
                tones=tuple(map(_tone, rows)),
                hover=(
                    ("A", tuple(Cell(row.a.mean, row.unit) for row in rows)),
                    ("B", tuple(Cell(row.b.mean, row.unit) for row in rows)),
                    ("q", tuple(Cell(row.q, "p") for row in rows)),
                    ("verdict", tuple(map(_verdict, rows))),
                ),
            ),
        ),
        marks=(Mark(1.0, "same"),),
        key=tuple(entry for entry in _KEY if entry[0] in set(map(_tone, rows))),
    )
