"""How latencies of loads look in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.analysis.latency.model import LatencyBin, LatencyResult, Mode, Peak
from gnomon.units import format_duration, format_si
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from gnomon.analysis.latency import OnResult

_BAR = 32
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NOTABLE = 0.001  # a bin with less of the loads is not worth a line, unless it is surely there
_ABOVE_PLOT = 14  # lines of a screen that are not for bins


def print_latency(result: LatencyResult, stream: TextIO, *, cost: bool = False) -> None:
    """Write the histogram, its peaks, and what is not seen."""
    stream.writelines(f"{line}\n" for line in latency_lines(result, cost=cost))


def latency_lines(
    result: LatencyResult, *, cost: bool = False, most: int | None = None
) -> list[str]:
    """Return the histogram as lines, of which at most so many are bins."""
    lines = [title(result), ""]
    lines += _bin_table(result, cost=cost, most=most).lines()
    if result.peaks:
        lines += ["", *_peak_table(result).lines()]
    if result.negatives:
        lines.append(
            f"  {result.negatives} bins are below zero (-): their edges were read at different "
            "times; shares and bars are of the monotone estimate"
        )
    lines += [f"  not seen: {text}" for text in result.blind]
    return lines


def title(result: LatencyResult) -> str:
    """Return what the histogram is of, in one line."""
    origin = result.provenance
    label = "SIMULATED " if origin.simulated else ""
    what = " ".join(origin.command) or origin.target
    where = f" on {origin.machine}" if origin.machine else ""
    if result.mode is Mode.SAMPLES:
        how = f"from {result.readings:,} samples"
    else:
        how = (
            f"from {result.readings:,} slices, {result.sweeps} sweeps of {len(result.edges)} edges"
        )
    span = format_duration(result.seconds * 1e9)
    return (
        f"{label}{what}{where}: about {format_si(result.total)} loads of {result.edges[0]} cycles "
        f"or more in {span}, {how}"
    )


def bin_text(each: LatencyBin) -> str:
    """Return the latencies of a bin."""
    return f"{each.low} and more" if each.high is None else f"{each.low} to {each.high}"


def peak_text(peak: Peak, result: LatencyResult) -> str:
    """Return what a peak is: a measured latency, what answered its loads, or what is below it."""
    if peak.name:
        return peak.name
    top = next(each for each in result.bins if each.low == peak.low)
    if top.sources:
        return f"loads from {max(top.sources, key=top.sources.__getitem__)}"
    below = [each for each in result.references if each.cycles < peak.cycles]
    if peak.high is None:
        return "beyond the last edge"
    if not below:
        return "no measured latency is near" if result.references else ""
    nearest = max(below, key=lambda each: each.cycles)
    return f"about {peak.cycles - nearest.cycles:.0f} cycles above {nearest.name}"


def _bin_table(result: LatencyResult, *, cost: bool, most: int | None) -> Table:
    whole = sum(each.cost if cost else each.monotone for each in result.bins) or 1.0
    highest = max((each.cost if cost else each.monotone for each in result.bins), default=0.0)
    what = "cycles spent" if cost else "loads"
    answered = "answered by" if result.mode is Mode.SAMPLES else ""
    table = Table(
        [
            Column("cycles", right=True),
            Column(what, right=True),
            Column("95 % interval", right=True),
            Column("share", right=True),
            Column(""),
            Column(answered),
        ]
    )
    shown = _notable(result, most)
    skipped: list[LatencyBin] = []
    for number, each in enumerate(result.bins):
        if number not in shown:
            skipped.append(each)
            continue
        _skip(table, skipped)
        scale = each.middle if cost else 1.0
        value = each.cost if cost else each.monotone
        mark = "-" if each.negative else ""
        table.add(
            bin_text(each),
            f"{format_si(each.count * scale)}{mark}",
            f"{format_si(each.least * scale, 3)} … {format_si(each.most * scale, 3)}",
            f"{value / whole:.1%}",
            bar(value / highest if highest > 0 else 0.0),
            _answered(each),
        )
    _skip(table, skipped)
    return table


def _notable(result: LatencyResult, most: int | None) -> set[int]:
    """Return the numbers of the bins to show: all that are surely there, or have their share."""
    total = result.total or 1.0
    found = [
        number
        for number, each in enumerate(result.bins)
        if each.monotone >= _NOTABLE * total and each.least > 0
    ]
    if most is not None and len(found) > most:
        found = sorted(found, key=lambda number: -result.bins[number].monotone)[:most]
    return set(found)


def _skip(table: Table, skipped: list[LatencyBin]) -> None:
    """Put one line in place of bins in which there is nothing to be sure of."""
    if not skipped:
        return
    first, last = skipped[0], skipped[-1]
    total = sum(each.count for each in skipped)
    text = f"{first.low} and more" if last.high is None else f"{first.low} to {last.high}"
    bins = "1 bin" if len(skipped) == 1 else f"{len(skipped)} bins"
    table.add(text, format_si(total, 3), "", "", f"· {bins} with next to nothing", "")
    skipped.clear()


def _answered(each: LatencyBin) -> str:
    if not each.sources:
        return ""
    most = sorted(each.sources.items(), key=lambda item: -item[1])
    name, count = most[0]
    return name if len(most) == 1 else f"{name} ({count / sum(each.sources.values()):.0%})"


def bar(share: float, width: int = _BAR) -> str:
    """Return a bar of eighths of characters."""
    eighths = round(max(share, 0.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def _peak_table(result: LatencyResult) -> Table:
    table = Table(
        [
            Column("peak at", right=True),
            Column("share", right=True),
            Column("is"),
            Column("measured", right=True),
        ]
    )
    for peak in result.peaks:
        high = f" to {peak.high}" if peak.high is not None else " and more"
        table.add(
            f"{peak.low}{high}",
            f"{peak.share:.1%}",
            peak_text(peak, result),
            "" if peak.reference is None else f"{peak.reference:.0f} cycles",
        )
    return table


@contextmanager
def live_latency(stream: TextIO, *, cost: bool = False) -> Iterator[OnResult | None]:
    """Yield what shows the histogram while it grows; nothing where the stream is no screen."""
    if not stream.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=stream)
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(result: LatencyResult) -> None:
            room = max(console.size.height - _ABOVE_PLOT - len(result.peaks), 5)
            head, *lines = latency_lines(result, cost=cost, most=room)
            lines = [head, *(f"warning: {each}" for each in result.warnings), *lines]
            text = Text("\n".join(lines[: console.size.height - 1]), no_wrap=True)
            live.update(text, refresh=True)

        yield show


def latency_as_json(result: LatencyResult) -> dict[str, Any]:
    """Return the histogram in the form that scripts read."""
    return {
        "mode": str(result.mode),
        "edges": list(result.edges),
        "readings": result.readings,
        "sweeps": result.sweeps,
        "seconds": result.seconds,
        "total": result.total,
        "bins": [
            {
                "low": each.low,
                "high": each.high,
                "count": each.count,
                "least": each.least,
                "most": each.most,
                "monotone": each.monotone,
                "cost": each.cost,
                "negative": each.negative,
                "sources": each.sources,
            }
            for each in result.bins
        ],
        "peaks": [
            {
                "low": peak.low,
                "high": peak.high,
                "cycles": peak.cycles,
                "count": peak.count,
                "share": peak.share,
                "name": peak.name or None,
                "measured": peak.reference,
            }
            for peak in result.peaks
        ],
        "latencies": {reference.name: reference.cycles for reference in result.references},
        "not_seen": list(result.blind),
    }
