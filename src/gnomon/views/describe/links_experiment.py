"""How experiments on links look: what was found, its figures, and how bandwidth went with load."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from gnomon import units
from gnomon.analysis.links import result as links
from gnomon.views import blocks as b


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
    return "a program beside load"


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
            f"{found.channel} is not saturated by {most}: the most is {plateau} so far.",
            b.Tone.DOUBT,
        )
    else:
        binary = units.number(found.plateau / 2**30, "GiB/s")
        one = f", one reads {units.number(found.single, 'B/s')}" if found.at > 1 else ""
        verb = "reaches" if found.at == 1 else "reach"
        yield b.Finding(
            f"{found.channel} carries {plateau} ({binary}); {_many(found.at)} {verb} it{one}."
        )
    yield _table(
        "steps",
        found.steps,
        b.Column("generators", "count"),
        b.Column("together", "total", "B/s", common=True),
        b.Column("each", lambda step: step.total / step.count, "B/s", common=True),
        b.Column("apart", lambda step: step.spread if step.count > 1 else None, "%"),
    )
    yield _course(
        f"What generators on {found.channel} read together.",
        f"generators on {found.channel}",
        found.steps,
        (b.Mark(found.plateau, "what the channel carries", "y"),) if found.at is not None else (),
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
    yield _table(
        "steps",
        found.steps,
        b.Column(f"generators on {channel.reverse}", "count"),
        b.Column(f"on {channel}", "total", "B/s", common=True),
    )
    yield _course(f"What {channel} still gets.", f"generators on {channel.reverse}", found.steps)


def _course(
    caption: str, label: str, steps: Sequence[links.Step], marks: tuple[b.Mark, ...] = ()
) -> b.Chart:
    """Return bandwidth over generators: a line through medians, and every repetition."""
    every = [(step.count, total) for step in steps for total in step.totals]
    return b.Chart(
        caption,
        b.Axis(label),
        b.Axis("bandwidth", "B/s", zero=True),
        (
            b.Layer(
                b.Kind.DOTS, tuple(n for n, _ in every), tuple(y for _, y in every), "repetition"
            ),
            b.Layer(
                b.Kind.LINE,
                tuple(step.count for step in steps),
                tuple(step.total for step in steps),
                "median",
            ),
        ),
        marks,
    )


def _idle_busy(found: links.IdleBusy) -> Iterator[b.Block]:
    verdict = "no difference that could be told from chance"
    if found.difference.certain:
        verdict = "it makes a difference whether that node is busy"
    turns = _many(len(found.idle), "turn")
    yield b.Finding(f"{found.channel} with {_many(found.count)}, {turns}: {verdict}.")
    low, high = found.difference.interval
    ends = (low, high) if math.isfinite(high - low) else (None, None)
    waiting = f"{_many(found.spinners, 'CPU')} waiting busily"
    yield _table(
        "turns",
        (
            ("idle", b.Cell(found.idle_mean, "B/s")),
            (waiting, b.Cell(found.busy_mean, "B/s")),
            ("difference", b.Cell(found.difference.value, "B/s", *ends)),
        ),
        b.Column(f"node {found.channel.home}", itemgetter(0)),
        b.Column("bandwidth", itemgetter(1), interval="95 % interval"),
    )
    sides = {"idle": found.idle, "busy": found.busy}
    yield b.Chart(
        "Every turn, and the mean of all.",
        b.Axis(f"bandwidth of {found.channel}", "B/s", zero=True),
        b.Axis(f"node {found.channel.home}", names=tuple(sides)),
        (
            b.Layer(b.Kind.BARS, (found.idle_mean, found.busy_mean), tuple(sides), "mean"),
            b.Layer(
                b.Kind.DOTS,
                tuple(rate for values in sides.values() for rate in values),
                tuple(name for name, values in sides.items() for _ in values),
                "turn",
            ),
        ),
    )


def _emulation(found: links.Emulation) -> Iterator[b.Block]:
    gone = [row.share for row in found.channels if not row.linked and row.share is not None]
    kept = [row.share for row in found.channels if row.linked and row.share is not None]
    if gone:
        text = f"Of channels that the {found.topology} lacks, {_range(gone)} is left"
        text += f"; of its own, {_range(kept)}" if kept else ""
        yield b.Finding(f"{text}, for one more generator on one channel at a time.")
    yield _table(
        "channels",
        found.channels,
        b.Column("channel", lambda row: str(row.channel)),
        b.Column("generators", lambda row: row.generators or None),
        b.Column("before", "before", "B/s", common=True),
        b.Column("left", "after", "B/s", common=True),
        b.Column("share", "share", "%"),
        b.Column(f"in the {found.topology}", lambda row: "linked" if row.linked else ""),
    )
    names = tuple(str(row.channel) for row in found.channels)
    yield b.Chart(
        "What one more generator gets on each channel, before and after the load.",
        b.Axis("bandwidth", "B/s", zero=True),
        b.Axis("channel", names=names),
        (
            *(
                b.Layer(
                    b.Kind.BARS,
                    tuple(row.after for row in found.channels if row.linked is linked),
                    tuple(str(row.channel) for row in found.channels if row.linked is linked),
                    f"left, {'' if linked else 'not '}linked in the {found.topology}",
                    stack="left",
                )
                for linked in (True, False)
            ),
            b.Layer(b.Kind.DOTS, tuple(row.before for row in found.channels), names, "before"),
        ),
    )


def _levels(levels: Sequence[links.Level], run: links.LoadedRun) -> b.Table:
    """Return the loads that were set, and what they carried while the program ran."""
    during = {str(each.channel): each.rate for each in run.during}
    return _table(
        "loads",
        levels,
        b.Column("channel", lambda level: str(level.channel)),
        b.Column("generators", "count"),
        b.Column("duty", "duty", "%"),
        b.Column("wanted", "wanted", "B/s", common=True),
        b.Column("reached", "reached", "B/s", common=True),
        b.Column("of what it carries", "share", "%"),
        b.Column(
            "during the run", lambda level: during.get(str(level.channel)), "B/s", common=True
        ),
    )


def _table(name: str, rows: Iterable[Any], *columns: b.Column) -> b.Table:
    return b.Table.of(rows, *columns, name=name)


def _range(shares: Sequence[float]) -> str:
    low, high = units.number(min(shares), "%"), units.number(max(shares), "%")
    return low if low == high else f"{low} to {high}"


def _change(found: links.Difference) -> str:
    low, high = found.interval
    if not math.isfinite(high - low):
        return f"{units.number(found.value, 'B/s')}, from too few measurements for an interval"
    value = units.number(found.value, "B/s", within=(low, high))
    return f"{value} (95 % interval {units.interval(low, high, 'B/s', value=found.value)})"


def _many(count: int, what: str = "generator") -> str:
    return f"{count} {what}{'s' * (count != 1)}"
