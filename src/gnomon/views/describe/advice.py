"""How advice on placement looks: what to change, why and how, what it saves, what was tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from gnomon import units
from gnomon.analysis.locality.result import Advice, Proposal
from gnomon.views import blocks as b
from gnomon.views.shared import counted


def describe(result: Advice) -> Iterator[b.Block]:
    """Yield what there is to see of advice, from the result alone."""
    names = ("thread", "node", "object", "run")
    about = ", ".join(counted(getattr(result, f"{name}s"), name) for name in names)
    least = units.brief(result.margin, "%")
    yield b.Headline(f"{result.program} on {result.machine}: {about}")
    if result.proposals:
        saved = units.brief(1 - result.after_ns / result.before_ns, "%")
        times = units.brief(result.speedup)
        text = f"With these proposals it is {times} times as fast and saves {saved} of the time."
    elif result.dropped:
        text = f"Keep the placement: no other place for its objects saves {least} of the time."
    else:
        text = "Keep the placement: no object has an obviously better place."
    yield b.Finding(text, b.Tone.GOOD)
    for each in result.proposals:
        text = (
            f"{each.action}: {each.thing.title}, {units.number(each.thing.size, 'B')}; by itself "
            f"it saves {units.brief(each.gain, '%')} of the time. What: {each.detail}. "
            f"Why: {each.why}."
        )
        yield b.Finding(text, b.Tone.BAD, each.remedy)
    yield _times(result)
    if result.proposals or result.alternatives or result.dropped:
        yield _bars(result)
    if result.alternatives:
        caption = "Each of these also helps, but another change to the same object helps more."
        yield b.Section("Alternatives")
        yield _table(result.alternatives, "alternatives", caption)
    if result.dropped:
        caption = f"Most of these save less than {least} of the time, or cost some."
        yield b.Section("Tried and rejected")
        yield _table(result.dropped, "dropped", caption)


def _times(result: Advice) -> b.Table:
    """Return the times with and without the proposals."""
    before = result.before_ns
    rows: list[tuple[str, float, float | None]] = [("unchanged", before, result.remote_before)]
    if result.proposals:
        rows.append(("as proposed", result.after_ns, result.remote_after))
    if result.proposals and result.unplaced_ns is not None:
        rows.append(("set up in parallel, pages not moved", result.unplaced_ns, None))
    return b.Table.of(
        rows,
        b.Column("program", itemgetter(0), flex=True),
        b.Column("time", itemgetter(1), "ns", common=True),
        b.Column("saved", lambda row: 1 - row[1] / before if row[1] != before else None, "%"),
        b.Column("from another node", itemgetter(2), "%", drop=1),
        name="times",
    )


def _bars(result: Advice) -> b.Chart:
    """Return the times of all that was tried."""
    bars = [("unchanged", "unchanged", result.before_ns)]
    if result.proposals:
        bars.append(("proposed", "all proposals", result.after_ns))
    words = ("proposed", "alternative", "rejected")
    groups = zip(words, (result.proposals, result.alternatives, result.dropped), strict=True)
    tried = [(word, each) for word, group in groups for each in group]
    for number, (word, each) in enumerate(tried, 1):  # names of objects may be alike
        bars.append((word, f"{number}. {each.action}: {each.thing.title}", each.time_ns))
    by_word: dict[str, list[tuple[str, str, float]]] = {}
    for bar in bars:
        by_word.setdefault(bar[0], []).append(bar)
    return b.Chart.of(
        "The simulated time of the program with each change by itself, and with all proposals.",
        b.Axis("simulated time", "ns", zero=True),
        b.Axis("change", names=tuple(name for _, name, _ in bars)),
        *(
            b.Layer.of(b.Kind.BARS, rows, itemgetter(2), itemgetter(1), word, stack="time")
            for word, rows in by_word.items()
        ),
    )


def _table(proposals: Sequence[Proposal], name: str, caption: str) -> b.Table:
    return b.Table.of(
        proposals,
        b.Column("change", "action.value"),
        b.Column("object", "thing.title", flex=True),
        b.Column("size", "thing.size", "B", drop=3),
        b.Column("time", "time_ns", "ns", common=True),
        b.Column("saves", "gain", "%", bar=True),
        b.Column("what", "detail", drop=4, flex=True),
        b.Column("why", drop=5, flex=True),
        b.Column("how", "remedy", drop=6, flex=True),
        b.Column("note", drop=2, flex=True),
        caption=caption,
        name=name,
    )
