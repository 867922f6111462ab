"""How phases look: what the series does from when to when, and what was counted meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.phases.result import Phase, PhaseCount, PhaseSeries, PhasesResult, unit_of
from gnomon.recording.contents import Status
from gnomon.views import blocks as b


def describe(result: PhasesResult) -> Iterator[b.Block]:
    """Yield what there is to see of phases, from the result alone."""
    yield b.Headline(result.headline, tuple(_lines(result)))
    yield from (_course(result, place) for place in range(len(result.series)))
    yield _phases(result)
    counts = [one for phase in result.phases for one in phase.counts]
    if counts:
        yield _counts(result)
    if any(one.status is Status.SCALED for one in counts):
        yield b.Text("~ was extrapolated from the share of time in which it was counted")
    if result.choices:
        columns = (
            b.Column("phases"),
            b.Column("shape", lambda each: str(each.shape)),
            b.Column("BIC", "bic"),
            b.Column("p of the weakest break", "p_value", "p"),
            b.Column("", lambda each: "chosen" if each.chosen else ""),
        )
        table = b.Table.of(result.choices, *columns, name="choices")
        yield b.Fold(f"{len(result.choices)} other splits considered", (table,))


def _lines(result: PhasesResult) -> Iterator[str]:
    origin = result.provenance
    if origin is not None:
        yield " ".join(origin.command) or origin.target or "a recording"
    if result.decision:
        yield result.decision


def _course(result: PhasesResult, place: int) -> b.Chart:
    """Draw a series with its phases and the line fitted in each."""
    series = result.series[place]
    times, values = tuple(series.times.tolist()), tuple(series.values.tolist())
    first, last = (times[0], times[-1]) if times else (0.0, 0.0)
    fits = (
        ((max(phase.start, first), min(phase.end, last)), phase.fits[place])
        for phase in result.phases
    )
    lines = (b.Layer(b.Kind.LINE, ends, (fit.first, fit.last), "fitted") for ends, fit in fits)
    return b.Chart.of(
        f"{series.name} over time, with the line fitted in each phase.",
        b.Axis("time", result.time_unit),
        b.Axis(series.name, unit_of(series.unit)),
        b.Layer(b.Kind.DOTS, times, values, "read"),
        *lines,
        marks=tuple(b.Mark(found.time) for found in result.breaks),
        zones=tuple(
            b.Zone(phase.start, phase.end, f"phase {number}")
            for number, phase in enumerate(result.phases, 1)
        ),
        alone=True,
    )


def _phases(result: PhasesResult) -> b.Table:
    unit = result.time_unit

    def begin(row: tuple[int, Phase]) -> b.Cell:
        found = result.breaks[row[0] - 2] if row[0] > 1 else None
        ends = (found.low, found.high) if found else (None, None)
        return b.Cell(row[1].start, unit, *ends)

    columns = [
        b.Column("phase", lambda row: row[0]),
        b.Column("from", begin, interval="begins between"),
        b.Column("to", lambda row: row[1].end, unit, drop=3),
        b.Column("duration", lambda row: row[1].duration, unit),
    ]
    for place, series in enumerate(result.series):
        columns += _fitted(result, series, place)
    return b.Table.of(enumerate(result.phases, 1), *columns, name="phases")


def _fitted(result: PhasesResult, series: PhaseSeries, place: int) -> Iterator[b.Column]:
    """Yield what a series does in each phase: its mean, and of a level also peak and last."""
    unit, name = unit_of(series.unit), f"{series.name} " if len(result.series) > 1 else ""
    yield b.Column(f"{name}mean", lambda row: row[1].fits[place].level, unit)
    if not series.is_rate:
        yield b.Column(f"{name}peak", lambda row: row[1].fits[place].peak, unit, drop=2)
        yield b.Column(f"{name}last", lambda row: row[1].fits[place].final, unit)
    if result.shape != "levels" and not series.is_rate:
        yield b.Column(f"{name}fit begins", lambda row: row[1].fits[place].first, unit, drop=6)
        yield b.Column(f"{name}fit ends", lambda row: row[1].fits[place].last, unit, drop=6)


def _counts(result: PhasesResult) -> b.Table:
    """Return what was counted, a row for an event in a phase: however many, the figures fit."""
    rows = [
        (each, number)
        for counts in zip(*(phase.counts for phase in result.phases), strict=True)
        for number, each in enumerate(counts, 1)
    ]
    columns = (
        b.Column("event", lambda row: row[0].event if row[1] == 1 else ""),
        b.Column("phase", lambda row: row[1]),
        b.Column("count", _value),
        b.Column("rate", lambda row: b.Cell(row[0].rate, unit_of(f"{row[0].unit}/s"))),
    )
    return b.Table.of(rows, *columns, name="counts")


def _value(row: tuple[PhaseCount, int]) -> b.Cell:
    count = row[0]
    whole = count.value is not None and not count.unit
    value = round(count.value) if count.value is not None and whole else count.value
    return b.Cell(value, count.unit, status=str(count.status))
