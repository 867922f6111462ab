"""How latencies of loads look: where loads gather, the histogram, and what is not seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from gnomon import units
from gnomon.analysis.latency.result import LatencyBin, LatencyResult, cycles
from gnomon.views import blocks as b

Bins = tuple[LatencyBin, ...]  # one, or several neighbours in which there is little
_NOTABLE = 0.001  # a bin with less of the loads is not worth a line, unless it is surely there
_SHOWN = 24  # bins that have a line of their own, the largest
_BESIDE = 14  # lines of a live screen that are not for bins
_SOURCES = 5  # that have a colour of their own


def describe(result: LatencyResult) -> Iterator[b.Block]:
    """Yield what there is to see of a histogram of latencies, from the result alone."""
    yield b.Headline(result.headline, (_how(result),))
    dear = result.top(by_cost=True)
    if dear is not None and dear is not result.top(by_cost=False) and result.cost > 0:
        yield b.Finding(
            f"Loads of {cycles(dear.begins, dear.ends)} cycles{result.named(dear)} are "
            f"{units.number(dear.share, '%')} of all, and "
            f"{units.number(dear.cost / result.cost, '%')} of the cycles spent on loads."
        )
    yield from _peaks(result)
    yield b.Section("Loads by latency")
    yield _histogram(result, by_cost=False)
    yield _histogram(result, by_cost=True)
    if any(each.sources for each in result.bins):
        yield _by_source(result)
    yield _bins(result, _SHOWN)
    yield from _remarks(result)
    yield b.Fold(f"all {len(result.bins)} bins", (_all_bins(result),))


def moment(result: LatencyResult, rows: int) -> Iterator[b.Block]:
    """Yield what a live screen of so many rows shows of what is known so far."""
    label = "SIMULATED " if result.provenance.simulated else ""
    yield b.Headline(f"{label}{result.headline}", (_how(result),))
    yield from (b.Text(f"warning: {text}", b.Tone.DOUBT) for text in result.warnings)
    yield _bins(result, max((rows - _BESIDE - len(result.peaks)) // 2, 4))
    yield from _peaks(result)
    yield from _remarks(result)


def _how(result: LatencyResult) -> str:
    if result.sweeps:
        sweeps = f"{result.sweeps} sweeps of {len(result.edges)} edges"
        how = f"from {result.readings:,} slices, {sweeps}"
    else:
        how = f"from {result.readings:,} samples"
    first = f" of {result.edges[0]} cycles or more" if result.edges else ""
    span = units.brief(result.seconds * 1e9, "ns")
    return f"about {units.brief(result.total)} loads{first} in {span}, {how}"


def _peaks(result: LatencyResult) -> Iterator[b.Block]:
    if not result.peaks:
        return
    cost = result.cost or 1.0
    yield b.Section("Latency peaks")
    yield b.Table.of(
        result.peaks,
        b.Column("cycles", lambda peak: cycles(peak.begins, peak.ends)),
        b.Column("mostly", lambda peak: cycles(peak.low, peak.high), drop=2),
        b.Column("loads", "count", drop=1, digits=3),
        b.Column("of loads", "share", "%", bar=not result.by_cost),
        b.Column("of cycles", lambda peak: peak.cost / cost, "%", bar=result.by_cost),
        b.Column("is", result.what),
        b.Column("measured", "measured", "cycles", digits=3),
        name="peaks",
    )


# ---- bins -----------------------------------------------------------------------------------


def _rows(result: LatencyResult, most: int) -> Iterator[Bins]:
    """Yield rows of all bins: those that are surely there, or have their share, alone."""
    least = _NOTABLE * (result.total or 1.0)
    notable = [each for each in result.bins if each.monotone >= least and each.least > 0]
    shown = {each.low for each in sorted(notable, key=lambda each: -each.monotone)[:most]}
    for alone, group in groupby(result.bins, lambda each: each.low in shown):
        bins = tuple(group)
        yield from ((each,) for each in bins) if alone else (bins,)


def _bins(result: LatencyResult, most: int) -> b.Table:
    """Return the histogram as a table; bins in which there is next to nothing are one row."""
    samples = any(each.sources for each in result.bins)
    loads, cost, by_cost = result.total or 1.0, result.cost or 1.0, result.by_cost
    return b.Table.of(
        _rows(result, most),
        b.Column("cycles", lambda bins: cycles(bins[0].low, bins[-1].high)),
        b.Column(
            "cycles spent" if by_cost else "loads",
            lambda bins: _count(bins, by_cost=by_cost),
            interval="95 % interval",
            digits=3,
        ),
        b.Column(
            "of loads",
            lambda bins: sum(each.monotone for each in bins) / loads,
            "%",
            bar=not by_cost,
        ),
        b.Column(
            "of cycles", lambda bins: sum(each.cost for each in bins) / cost, "%", bar=by_cost
        ),
        b.Column("served by", _answered) if samples else None,
        b.Column("", lambda bins: f"{len(bins)} bins" if len(bins) > 1 else "", drop=2),
        tone=lambda bins: b.Tone.PLAIN if len(bins) == 1 else b.Tone.FAINT,
        name="bins",
    )


def _count(bins: Bins, *, by_cost: bool) -> b.Cell:
    counts = [each.count * (each.middle if by_cost else 1.0) for each in bins]
    if len(bins) > 1:
        return b.Cell(sum(counts))
    each, scale = bins[0], bins[0].middle if by_cost else 1.0
    return b.Cell(counts[0], "", each.least * scale, each.most * scale, tone=_tone(each))


def _tone(each: LatencyBin) -> b.Tone:
    return b.Tone.DOUBT if each.negative else b.Tone.PLAIN


def _answered(bins: Iterable[LatencyBin]) -> str:
    totals = _totals(bins)
    if not totals:
        return ""
    name, count = next(iter(totals.items()))
    share = units.number(count / (sum(totals.values()) or 1.0), "%")
    return name if len(totals) == 1 else f"{name} ({share})"


def _totals(bins: Iterable[LatencyBin]) -> dict[str, float]:
    """Return how many loads each source answered, the most first."""
    totals: dict[str, float] = {}
    for each in bins:
        for name, count in each.sources.items():
            totals[name] = totals.get(name, 0.0) + count
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def _all_bins(result: LatencyResult) -> b.Table:
    total = result.total or 1.0

    def answered(each: LatencyBin) -> str:
        return ", ".join(f"{name}: {units.brief(n)}" for name, n in _totals([each]).items())

    return b.Table.of(
        result.bins,
        b.Column("cycles", lambda each: cycles(each.low, each.high)),
        b.Column(
            "loads",
            lambda each: b.Cell(each.count, "", each.least, each.most),
            interval="95 % interval",
        ),
        b.Column("monotone", digits=4),
        b.Column("share", lambda each: each.monotone / total, "%", digits=3),
        b.Column("cycles spent", "cost", digits=4),
        b.Column("served by", answered, flex=True),
        tone=_tone,
        name="all bins",
    )


def _remarks(result: LatencyResult) -> Iterator[b.Block]:
    if result.negatives:
        bins = "1 bin is" if result.negatives == 1 else f"{result.negatives} bins are"
        yield b.Text(
            f"{bins} below zero, since their edges were counted at different times; shares and "
            "bars use the monotone estimate",
            b.Tone.FAINT,
        )
    yield from (b.Text(f"not measured: {text}", b.Tone.FAINT) for text in result.not_seen)


# ---- charts ---------------------------------------------------------------------------------


def _places(result: LatencyResult) -> tuple[tuple[float, ...], ...]:
    """Return where bins begin, end, and are in the middle; an open one is as wide as the last."""
    bins = result.bins
    lows = tuple(float(each.low) for each in bins)
    ends = tuple(
        float(2 * each.low - bins[place - 1].low if each.high is None else each.high)
        for place, each in enumerate(bins)
    )
    return lows, ends, tuple((low + end) / 2 for low, end in zip(lows, ends, strict=True))


def _histogram(result: LatencyResult, *, by_cost: bool) -> b.Chart:
    lows, ends, middles = _places(result)
    known = [
        (middle, each, each.middle if by_cost else 1.0)
        for middle, each in zip(middles, result.bins, strict=True)
        if each.least < each.most
    ]
    names = tuple(cycles(each.low, each.high) for each in result.bins)
    loads = "Loads by latency. Bars: the monotone estimate; lines: 95 % intervals of the raw "
    return b.Chart.of(
        "Cycles spent, by latency: loads times latency." if by_cost else f"{loads}one.",
        b.Axis("latency", "cycles"),
        b.Axis("cycles spent" if by_cost else "loads", zero=True),
        b.Layer(
            b.Kind.BARS,
            middles,
            tuple(each.cost if by_cost else each.monotone for each in result.bins),
            low=lows,
            high=ends,
            hover=(("bin", names),),
        ),
        b.Layer(
            b.Kind.RANGES,
            tuple(middle for middle, _, _ in known),
            tuple(each.count * scale for _, each, scale in known),
            "95 % interval",
            low=tuple(each.least * scale for _, each, scale in known),
            high=tuple(each.most * scale for _, each, scale in known),
            tones=tuple(_tone(each) for _, each, _ in known),
        ),
        marks=tuple(
            b.Mark(each.cycles, each.name)
            for each in result.latencies
            if lows and lows[0] <= each.cycles <= ends[-1]
        ),
        key=((b.Tone.DOUBT, "difference below zero"),) if result.negatives else (),
    )


def _by_source(result: LatencyResult) -> b.Chart:
    names = list(_totals(result.bins))
    groups = [(name, {name}) for name in names[:_SOURCES]]
    groups += [("others", set(names[_SOURCES:]))] if len(names) > _SOURCES else []
    lows, ends, middles = _places(result)

    def answered(one: LatencyBin, members: set[str]) -> float | None:
        return sum(count for each, count in one.sources.items() if each in members) or None

    return b.Chart.of(
        "Loads by data source.",
        b.Axis("latency", "cycles"),
        b.Axis("loads", zero=True),
        *(
            b.Layer(
                b.Kind.BARS,
                middles,
                tuple(answered(one, members) for one in result.bins),
                name,
                low=lows,
                high=ends,
                stack="sources",
            )
            for name, members in groups
        ),
    )
