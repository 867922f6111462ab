"""How phases look: what the series does from when to when, and what was counted meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.recording.contents import Status
from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Fold,
    Headline,
    Kind,
    Layer,
    Mark,
    Table,
    Text,
    Value,
    Zone,
)

if TYPE_CHECKING:
    from gnomon.analysis.phases.result import Choice, Phase, PhaseCount, PhaseSeries, PhasesResult

_MOST_TOLD = 4  # phases that the first line describes one by one


def describe(result: PhasesResult) -> Iterator[Block]:
    """Yield what there is to see of phases, from the result alone."""
    yield Headline(_answer(result), tuple(_lines(result)))
    yield from (_course(result, place) for place in range(len(result.series)))
    yield _phases(result)
    if any(phase.counts for phase in result.phases):
        yield _counts(result)
        if any(one.status is Status.SCALED for phase in result.phases for one in phase.counts):
            yield Text("~ was extrapolated from the share of time in which it was counted")
    if result.choices:
        yield Fold(
            f"{len(result.choices)} ways to divide it were considered", (_choices(result.choices),)
        )


def _answer(result: PhasesResult) -> str:
    """Return what the first series does, phase by phase."""
    if not result.phases or not result.series:
        return "no phases"
    name, count = result.series[0].name, len(result.phases)
    *before, last = result.phases
    end = units.brief(last.end, result.time_unit)
    if not before:
        return f"one phase of {end}: {name} {_told(result, last)}"
    if count > _MOST_TOLD:
        begins = ", ".join(units.brief(phase.start, result.time_unit) for phase in result.phases)
        return f"{count} phases of {name} until {end}, from {begins}"
    told = [
        f"{_told(result, phase)} until {units.brief(phase.end, result.time_unit)}"
        for phase in before
    ]
    return f"{count} phases: {name} {', '.join(told)}, then {_told(result, last)}"


def _told(result: PhasesResult, phase: Phase) -> str:
    """Return what the first series does in a phase."""
    fit, series = phase.fits[0], result.series[0]
    if series.is_rate or fit.slope == 0:
        return f"at {units.brief((fit.first + fit.last) / 2, _unit(fit.unit))}"
    slope = units.brief(abs(fit.slope), _per_time(result, fit.unit))
    return f"{'grows' if fit.slope > 0 else 'falls'} {slope}"


def _lines(result: PhasesResult) -> Iterator[str]:
    origin = result.provenance
    if origin is not None:
        yield " ".join(origin.command) or origin.target or "a recording"
    if result.decision:
        yield result.decision


def _unit(unit: str) -> str:
    return "CPUs" if unit == "ns/s" else unit


def _per_time(result: PhasesResult, unit: str) -> str:
    return _unit(f"{unit}/s") if result.time_unit == "ns" else unit


def _course(result: PhasesResult, place: int) -> Chart:
    """Draw a series with its phases and the line fitted in each."""
    series, unit = result.series[place], result.time_unit
    ends = (float(series.times[0]), float(series.times[-1])) if series.points else (0.0, 0.0)
    fits = tuple(
        Layer(
            Kind.LINE,
            (max(phase.start, ends[0]), min(phase.end, ends[1])),
            (phase.fits[place].first, phase.fits[place].last),
            "fitted",
        )
        for phase in result.phases
    )
    return Chart(
        f"{series.name} over time, with the line fitted in each phase.",
        Axis("time", unit),
        Axis(series.name, _unit(series.unit)),
        (
            Layer(Kind.DOTS, tuple(series.times.tolist()), tuple(series.values.tolist()), "read"),
            *fits,
        ),
        marks=tuple(Mark(found.time) for found in result.breaks),
        zones=tuple(
            Zone(phase.start, phase.end, f"phase {number}")
            for number, phase in enumerate(result.phases, 1)
        ),
        alone=True,
    )


def _phases(result: PhasesResult) -> Table:
    columns: list[Column] = [
        Column("phase", lambda row: row[0]),
        Column("from", partial(_begin, result), interval="begins between"),
        Column("to", lambda row: row[1].end, result.time_unit, drop=3),
        Column("duration", lambda row: row[1].duration, result.time_unit),
    ]
    for place, series in enumerate(result.series):
        columns += _fitted(result, series, place)
    return Table.of(enumerate(result.phases, 1), columns, name="phases")


def _begin(result: PhasesResult, row: tuple[int, Phase]) -> Cell:
    number, phase = row
    if number == 1:
        return Cell(phase.start, result.time_unit)
    found = result.breaks[number - 2]
    return Cell(phase.start, result.time_unit, found.low, found.high)


def _fitted(result: PhasesResult, series: PhaseSeries, place: int) -> Iterator[Column]:
    """Yield what a series does in each phase: the mean of a rate, the growth of a level."""
    unit, name = _unit(series.unit), f"{series.name} " if len(result.series) > 1 else ""

    def fitted(row: tuple[int, Phase], what: str) -> Value:
        fit = row[1].fits[place]
        found: float = (fit.first + fit.last) / 2 if what == "mean" else getattr(fit, what)
        return found

    def column(heading: str, what: str, unit: str, drop: int = 0) -> Column:
        return Column(f"{name}{heading}", partial(fitted, what=what), unit, drop=drop)

    if series.is_rate:
        yield column("mean", "mean", unit)
    else:
        yield column("growth", "growth", unit)
        yield column("slope", "slope", _per_time(result, series.unit), drop=2)
    if result.shape != "levels":
        yield column("at first", "first", unit, drop=6)
        yield column("at last", "last", unit, drop=6)


def _counts(result: PhasesResult) -> Table:
    columns = [Column("event", lambda row: row[0].event)]
    for number in range(1, len(result.phases) + 1):
        columns += [
            Column(f"in phase {number}", partial(_value, number - 1), drop=1),
            Column(f"rate {number}", partial(_rate, number - 1), drop=4),
        ]
    rows = zip(*(phase.counts for phase in result.phases), strict=True)
    return Table.of(rows, columns, name="counts")


def _value(place: int, row: Sequence[PhaseCount]) -> Cell:
    count = row[place]
    if count.value is None:
        return Cell(None, status=str(count.status))
    value = count.value if count.unit else round(count.value)
    status = "" if count.status is Status.COUNTED else str(count.status)
    return Cell(value, count.unit, status=status)


def _rate(place: int, row: Sequence[PhaseCount]) -> Cell:
    count = row[place]
    return Cell(count.rate, _unit(f"{count.unit}/s"))


def _choices(choices: Sequence[Choice]) -> Table:
    return Table.of(
        choices,
        (
            Column("phases", lambda each: each.phases),
            Column("shape", lambda each: str(each.shape)),
            Column("BIC", lambda each: each.bic),
            Column("p of the weakest break", lambda each: each.p_value, "p"),
            Column("", lambda each: "chosen" if each.chosen else ""),
        ),
        name="choices",
    )
