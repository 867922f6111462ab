"""How experiments on links look: a table and a sentence each, on a terminal and in a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import singledispatch
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.analysis.links.results import (
    CrossTalk,
    Difference,
    Emulation,
    IdleBusy,
    Level,
    Saturation,
)
from gnomon.stress.nodes import Channel
from gnomon.units import format_duration
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from gnomon.analysis.links.running import LoadedRun

Experiment = Saturation | CrossTalk | IdleBusy | Emulation


def print_experiment(result: Experiment, stream: TextIO) -> None:
    """Write what an experiment found."""
    experiment_table(result).print(stream)
    stream.write(f"\n  {experiment_text(result)}\n")


@singledispatch
def experiment_table(result: Experiment) -> Table:
    """Return the figures of an experiment."""
    raise TypeError(f"{type(result).__name__} is no experiment on links")


@singledispatch
def experiment_text(result: Experiment) -> str:
    """Return what an experiment says, in a sentence without its full stop."""
    raise TypeError(f"{type(result).__name__} is no experiment on links")


@experiment_table.register
def _(result: Saturation) -> Table:
    table = _numbers("generators", "GB/s", "each", "apart")
    for step in result.steps:
        table.add(
            str(step.count),
            gb(step.total),
            gb(step.total / step.count),
            f"{step.spread:.1%}" if step.count > 1 else "",
        )
    return table


@experiment_text.register
def _(result: Saturation) -> str:
    if result.at is None:
        most = result.steps[-1].count
        return (
            f"{result.channel} is not saturated by {most} generator{'s' * (most > 1)}: the "
            f"most is {gb(result.plateau)} GB/s so far"
        )
    return (
        f"{result.channel} carries {gb(result.plateau)} GB/s "
        f"({result.plateau / 2**30:.2f} GiB/s); {_generators(result.at)} "
        f"reach{'es' * (result.at == 1)} it"
        + (f", one reads {gb(result.single)} GB/s" if result.at > 1 else "")
    )


@experiment_table.register
def _(result: CrossTalk) -> Table:
    table = _numbers(f"generators on {result.channel.reverse}", f"GB/s on {result.channel}")
    for step in result.steps:
        table.add(str(step.count), gb(step.total))
    return table


@experiment_text.register
def _(result: CrossTalk) -> str:
    shape = "falls steadily" if result.monotone else "does not fall steadily"
    flat = (
        f"is flat from {result.flat_from} on" if result.flat_from is not None else "still changes"
    )
    return (
        f"{result.channel} with {_generators(result.forward)} {shape} and {flat}: "
        f"{interval(result.drop)} GB/s"
    )


@experiment_table.register
def _(result: IdleBusy) -> Table:
    table = Table((Column(f"node {result.channel.home}"), Column("GB/s", right=True)))
    table.add("idle", gb(_mean(result.idle)))
    table.add(
        f"{result.spinners} CPU{'s' * (result.spinners > 1)} wait busily", gb(_mean(result.busy))
    )
    table.add("difference", interval(result.difference))
    return table


@experiment_text.register
def _(result: IdleBusy) -> str:
    verdict = (
        "it makes a difference whether that node is busy"
        if result.difference.certain
        else "no difference that could be told from chance"
    )
    turns = len(result.idle)
    return (
        f"{result.channel} with {_generators(result.count)}, {turns} turn{'s' * (turns > 1)}: "
        f"{verdict}"
    )


@experiment_table.register
def _(result: Emulation) -> Table:
    table = Table(
        (
            Column("channel"),
            Column("generators", right=True),
            Column("before", right=True),
            Column("left", right=True),
            Column("share", right=True),
            Column(f"in the {result.topology}"),
        )
    )
    for channel, before in result.before.items():
        after = result.after[channel]
        table.add(
            str(channel),
            str(result.loads.get(channel, 0) or ""),
            gb(before),
            gb(after),
            f"{after / before:.0%}" if before else "",
            "" if channel in result.missing else "linked",
        )
    return table


@experiment_text.register
def _(_: Emulation) -> str:
    return "GB/s that one more generator gets on each channel, one at a time"


def levels_table(levels: Sequence[Level]) -> Table:
    """Return the loads that were set."""
    table = Table(
        (
            Column("channel"),
            Column("generators", right=True),
            Column("duty", right=True),
            Column("wanted GB/s", right=True),
            Column("reached", right=True),
            Column("of what it carries", right=True),
        )
    )
    for level in levels:
        table.add(
            str(level.channel),
            str(level.count),
            f"{level.duty:.0%}",
            gb(level.wanted),
            gb(level.reached),
            f"{level.reached / level.plateau:.0%}" if level.plateau else "",
        )
    return table


def run_lines(run: LoadedRun) -> list[str]:
    """Return how a program fared under load, a sentence each."""
    time = f"{' '.join(run.command)}: {format_duration(run.seconds * 1e9)} under load"
    if run.alone is not None:
        alone = format_duration(run.alone * 1e9)
        time += f", {alone} alone: {run.seconds / run.alone:.3f} times as long"
    return [
        time,
        *(
            f"{channel} carried {gb(rate)} GB/s of load meanwhile"
            for channel, rate in run.during.items()
        ),
    ]


def print_run(run: LoadedRun, stream: TextIO) -> None:
    """Write how a program fared under load."""
    stream.write("\n")
    stream.writelines(f"  {line}\n" for line in run_lines(run))


def result_as_json(result: Any) -> dict[str, Any]:
    """Return the result of an experiment; rates are bytes a second."""
    return dict(_plain(asdict(result)))


def levels_as_json(levels: Sequence[Level]) -> list[dict[str, Any]]:
    """Return the loads that were set."""
    return [result_as_json(level) for level in levels]


def _plain(value: Any) -> Any:
    if isinstance(value, Channel):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, frozenset):
        return sorted(str(each) for each in value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def interval(difference: Difference) -> str:
    """Return a difference with its interval, in GB/s."""
    if not math.isfinite(difference.low):
        return f"{difference.value / 1e9:+.3f}"
    return (
        f"{difference.value / 1e9:+.3f} (95 %: {difference.low / 1e9:+.3f} to "
        f"{difference.high / 1e9:+.3f})"
    )


def gb(rate: float) -> str:
    """Return bytes a second in 10^9, without a unit."""
    return f"{rate / 1e9:.2f}"


def _numbers(*headings: str) -> Table:
    return Table(tuple(Column(heading, right=True) for heading in headings))


def _generators(count: int) -> str:
    return f"{count} generator{'s' * (count != 1)}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
