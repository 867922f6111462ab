"""How experiments on links look: what was found, its figures, and how bandwidth went with load."""

from __future__ import annotations

import math
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
    Headline,
    Kind,
    Layer,
    Mark,
    Section,
    Table,
    Tone,
)

if TYPE_CHECKING:
    from gnomon.analysis.links.result import (
        CrossTalk,
        Difference,
        Emulation,
        IdleBusy,
        Level,
        LinksExperiment,
        LoadedRun,
        Saturation,
        Step,
    )


def describe(result: LinksExperiment) -> Iterator[Block]:
    """Yield what there is to see of an experiment, from the result alone."""
    yield Headline(f"{result.machine}: {_title(result)}; generators: {result.stream}")
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
        yield Section("The load")
        yield _levels(result.loads, result.run)


def _title(result: LinksExperiment) -> str:
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


def _run(run: LoadedRun) -> Iterator[Block]:
    """Yield how a program fared under load."""
    text = f"{' '.join(run.command)}: {units.number(run.seconds * 1e9, 'ns')} under load"
    if run.alone is not None and run.ratio is not None:
        alone = units.number(run.alone * 1e9, "ns")
        text += f", {alone} alone: {units.number(run.ratio, digits=4)} times as long"
    yield Finding(f"{text}.")


def _saturation(found: Saturation) -> Iterator[Block]:
    plateau = units.number(found.plateau, "B/s")
    if found.at is None:
        most = _generators(found.steps[-1].count if found.steps else 0)
        yield Finding(
            f"{found.channel} is not saturated by {most}: the most is {plateau} so far.",
            Tone.DOUBT,
        )
    else:
        binary = units.number(found.plateau / 2**30, "GiB/s")
        one = f", one reads {units.number(found.single, 'B/s')}" if found.at > 1 else ""
        verb = "reaches" if found.at == 1 else "reach"
        yield Finding(
            f"{found.channel} carries {plateau} ({binary}); {_generators(found.at)} {verb} it{one}."
        )
    yield Table.of(
        found.steps,
        (
            Column("generators", lambda step: step.count),
            Column("together", lambda step: step.total, "B/s", common=True),
            Column("each", lambda step: step.total / step.count, "B/s", common=True),
            Column("apart", lambda step: step.spread if step.count > 1 else None, "%"),
        ),
        name="steps",
    )
    yield _course(
        f"What generators on {found.channel} read together.",
        f"generators on {found.channel}",
        found.steps,
        (Mark(found.plateau, "what the channel carries", "y"),) if found.at is not None else (),
    )


def _crosstalk(found: CrossTalk) -> Iterator[Block]:
    channel = found.channel
    falls = "falls" if found.monotone else "does not fall"
    flat = (
        f"stays flat from {_generators(found.flat_from)} on"
        if found.flat_from is not None
        else "still changes at the end"
    )
    yield Finding(
        f"With {_generators(found.forward)}, {channel} {falls} steadily while {channel.reverse} is "
        f"loaded, and {flat}: {_change(found.drop)}."
    )
    yield Table.of(
        found.steps,
        (
            Column(f"generators on {channel.reverse}", lambda step: step.count),
            Column(f"on {channel}", lambda step: step.total, "B/s", common=True),
        ),
        name="steps",
    )
    yield _course(f"What {channel} still gets.", f"generators on {channel.reverse}", found.steps)


def _course(caption: str, label: str, steps: Sequence[Step], marks: tuple[Mark, ...] = ()) -> Chart:
    """Return bandwidth over generators: a line through medians, and every repetition."""
    every = [(step.count, total) for step in steps for total in step.totals]
    return Chart(
        caption,
        Axis(label),
        Axis("bandwidth", "B/s", zero=True),
        (
            Layer(Kind.DOTS, tuple(n for n, _ in every), tuple(y for _, y in every), "repetition"),
            Layer(
                Kind.LINE,
                tuple(step.count for step in steps),
                tuple(step.total for step in steps),
                "median",
            ),
        ),
        marks,
    )


def _idle_busy(found: IdleBusy) -> Iterator[Block]:
    turns = len(found.idle)
    verdict = (
        "it makes a difference whether that node is busy"
        if found.difference.certain
        else "no difference that could be told from chance"
    )
    yield Finding(
        f"{found.channel} with {_generators(found.count)}, {turns} turn{'s' * (turns != 1)}: "
        f"{verdict}."
    )
    low, high = found.difference.interval
    ends = (low, high) if math.isfinite(high - low) else (None, None)
    waiting = f"{found.spinners} CPU{'s' * (found.spinners != 1)} waiting busily"
    yield Table.of(
        (
            ("idle", Cell(found.idle_mean, "B/s")),
            (waiting, Cell(found.busy_mean, "B/s")),
            ("difference", Cell(found.difference.value, "B/s", *ends)),
        ),
        (
            Column(f"node {found.channel.home}", lambda row: row[0]),
            Column("bandwidth", lambda row: row[1], interval="95 % interval"),
        ),
        name="turns",
    )
    sides = {"idle": found.idle, "busy": found.busy}
    yield Chart(
        "Every turn, and the mean of all.",
        Axis(f"bandwidth of {found.channel}", "B/s", zero=True),
        Axis(f"node {found.channel.home}", names=tuple(sides)),
        (
            Layer(Kind.BARS, (found.idle_mean, found.busy_mean), tuple(sides), "mean"),
            Layer(
                Kind.DOTS,
                tuple(rate for values in sides.values() for rate in values),
                tuple(name for name, values in sides.items() for _ in values),
                "turn",
            ),
        ),
    )


def _emulation(found: Emulation) -> Iterator[Block]:
    gone = [row.share for row in found.channels if not row.linked and row.share is not None]
    kept = [row.share for row in found.channels if row.linked and row.share is not None]
    if gone:
        text = f"Of channels that the {found.topology} lacks, {_range(gone)} is left"
        text += f"; of its own, {_range(kept)}" if kept else ""
        yield Finding(f"{text}, for one more generator on one channel at a time.")
    yield Table.of(
        found.channels,
        (
            Column("channel", lambda row: str(row.channel)),
            Column("generators", lambda row: row.generators or None),
            Column("before", lambda row: row.before, "B/s", common=True),
            Column("left", lambda row: row.after, "B/s", common=True),
            Column("share", lambda row: row.share, "%"),
            Column(f"in the {found.topology}", lambda row: "linked" if row.linked else ""),
        ),
        name="channels",
    )
    names = tuple(str(row.channel) for row in found.channels)
    yield Chart(
        "What one more generator gets on each channel, before and after the load.",
        Axis("bandwidth", "B/s", zero=True),
        Axis("channel", names=names),
        (
            *(
                Layer(
                    Kind.BARS,
                    tuple(row.after for row in found.channels if row.linked is linked),
                    tuple(str(row.channel) for row in found.channels if row.linked is linked),
                    f"left, {'' if linked else 'not '}linked in the {found.topology}",
                    stack="left",
                )
                for linked in (True, False)
            ),
            Layer(Kind.DOTS, tuple(row.before for row in found.channels), names, "before"),
        ),
    )


def _levels(levels: Sequence[Level], run: LoadedRun) -> Table:
    """Return the loads that were set, and what they carried while the program ran."""
    during = {str(each.channel): each.rate for each in run.during}
    return Table.of(
        levels,
        (
            Column("channel", lambda level: str(level.channel)),
            Column("generators", lambda level: level.count),
            Column("duty", lambda level: level.duty, "%"),
            Column("wanted", lambda level: level.wanted, "B/s", common=True),
            Column("reached", lambda level: level.reached, "B/s", common=True),
            Column("of what it carries", lambda level: level.share, "%"),
            Column(
                "during the run", lambda level: during.get(str(level.channel)), "B/s", common=True
            ),
        ),
        name="loads",
    )


def _range(shares: Sequence[float]) -> str:
    low, high = units.number(min(shares), "%"), units.number(max(shares), "%")
    return low if low == high else f"{low} to {high}"


def _change(found: Difference) -> str:
    low, high = found.interval
    if not math.isfinite(high - low):
        return f"{units.number(found.value, 'B/s')}, from too few measurements for an interval"
    value = units.number(found.value, "B/s", within=(low, high))
    return f"{value} (95 % interval {units.interval(low, high, 'B/s', value=found.value)})"


def _generators(count: int) -> str:
    return f"{count} generator{'s' * (count != 1)}"
