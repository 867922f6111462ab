"""How advice on placement looks: what to change, why and how, what it saves, what was tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from gnomon import units
from gnomon.analysis.locality.result import Advice, Proposal
from gnomon.views import blocks as b


def describe(result: Advice) -> Iterator[b.Block]:
    """Yield what there is to see of advice, from the result alone."""
    counts = {name: getattr(result, f"{name}s") for name in ("thread", "node", "object", "run")}
    about = ", ".join(f"{count:,} {name}{'s' * (count != 1)}" for name, count in counts.items())
    least = units.brief(result.margin, "%")
    yield b.Headline(f"{result.program} on {result.machine}: {about}")
    if result.proposals:
        saved = units.brief(1 - result.after_ns / result.before_ns, "%")
        times = units.brief(result.speedup)
        text = f"As proposed it is {times} times as fast: {saved} of the time is saved."
    elif result.dropped:
        text = f"Leave it as it is: no other place for its objects saves {least} of the time."
    else:
        text = "Leave it as it is: nothing points to a better place for its objects."
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
        caption = "Each of these helps as well; another change of the same object helps more."
        yield b.Section("Other ways")
        yield _table(result.alternatives, "alternatives", caption)
    if result.dropped:
        caption = f"Most of these save less than {least} of the time, or cost some."
        yield b.Section("Tried, and not proposed")
        yield _table(result.dropped, "dropped", caption)


def _times(result: Advice) -> b.Table:
    """Return the times with and without the proposals."""
    before = result.before_ns
    rows: list[tuple[str, float, float | None]] = [("as it is", before, result.remote_before)]
    if result.proposals:
        rows.append(("as proposed", result.after_ns, result.remote_after))
    if result.proposals and result.unplaced_ns is not None:
        rows.append(("set up in parallel, pages where they are", result.unplaced_ns, None))
    return b.Table.of(
        rows,
        b.Column("program", itemgetter(0), flex=True),
        b.Column("time", itemgetter(1), "ns", common=True),
        b.Column("saved", lambda row: 1 - row[1] / before if row[1] != before else None, "%"),
        b.Column("lines from another node", itemgetter(2), "%", drop=1),
        name="times",
    )


def _bars(result: Advice) -> b.Chart:
    """Return the times of all that was tried."""
    bars = [("as it is", "as it is", result.before_ns)]
    if result.proposals:
        bars.append(("proposed", "all proposals", result.after_ns))
    groups = {
        "proposed": result.proposals,
        "other way": result.alternatives,
        "not proposed": result.dropped,
    }
    tried = [(word, each) for word, group in groups.items() for each in group]
    for number, (word, each) in enumerate(tried, 1):  # names of objects may be alike
        bars.append((word, f"{number}. {each.action}: {each.thing.title}", each.time_ns))
    return b.Chart(
        "The simulated time of the program with each change by itself, and with all proposals.",
        b.Axis("simulated time", "ns", zero=True),
        b.Axis("change", names=tuple(name for _, name, _ in bars)),
        tuple(
            b.Layer(
                b.Kind.BARS,
                tuple(time for kind, _, time in bars if kind == word),
                tuple(name for kind, name, _ in bars if kind == word),
                word,
                stack="time",
            )
            for word in dict.fromkeys(word for word, _, _ in bars)
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
