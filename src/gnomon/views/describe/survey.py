"""How a survey looks: what matters, ranked; what was folded away; how much the runs varied."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import units
from gnomon.analysis.survey.result import SurveyResult, SurveyRow
from gnomon.views import blocks as b
from gnomon.views.shared import bars, counted, some

_FOLDS = {
    "zero": "zero",
    "constant": "constant",
    "same": "redundant",
    "noisy": "too noisy",
    "missing": "not counted",
}
_SHOWN = 24
_BARS = 15
_NAMED = 4
_FEW = 6  # events on a screen, where wall time comes first
_COMPUTES = 0.5  # share of time on a CPU, from which events are worth a claim
_LEAST = 0.05
_MOST = 4  # findings
_WORTH_NAMING = 0.01
_SHARES = (
    "Estimated share of the program's time, from typical costs per event: a ranking, not a "
    "measurement."
)


def describe(result: SurveyResult) -> Iterator[b.Block]:
    """Yield what there is to see of a survey, from the result alone."""
    if result.time is None:
        yield b.Headline(_title(result), tuple(_lines(result)))
        yield from _claims(result)
    else:
        from gnomon.views.describe import time

        yield from time.opening(result.time, _nearby(result.recording))
        if len(result.time.findings) < _MOST:
            yield from _claims(result)
        yield from time.hottest(result.time)
        yield b.Section("; ".join([f"Events of {_title(result)}", *_lines(result)]))
    most = _SHOWN if result.time is None else _FEW
    yield b.Table.of(result.ranked, *_columns(result), most=most, name="events")
    yield from _folds(result)
    yield from _left_out(result)
    costly = [row for row in result.ranked if row.share is not None]
    if costly:
        whole = "time" if result.time is None else "CPU time"
        if result.time is None:
            yield b.Text("share: estimated from typical costs, for ranking; not measured")
        axis = b.Axis(f"estimated share of {whole}", "%", zero=True)
        yield bars(_SHARES, axis, [(row.event, row.share) for row in costly[:_BARS]])
    if result.time is not None:
        yield from time.details(result.time)
        yield time.trust(result.time, counted(len(result.runs), "run"))
    if len(result.runs) > 2:
        yield b.Section("Run-to-run variation")
        yield from _durations(result)


def _claims(result: SurveyResult) -> Iterator[b.Block]:
    """Yield the event that costs most, where the time on a CPU is what there is to save."""
    costly = [row for row in result.ranked if row.share is not None]
    if result.time is not None:
        # What a simulated cache costs is not measured, and no claim on this machine.
        costly = [row for row in costly if not row.simulated]
        if result.time.on_cpu < _COMPUTES or not costly or (costly[0].share or 0) < _LEAST:
            return
    if costly:
        share = units.number(costly[0].share, "%")
        where = "of the simulated run" if result.provenance.simulated else "of the time"
        where = where if result.time is None else "of the CPU time"
        text = f"{costly[0].event} accounts for about {share} {where}, by typical costs."
        if (costly[0].share or 0) < _WORTH_NAMING:
            text = f"No event accounts for 1 % {where}, by typical costs."
        yield b.Finding(text)


def _left_out(result: SurveyResult) -> Iterator[b.Block]:
    if result.left_out:
        yield b.Text(f"Not counted: {result.left_out}; --all counts them.", b.Tone.FAINT)


def _folds(result: SurveyResult) -> Iterator[b.Block]:
    """Yield what was folded away: a fold for each reason, or all in one below an account."""
    found: list[tuple[str, int, b.Table]] = []
    names: list[str] = []
    for reason, title in _FOLDS.items():
        rows = [row for row in result.folded if row.folded == reason]
        if rows:
            columns = (
                b.Column("event"),
                b.Column("why", "reason"),
                b.Column("what it counts", "description", flex=True, drop=1),
            )
            table = b.Table.of(rows, *columns, name=reason)
            found.append((title, len(rows), table))
            names.append(f"{len(rows)} {title}: {some([row.event for row in rows], _NAMED)}")
    if result.time is None:
        yield from (
            b.Fold(name, (table,)) for name, (_, _, table) in zip(names, found, strict=True)
        )
    elif found:
        total = sum(count for _, count, _ in found)
        why = ", ".join(f"{count} {title}" for title, count, _ in found)
        yield b.Fold(
            f"{counted(total, 'more event')} ({why})", tuple(table for _, _, table in found)
        )


def _nearby(path: str) -> str:
    """Return the last part of a path: what a user types where the recording was made."""
    return path.rpartition("/")[2]


def _title(result: SurveyResult) -> str:
    origin = result.provenance
    counting = [run for run in result.runs if result.time is None or result.origin_of(run)]
    runs, batches = counted(len(counting), "run"), len(origin.plan)
    if result.time is None and batches > 1 and origin.repeat:
        runs += f" ({batches} batches × {origin.repeat})"
    events = sum(result.origins.values())
    return (
        f"{' '.join(origin.command) or origin.target or 'a recording'}: {events} events in {runs}"
    )


def _lines(result: SurveyResult) -> list[str]:
    return [*_notes(result)]


def _notes(result: SurveyResult) -> Iterator[str]:
    if result.one_run:
        yield "events took turns in one run, so their values are estimated"
    titles = {source.name: source.title for source in result.sources}
    for origin, count in result.origins.items():
        yield f"{count} from {titles.get(origin, origin)}"
    if result.elapsed is not None and result.time is None:
        yield f"{units.brief(result.elapsed, 'ns')} elapsed on average, in runs without slowdown"
    if not result.complete:
        made = f"{len(result.runs)} of {result.planned} runs made"
        yield f"{made}: --resume continues"


def _columns(result: SurveyResult) -> tuple[b.Column | None, ...]:
    sources = {
        source.name: b.Cell(source.word + " (simulated)" * source.own_time, hint=source.title)
        for source in result.sources
    }
    several = len(result.origins) > 1
    share = "share" if result.time is None else "estimated share"

    def source_of(row: SurveyRow) -> b.Cell:
        return sources.get(row.origin) or b.Cell(row.origin)

    return (
        b.Column("event", lambda row: b.Cell(row.event, hint="; ".join(row.caveats))),
        b.Column("mean", _mean, interval="90 % interval"),
        b.Column("spread", "spread", "±", drop=3),
        b.Column(share, lambda row: b.Cell(row.share, hint=row.basis), "%", bar=True),
        b.Column("with time", "correlation", "r", drop=4),
        b.Column("source", source_of, drop=5) if several else None,
        b.Column("what it counts", "description", flex=True, drop=2),
    )


def _mean(row: SurveyRow) -> b.Cell:
    low, high = row.interval or (None, None)
    return b.Cell(row.mean, row.unit, low, high, str(row.status), hint="; ".join(row.caveats))


def _durations(result: SurveyResult) -> Iterator[b.Chart]:
    """Yield the durations of runs, a chart for each source: those of valgrind dwarf the others."""
    held: dict[str, list[tuple[float, float]]] = {}
    for place, run in enumerate(sorted(result.runs, key=lambda run: run.start), 1):
        point = float(place), float(run.end - run.start)
        held.setdefault(result.origin_of(run), []).append(point)
    for origin, points in held.items():
        numbers, times = zip(*points, strict=True)
        which = f" by {origin}" if len(held) > 1 else ""
        yield b.Chart.of(
            f"Duration of each run{which}, in order; a slope means that the "
            "machine changed while the survey ran.",
            b.Axis("run, in order"),
            b.Axis("duration", "ns", zero=True),
            b.Layer(b.Kind.DOTS, numbers, times),
        )
