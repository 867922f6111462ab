"""How a survey looks: what matters, ranked; what was folded away; how much the runs varied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon import units
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
    Section,
    Table,
    Text,
)

if TYPE_CHECKING:
    from gnomon.analysis.survey.result import SurveyResult, SurveyRow

_FOLDS = {
    "zero": "zero",
    "constant": "constant",
    "same": "redundant",
    "noisy": "too noisy to tell",
    "missing": "not counted",
}
_SHOWN = 24
_BARS = 15
_NAMED = 4


def describe(result: SurveyResult) -> Iterator[Block]:
    """Yield what there is to see of a survey, from the result alone."""
    ranked = result.ranked
    yield Headline(_title(result), tuple(_lines(result)))
    costly = [row for row in ranked if row.share is not None]
    if costly:
        share = units.number(costly[0].share, "%")
        where = "of the simulated run" if result.provenance.simulated else "of the time"
        yield Finding(f"{costly[0].event} accounts for about {share} {where}, by usual costs.")
    yield Table.of(ranked, _columns(result), most=_SHOWN, name="events")
    yield from _folds(result.folded)
    if costly:
        yield Text("share: estimated from usual costs, to rank by; not measured")
        yield _shares(costly[:_BARS])
    if len(result.runs) > 2:
        yield Section("Run-to-run variation")
        yield _durations(result)


def _title(result: SurveyResult) -> str:
    origin = result.provenance
    counted = sum(result.origins.values())
    runs = f"{len(result.runs):,} run{'s' * (len(result.runs) != 1)}"
    batches = len(origin.plan)
    if batches > 1 and origin.repeat:
        runs += f" ({batches} batches × {origin.repeat})"
    return f"{' '.join(origin.command) or 'a recording'}: {counted} events in {runs}"


def _lines(result: SurveyResult) -> Iterator[str]:
    if result.one_run:
        yield "events took turns in one run, so their values are estimated"
    titles = {source.name: source.title for source in result.sources}
    for origin, count in result.origins.items():
        yield f"{count} from {titles.get(origin, origin)}"
    if result.elapsed is not None:
        yield f"{units.brief(result.elapsed, 'ns')} elapsed on average, in runs not slowed down"
    if not result.complete:
        made = f"{len(result.runs)} of {result.planned} runs made"
        yield f"{made}: --resume makes the rest"


def _columns(result: SurveyResult) -> tuple[Column | None, ...]:
    several = len(result.origins) > 1
    sources = {source.name: source for source in result.sources}

    def source_of(row: SurveyRow) -> Cell:
        source = sources.get(row.origin)
        if source is None:
            return Cell(row.origin)
        return Cell(source.word + " (simulated)" * source.own_time, hint=source.title)

    return (
        Column("event", lambda row: Cell(row.event, hint="; ".join(row.caveats))),
        Column("mean", _mean, interval="90 % interval"),
        Column("spread", lambda row: row.spread, "±", drop=3),
        Column("share", lambda row: Cell(row.share, hint=row.basis), "%", bar=True),
        Column("with time", lambda row: row.correlation, "r", drop=4),
        Column("source", source_of, drop=5) if several else None,
        Column("what it counts", lambda row: row.description, flex=True, drop=2),
    )


def _mean(row: SurveyRow) -> Cell:
    low, high = row.interval if row.interval is not None else (None, None)
    status = "" if row.status == "counted" else str(row.status)
    return Cell(row.mean, row.unit, low, high, status, hint="; ".join(row.caveats))


def _folds(folded: Sequence[SurveyRow]) -> Iterator[Block]:
    for reason, title in _FOLDS.items():
        rows = [row for row in folded if row.folded == reason]
        if not rows:
            continue
        names = ", ".join(row.event for row in rows[:_NAMED])
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        table = Table.of(
            rows,
            (
                Column("event", lambda row: row.event),
                Column("why", lambda row: row.reason),
                Column("what it counts", lambda row: row.description, flex=True, drop=1),
            ),
            name=reason,
        )
        yield Fold(f"{len(rows)} {title}: {names}{more}", (table,))


def _shares(rows: Sequence[SurveyRow]) -> Chart:
    names = tuple(row.event for row in rows)
    return Chart(
        "Estimated share of the program's time, from usual costs of an occurrence: an order of "
        "importance, not a measurement.",
        Axis("estimated share of time", "%", zero=True),
        Axis("", names=names),
        (Layer(Kind.BARS, tuple(row.share for row in rows), names),),
    )


def _durations(result: SurveyResult) -> Chart:
    ordered = sorted(result.runs, key=lambda run: run.start)
    held: dict[str, list[int]] = {}
    for place, run in enumerate(ordered):
        held.setdefault(result.origin_of(run), []).append(place)
    layers = tuple(
        Layer(
            Kind.DOTS,
            tuple(float(place + 1) for place in places),
            tuple(float(ordered[place].end - ordered[place].start) for place in places),
            origin if len(held) > 1 else "",
        )
        for origin, places in held.items()
    )
    return Chart(
        "How long each run took, in the order in which they were made; a slope means that the "
        "machine changed while the survey ran.",
        Axis("run, in order of time"),
        Axis("duration", "ns", zero=True),
        layers,
    )
