"""How advice on placement looks: what to change, why and how, what it saves, what was tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.locality.result import Advice, Proposal


def describe(result: Advice) -> Iterator[b.Block]:
    """Yield what there is to see of advice, from the result alone."""
    counts = ((result.threads, "thread"), (result.nodes, "node"), (result.objects, "object"))
    about = ", ".join(_many(*each) for each in (*counts, (result.runs, "run")))
    yield b.Headline(f"{result.program} on {result.machine}: {about}")
    yield _outcome(result)
    for each in result.proposals:
        size = units.number(each.thing.size, "B")
        text = (
            f"{each.action}: {each.thing.title}, {size}; by itself it saves "
            f"{units.brief(each.gain, '%')} of the time. What: {each.detail}. Why: {each.why}."
        )
        yield b.Finding(text, b.Tone.BAD, each.remedy)
    yield from _times(result)
    if result.alternatives:
        yield b.Section("Other ways")
        yield _table(
            result.alternatives,
            "alternatives",
            "Each of these helps as well; another change of the same object helps more.",
        )
    if result.dropped:
        yield b.Section("Tried, and not proposed")
        least = units.brief(result.margin, "%")
        caption = f"Most of these save less than {least} of the time, or cost some."
        yield _table(result.dropped, "dropped", caption)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _outcome(result: Advice) -> b.Finding:
    """Return whether something should be changed."""
    if result.proposals:
        saved = units.brief(1 - result.after_ns / result.before_ns, "%")
        times = units.brief(result.speedup)
        return b.Finding(
            f"As proposed it is {times} times as fast: {saved} of the time is saved.", b.Tone.GOOD
        )
    why = "nothing points to a better place for its objects"
    if result.dropped:
        least = units.brief(result.margin, "%")
        why = f"no other place for its objects saves {least} of the time"
    return b.Finding(f"Leave it as it is: {why}.", b.Tone.GOOD)


def _times(result: Advice) -> Iterator[b.Block]:
    """Yield the times with and without the proposals, and those of all that was tried."""
    rows: list[tuple[str, float, float | None]] = [
        ("as it is", result.before_ns, result.remote_before)
    ]
    if result.proposals:
        rows.append(("as proposed", result.after_ns, result.remote_after))
    if result.proposals and result.unplaced_ns is not None:
        rows.append(("set up in parallel, pages where they are", result.unplaced_ns, None))
    yield b.Table.of(
        rows,
        (
            b.Column("program", lambda row: row[0], flex=True),
            b.Column("time", lambda row: row[1], "ns", common=True),
            b.Column(
                "saved",
                lambda row: 1 - row[1] / result.before_ns if row[1] != result.before_ns else None,
                "%",
            ),
            b.Column("lines from another node", lambda row: row[2], "%", drop=1),
        ),
        name="times",
    )
    groups = {
        "proposed": result.proposals,
        "other way": result.alternatives,
        "not proposed": result.dropped,
    }
    bars = [(word, each) for word, group in groups.items() for each in group]
    if not bars:
        return
    names = [f"{n}. {each.action}: {each.thing.title}" for n, (_, each) in enumerate(bars, 1)]
    layers = [b.Layer(b.Kind.BARS, (result.before_ns,), ("as it is",), "as it is", stack="time")]
    if result.proposals:
        layers.append(
            b.Layer(b.Kind.BARS, (result.after_ns,), ("all proposals",), "proposed", stack="time")
        )
    for word in groups:
        chosen = [
            (each.time_ns, name)
            for (given, each), name in zip(bars, names, strict=True)
            if given == word
        ]
        if chosen:
            times, at = zip(*chosen, strict=True)
            layers.append(b.Layer(b.Kind.BARS, times, at, word, stack="time"))
    first = ("as it is", "all proposals")[: 1 + bool(result.proposals)]
    yield b.Chart(
        "The simulated time of the program with each change by itself, and with all proposals.",
        b.Axis("simulated time", "ns", zero=True),
        b.Axis("change", names=(*first, *names)),
        tuple(layers),
    )


def _table(proposals: Sequence[Proposal], name: str, caption: str) -> b.Table:
    return b.Table.of(
        proposals,
        (
            b.Column("change", lambda each: each.action.value),
            b.Column(
                "object",
                lambda each: b.Cell(each.thing.title, hint=f"{each.thing.start:#x}"),
                flex=True,
            ),
            b.Column("size", lambda each: each.thing.size, "B", drop=3),
            b.Column("time", lambda each: each.time_ns, "ns", common=True),
            b.Column("saves", lambda each: each.gain, "%", bar=True),
            b.Column("what", lambda each: each.detail, drop=4, flex=True),
            b.Column("why", lambda each: each.why, drop=5, flex=True),
            b.Column("how", lambda each: each.remedy, drop=6, flex=True),
            b.Column("note", lambda each: each.note, drop=2, flex=True),
        ),
        caption=caption,
        name=name,
    )
