"""How a comparison looks: what changed, by how much and how surely; the rest folded away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon import units
from gnomon.analysis.compare.result import Comparison, EventComparison, Sample, Verdict
from gnomon.recording.contents import Provenance, Status
from gnomon.views import blocks as b
from gnomon.views.blocks import Tone
from gnomon.views.shared import counted, some, subject

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


def describe(result: Comparison) -> Iterator[b.Block]:
    """Yield what there is to see of a comparison, from the result alone."""
    sides = zip("AB", (result.a, result.b), result.runs, strict=True)
    lines = (f"{name}: {_subject(side)}, {counted(runs, 'run')}" for name, side, runs in sides)
    yield b.Headline(result.headline, tuple(lines))
    yield from _findings(result)
    quiet = [row for row in result.rows if row.verdict in _QUIET]
    loud = [row for row in result.rows if row.verdict not in _QUIET]
    yield _table(result, loud, "changes")
    yield from _effects(result)
    if quiet:
        yield b.Fold(_quiet(result, quiet), (_table(result, quiet, "unchanged"),))
    if any(Status.SCALED in (row.a.status, row.b.status) for row in result.rows):
        yield b.Text("~ was extrapolated from the share of time in which it was counted")
    for side, names in (("A", result.only_in_a), ("B", result.only_in_b)):
        said = f"only in {side}: {some(names, _MOST_NAMES)}"
        rest = ", ".join(names[_MOST_NAMES:])
        if names:
            yield b.Fold(said, (b.Text(rest),)) if rest else b.Text(said)


def _subject(origin: Provenance) -> str:
    """Return what was measured, by what, and where."""
    where = f" on {origin.host}" if origin.host else ""
    return (
        f"{subject(origin)}: counted by {origin.source}{where}" + ", SIMULATED" * origin.simulated
    )


def _level(result: Comparison) -> str:
    return f"{units.number(result.level, '%')} interval"


def _findings(result: Comparison) -> Iterator[b.Block]:
    counts = result.counts
    tested = len(result.rows) - counts[Verdict.UNTESTED]
    perhaps = counts[Verdict.SUSPECTED]
    also = f", {perhaps} perhaps" if perhaps else ""
    told = f"{counts[Verdict.CHANGED]} of {tested} events changed (q ≤ {result.alpha:g}){also}."
    yield b.Finding(told)
    signs = list(_signs(result))
    yield from (b.Finding(text, Tone.DOUBT) for text in signs[:_MOST_SIGNS])
    rest = tuple(map(b.Text, signs[_MOST_SIGNS:]))
    if rest:
        yield b.Fold(f"{len(rest)} more drifts and outliers", rest)


def _signs(result: Comparison) -> Iterator[str]:
    """Yield what contradicts independent, equal runs: drifts and outliers."""
    for drift in result.drifts:
        slope = "" if drift.slope is None else f"{units.number(1 + drift.slope, 'x')} "
        yield f"drift: {drift.event} changes {slope}per run"
    unit_of = {row.event: row.unit for row in result.rows}
    for each in result.outliers:
        unit = unit_of.get(each.event, "")
        value, others = (units.brief(v, unit) for v in (each.value, each.mean_of_others))
        where = f"run {each.run} of {each.side}"
        yield f"outlier: {each.event} in {where} is {value}, {others} in the others"


def _table(result: Comparison, rows: Sequence[EventComparison], name: str) -> b.Table:
    columns = (
        b.Column("event"),
        b.Column("A", lambda row: _mean(row.a, row.unit), drop=3),
        b.Column("B", lambda row: _mean(row.b, row.unit), drop=3),
        b.Column("B to A", _change, interval=_level(result)),
        b.Column("q", "q", "p", drop=4),
        b.Column("verdict", _verdict, flex=True, drop=4),
    )
    return b.Table.of(rows, *columns, name=name)


def _mean(side: Sample, unit: str) -> b.Cell:
    status = "" if side.status is Status.COUNTED else str(side.status)
    return b.Cell(_whole(side.mean), unit, status=status)


def _whole(mean: float) -> float:
    """Return a mean of counts as an integer where it is one."""
    return int(mean) if mean == int(mean) else mean


def _change(row: EventComparison) -> b.Cell:
    low, high = row.ratio_interval or (None, None)
    return b.Cell(row.ratio, "x", low, high, tone=_tone(row))


def _tone(row: EventComparison) -> Tone:
    if row.verdict is Verdict.CHANGED:
        return Tone.BAD if row.difference > 0 else Tone.GOOD
    return Tone.DOUBT if row.verdict is Verdict.SUSPECTED else Tone.FAINT


def _verdict(row: EventComparison) -> str:
    """Return in words what can be said of an event."""
    word = {Verdict.SUSPECTED: "perhaps", Verdict.UNTESTED: ""}.get(row.verdict, str(row.verdict))
    return ": ".join(filter(None, (word, row.note)))


def _quiet(result: Comparison, rows: Sequence[EventComparison]) -> str:
    counts = [f"{n} {verdict}" for verdict, n in result.counts.items() if verdict in _QUIET and n]
    within = ""
    if result.resolution is not None and result.resolution <= 1:
        which = "half of them " if result.counts[Verdict.UNCHANGED] > 1 else ""
        within = f" ({which}within {units.number(result.resolution, '±')})"
    return f"{', '.join(counts)}: {some([row.event for row in rows], _NAMED)}{within}"


def _effects(result: Comparison) -> Iterator[b.Block]:
    """Draw B relative to A for the events that matter most, the greatest ratio first."""
    drawn = [(row.ratio, row) for row in result.rows if row.ratio is not None and row.ratio > 0]
    if not drawn:
        return
    pairs = sorted(drawn[:_MOST_DRAWN], key=lambda pair: -pair[0])
    ratios, rows = [ratio for ratio, _ in pairs], [row for _, row in pairs]
    names, tones = tuple(row.event for row in rows), tuple(map(_tone, rows))
    ends = [row.ratio_interval or (ratio, ratio) for ratio, row in pairs]
    layer = b.Layer(
        b.Kind.RANGES,
        tuple(ratios),
        names,
        low=tuple(max(low, min(ratios) / _FAR) for low, _ in ends),
        high=tuple(min(high, max(ratios) * _FAR) for _, high in ends),
        tones=tones,
        hover=(
            ("A", tuple(b.Cell(row.a.mean, row.unit) for row in rows)),
            ("B", tuple(b.Cell(row.b.mean, row.unit) for row in rows)),
            ("q", tuple(b.Cell(row.q, "p") for row in rows)),
            ("verdict", tuple(map(_verdict, rows))),
        ),
    )
    yield b.Chart.of(
        f"B relative to A with its {_level(result)}.",
        b.Axis("B to A", "x", log=10),
        b.Axis("", names=names),
        layer,
        marks=(b.Mark(1.0, "same"),),
        key=tuple(entry for entry in _KEY if entry[0] in tones),
    )
