"""How experiments on links look: what was found, its figures, and how bandwidth went with load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter

from gnomon import units
from gnomon.analysis.links import result as links
from gnomon.views import blocks as b
from gnomon.views.shared import counted

_many = partial(counted, word="generator")


def describe(result: links.LinksExperiment) -> Iterator[b.Block]:
    """Yield what there is to see of an experiment, from the result alone."""
    yield b.Headline(f"{result.machine}: {_title(result)}; generators: {result.stream}")
    if result.run is not None:
        yield from _run(result.run)
    if result.saturation is not None:
        yield from _saturation(result.saturation)
    if result.crosstalk is not None:
        yield from _crosstalk(result.crosstalk)
    if result.idle_busy is not None:
        yield from _idle_busy(result.idle_busy)
    if result.emulation is not None:
        yield from _emulation(result.emulation)
    if result.run is not None and result.loads:
        yield b.Section("The load")
        yield _levels(result.loads, result.run)


def _title(result: links.LinksExperiment) -> str:
    if result.saturation is not None:
        return f"saturating {result.saturation.channel}"
    if result.crosstalk is not None:
        channel = result.crosstalk.channel
        return f"{channel} while {channel.reverse} is loaded"
    if result.idle_busy is not None:
        channel = result.idle_busy.channel
        return f"{channel} with node {channel.home} idle and busy"
    if result.emulation is not None:
        return f"emulating a {result.emulation.topology}"
    return "a program under load"


def _run(run: links.LoadedRun) -> Iterator[b.Block]:
    """Yield how a program fared under load."""
    text = f"{' '.join(run.command)}: {units.number(run.seconds * 1e9, 'ns')} under load"
    if run.alone is not None and run.ratio is not None:
        alone = units.number(run.alone * 1e9, "ns")
        text += f", {alone} alone: {units.number(run.ratio, digits=4)} times as long"
    yield b.Finding(f"{text}.")


def _saturation(found: links.Saturation) -> Iterator[b.Block]:
    plateau = units.number(found.plateau, "B/s")
    if found.at is None:
        most = _many(found.steps[-1].count if found.steps else 0)
        yield b.Finding(
            f"{found.channel} is not saturated by {most}: at most {plateau} so far.", b.Tone.DOUBT
        )
    else:
        binary = units.number(found.plateau / 2**30, "GiB/s")
        one = f", one reads {units.number(found.single, 'B/s')}" if found.at > 1 else ""
        verb = "reaches" if found.at == 1 else "reach"
        yield b.Finding(
            f"{found.channel} carries {plateau} ({binary}); {_many(found.at)} {verb} it{one}."
        )
    yield b.Table.of(
        found.steps,
        b.Column("generators", "count"),
        b.Column("together", "total", "B/s", common=True),
        b.Column("each", lambda step: step.total / step.count, "B/s", common=True),
        b.Column("spread", lambda step: step.spread if step.count > 1 else None, "%"),
        name="steps",
    )
    yield _course(
        f"Total bandwidth of the generators on {found.channel}.",
        f"generators on {found.channel}",
        found.steps,
        (b.Mark(found.plateau, "capacity of the channel", "y"),) if found.at is not None else (),
    )


def _crosstalk(found: links.CrossTalk) -> Iterator[b.Block]:
    channel = found.channel
    falls = "falls" if found.monotone else "does not fall"
    flat = "still changes at the end"
    if found.flat_from is not None:
        flat = f"stays flat from {_many(found.flat_from)} on"
    yield b.Finding(
        f"With {_many(found.forward)}, {channel} {falls} steadily while {channel.reverse} is "
        f"loaded, and {flat}: {_change(found.drop)}."
    )
    yield b.Table.of(
        found.steps,
        b.Column(f"generators on {channel.reverse}", "count"),
        b.Column(f"on {channel}", "total", "B/s", common=True),
        name="steps",
    )
    yield _course(f"Bandwidth left on {channel}.", f"generators on {channel.reverse}", found.steps)


def _course(
    caption: str, label: str, steps: Sequence[links.Step], marks: tuple[b.Mark, ...] = ()
) -> b.Chart:
    """Return bandwidth over generators: a line through medians, and every repetition."""
    every = [(step.count, total) for step in steps for total in step.totals]
    first, second = itemgetter(0), itemgetter(1)
    return b.Chart.of(
        caption,
        b.Axis(label),
        b.Axis("bandwidth", "B/s", zero=True),
        b.Layer.of(b.Kind.DOTS, every, first, second, "repetition"),
        b.Layer.of(b.Kind.LINE, steps, "count", "total", "median"),
        marks=marks,
    )


def _idle_busy(found: links.IdleBusy) -> Iterator[b.Block]:
    verdict = "no significant difference"
    if found.difference.certain:
        verdict = "a busy node makes a significant difference"
    turns = counted(len(found.idle), "turn")
    yield b.Finding(f"{found.channel} with {_many(found.count)}, {turns}: {verdict}.")
    low, high = found.difference.interval
    ends = (low, high) if math.isfinite(high - low) else (None, None)
    waiting = f"{counted(found.spinners, 'CPU')} spinning"
    yield b.Table.of(
        (
            ("idle", b.Cell(found.idle_mean, "B/s")),
            (waiting, b.Cell(found.busy_mean, "B/s")),
            ("difference", b.Cell(found.difference.value, "B/s", *ends)),
        ),
        b.Column(f"node {found.channel.home}", itemgetter(0)),
        b.Column("bandwidth", itemgetter(1), interval="95 % interval"),
        name="turns",
    )
    sides = {"idle": found.idle, "busy": found.busy}
    each = [(name, rate) for name, rates in sides.items() for rate in rates]
    yield b.Chart.of(
        "Each turn, and the mean of all.",
        b.Axis(f"bandwidth of {found.channel}", "B/s", zero=True),
        b.Axis(f"node {found.channel.home}", names=tuple(sides)),
        b.Layer(b.Kind.BARS, (found.idle_mean, found.busy_mean), tuple(sides), "mean"),
        b.Layer.of(b.Kind.DOTS, each, itemgetter(1), itemgetter(0), "turn"),
    )


def _emulation(found: links.Emulation) -> Iterator[b.Block]:
    gone = [row.share for row in found.channels if not row.linked and row.share is not None]
    kept = [row.share for row in found.channels if row.linked and row.share is not None]
    if gone:
        text = f"Of channels that the {found.topology} lacks, {_range(gone)} is left"
        text += f"; of its own, {_range(kept)}" if kept else ""
        yield b.Finding(f"{text}, for one more generator on one channel at a time.")
    yield b.Table.of(
        found.channels,
        b.Column("channel", _name),
        b.Column("generators", lambda row: row.generators or None),
        b.Column("before", "before", "B/s", common=True),
        b.Column("left", "after", "B/s", common=True),
        b.Column("share", "share", "%"),
        b.Column(f"in the {found.topology}", lambda row: "linked" if row.linked else ""),
        name="channels",
    )
    parts = [[row for row in found.channels if row.linked is linked] for linked in (True, False)]
    labels = (f"left, {word}linked in the {found.topology}" for word in ("", "not "))
    bars = (
        b.Layer.of(b.Kind.BARS, rows, "after", _name, label, stack="left")
        for rows, label in zip(parts, labels, strict=True)
    )
    yield b.Chart.of(
        "Bandwidth of one more generator on each channel, before and under load.",
        b.Axis("bandwidth", "B/s", zero=True),
        b.Axis("channel", names=tuple(map(_name, found.channels))),
        *bars,
        b.Layer.of(b.Kind.DOTS, found.channels, "before", _name, "before"),
    )


def _name(row: links.Left | links.Level) -> str:
    return str(row.channel)


def _levels(levels: Sequence[links.Level], run: links.LoadedRun) -> b.Table:
    """Return the loads that were set, and what they carried while the program ran."""
    during = {str(each.channel): each.rate for each in run.during}
    return b.Table.of(
        levels,
        b.Column("channel", _name),
        b.Column("generators", "count"),
        b.Column("duty", "duty", "%"),
        b.Column("wanted", "wanted", "B/s", common=True),
        b.Column("reached", "reached", "B/s", common=True),
        b.Column("share of capacity", "share", "%"),
        b.Column(
            "during the run", lambda level: during.get(str(level.channel)), "B/s", common=True
        ),
        name="loads",
    )


def _range(shares: Sequence[float]) -> str:
    low, high = units.number(min(shares), "%"), units.number(max(shares), "%")
    return low if low == high else f"{low} to {high}"


def _change(found: links.Difference) -> str:
    low, high = found.interval
    if not math.isfinite(high - low):
        return f"{units.number(found.value, 'B/s')} (too few measurements for an interval)"
    value = units.number(found.value, "B/s", within=(low, high))
    return f"{value} (95 % interval {units.interval(low, high, 'B/s', value=found.value)})"
