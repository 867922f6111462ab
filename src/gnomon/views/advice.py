"""How advice on placement looks in a terminal and as JSON."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.units import format_bytes, format_duration
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.analysis.locality.advisor.result import Advice, Proposal
    from gnomon.analysis.locality.advisor.trials import Progress

_WIDTH = 96


def print_advice(advice: Advice, stream: TextIO) -> None:
    """Write what to change, why, how, and what each change saves."""
    stream.write(f"SIMULATED {advice.program} on {advice.machine}: {about(advice)}\n\n")
    stream.writelines(f"  {line}\n" for line in time_lines(advice))
    for number, proposal in enumerate(advice.proposals, 1):
        stream.write(f"\n  {number}. {headline(proposal)}\n")
        stream.writelines(
            f"     {label:<5}{_wrapped(text)}\n"
            for label, text in (
                ("what", proposal.detail),
                ("why", proposal.why),
                ("how", proposal.remedy),
            )
        )
    _print_table("other ways that help as well", advice.alternatives, stream)
    _print_table("tried, and not proposed", advice.dropped, stream)


def about(advice: Advice) -> str:
    """Return in a line what was run how often."""
    return (
        f"{_many(advice.threads, 'thread')} on {_many(advice.nodes, 'node')}, "
        f"{_many(advice.objects, 'object')}, {_many(advice.runs, 'run')}"
    )


def time_lines(advice: Advice) -> list[str]:
    """Return the times with and without the proposals, and what the difference is."""
    lines = [f"as it is  {format_duration(advice.before_ns)}, {_remote(advice.remote_before)}"]
    if not advice.proposals:
        why = "nothing points to a better place for its objects"
        if advice.dropped:
            why = f"no other place for its objects saves {advice.margin:.0%} of the time"
        return [*lines, f"leave it as it is: {why}"]
    saved = 1 - advice.after_ns / advice.before_ns
    lines.append(
        f"proposed  {format_duration(advice.after_ns)}, {_remote(advice.remote_after)}: "
        f"{advice.speedup:.3g} times as fast, {saved:.1%} of the time saved"
    )
    if advice.unplaced_ns is not None:
        alone = 1 - advice.unplaced_ns / advice.before_ns
        lines.append(
            f"          {format_duration(advice.unplaced_ns)} if threads set up in parallel and "
            f"pages stayed where they are: {alone:.1%} of the time saved"
        )
    return lines


def headline(proposal: Proposal) -> str:
    """Return a proposal in a few words, with what it saves by itself."""
    thing = proposal.thing
    return (
        f"{proposal.action}: {thing.title}, {format_bytes(thing.size)}; "
        f"by itself it saves {proposal.gain:.1%} of the time"
    )


def _wrapped(text: str) -> str:
    return f"\n{'':10}".join(textwrap.wrap(text, _WIDTH - 10))


def _remote(share: float) -> str:
    return f"{share:.1%} of all lines from another node"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _print_table(title: str, proposals: Sequence[Proposal], stream: TextIO) -> None:
    if not proposals:
        return
    columns = [Column("change"), Column("object"), Column("time", True), Column("saves", True)]
    table = Table((*columns, Column("")))
    for each in proposals:
        table.add(
            str(each.action),
            each.thing.title,
            format_duration(each.time_ns),
            f"{each.gain:.1%}",
            each.note,
        )
    stream.write(f"\n  {title}\n")
    table.print(stream)


def advice_as_json(advice: Advice) -> dict[str, Any]:
    """Return advice in the form that scripts read; times are in nanoseconds."""
    return {
        "program": advice.program,
        "machine": advice.machine,
        "nodes": advice.nodes,
        "threads": advice.threads,
        "objects": advice.objects,
        "runs": advice.runs,
        "margin": advice.margin,
        "before": advice.before_ns,
        "after": advice.after_ns,
        "set_up_only": advice.unplaced_ns,
        "speedup": advice.speedup,
        "remote_before": advice.remote_before,
        "remote_after": advice.remote_after,
        "exit_status": advice.exit_status,
        "proposals": [_proposal(each) for each in advice.proposals],
        "alternatives": [_proposal(each) for each in advice.alternatives],
        "dropped": [_proposal(each) for each in advice.dropped],
    }


def _proposal(proposal: Proposal) -> dict[str, Any]:
    thing = proposal.thing
    return {
        "action": str(proposal.action),
        "object": {
            "name": thing.name,
            "kind": str(thing.kind),
            "where": thing.where,
            "start": thing.start,
            "size": thing.size,
        },
        "what": proposal.detail,
        "why": proposal.why,
        "how": proposal.remedy,
        "time": proposal.time_ns,
        "gain": proposal.gain,
        "note": proposal.note,
    }


@contextmanager
def advice_bar() -> Iterator[Progress | None]:
    """Show on a terminal which run goes on, and yield what moves the bar on."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("starts", total=None)

        def show(text: str, done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, description=text)

        yield show
