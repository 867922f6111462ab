"""Listing events of sources, of other CPUs, and what is made of events; whether they fit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from gnomon.analysis.events.result import (
    EventRow,
    EventsResult,
    FitResult,
    Listed,
    Seat,
    Unplaceable,
)
from gnomon.errors import GnomonError, UnknownEventError, UsageError
from gnomon.events.event import Constraint, Event, Request
from gnomon.recording.contents import Provenance
from gnomon.sources.base import Availability, Source, Verdict, preset_table
from gnomon.sources.registry import local, source, sources

if TYPE_CHECKING:
    from gnomon.events.catalogue import ListedCatalogue
    from gnomon.events.planner import Fit, Plan

On = Source | str | Sequence[Source | str]


def events(
    pattern: str | None = None,
    *,
    on: On | None = None,
    available: bool = False,
    lists: str | None = None,
    cpu: str | None = None,
    fit: str | None = None,
    plan: bool = False,
    presets: bool = False,
    metrics: bool = False,
) -> EventsResult | FitResult:
    """List events, or say whether they fit on the counters together.

    `pattern` is a part of a name or description, a glob, or the name of one event, which is
    then explained and tried out. `available` leaves out what cannot be counted. `lists` is a
    folder of Intel's event lists or `libpfm:PMU`, for the CPU `cpu`, in place of a source.
    `fit` are events to be counted in one run; `plan` asks in how few runs all are counted.
    `presets` and `metrics` list what is made of events.

    >>> found = gn.events("DC_miss", on="niagara2")
    >>> [row.event for row in found.rows]
    ['DC_miss']
    """
    if on is not None:
        given = {"--from": lists is not None, "--cpu": cpu is not None, "--metrics": metrics}
        for option, there in given.items():
            if there:
                raise UsageError(f"{option} cannot be combined with --on: omit one of them.")
    if presets:
        return _presets(_one(on), pattern, available=available)
    if metrics:
        return _metrics(pattern)
    if cpu is not None and lists is None:
        raise UsageError("--cpu needs --from.")
    if fit is not None or plan:
        return _fit(lists, cpu, source(_one(on)) if lists is None else None, pattern, fit)
    if lists is not None:
        if available:
            raise UsageError(
                "--available tries events out here: it cannot be combined with --from."
            )
        return _of_lists(lists, cpu, pattern)
    return _of_sources(on, pattern, available=available)


def _of_sources(on: On | None, pattern: str | None, *, available: bool) -> EventsResult:
    asked = local() if on is None else sources(on)
    found = {each.name: _named(each, pattern) for each in asked} if pattern else {}
    explained = any(found.values())
    if not explained:
        found = {each.name: [*filter(_matcher(pattern), _all(each, pattern))] for each in asked}
    if not any(found.values()):
        raise GnomonError(f"no event matches '{pattern}': {_advice(pattern or '', asked[0], on)}")
    rows = [_row(event) for some in found.values() for event in some]
    if available or explained:
        tried = [each.availability(list(map(Request, found[each.name]))) for each in asked]
        rows = [_tried(verdict) for verdicts in tried for verdict in verdicts]
    refused = tuple(row for row in rows if available and not row.available)
    return EventsResult(
        tuple(row for row in rows if not available or row.available),
        origin=_origin(asked) if on is not None else "",
        tried=available or explained,
        refused=refused,
        explained=explained and not refused,
        provenance=Provenance(
            # The first speaks for a list with events of several sources.
            next(name for name, some in found.items() if some),
            simulated=on is not None and all(each.capabilities.simulated for each in asked),
        ),
    )


def _of_lists(lists: str, cpu: str | None, pattern: str | None) -> EventsResult:
    """List events of another CPU; one that is named exactly is shown in full."""
    catalogue = _catalogue(lists, cpu)
    found = [*filter(_matcher(pattern), catalogue)]
    with contextlib.suppress(UnknownEventError):
        found = list(catalogue.resolve(pattern)) if pattern else found
    if not found:
        near = catalogue.nearest(pattern or "")
        hint = f"did you mean {' or '.join(near)}?" if near else f"{catalogue.name} has none."
        raise GnomonError(f"no event matches '{pattern}': {hint}")
    return EventsResult(
        tuple(map(_row, found)),
        origin=catalogue.name,
        explained=len(found) == 1,
        provenance=Provenance(catalogue.name),
    )


def _presets(on: Source | str | None, pattern: str | None, *, available: bool) -> EventsResult:
    """List the portable names: what they mean, and from what they are counted here."""
    from gnomon.events.presets import Unavailable, known_presets, load_presets
    from gnomon.events.syntax import PREFIX

    counting = source(on)
    table = preset_table(counting, PREFIX) or load_presets()
    rows = []
    for name, info in known_presets().items():
        if pattern is not None and pattern.lower() not in name.lower():
            continue
        found = table.availability(name, lambda wanted: counting.resolve(wanted)[0])
        made_of, verdict, reason = "", Verdict.COUNTS, ""
        if isinstance(found, Unavailable):
            verdict, reason = Verdict.NOT_SUPPORTED, found.reason
        else:
            made_of = " ".join(event.name for event in found.operands)
            tried = counting.availability([Request(event) for event in found.operands])
            if bad := next((each for each in tried if not each.countable), None):
                verdict, reason = bad.verdict, bad.reason
        row = EventRow(name, info.description, formula=made_of, verdict=verdict, reason=reason)
        if row.available or not available:
            rows.append(row)
    origin = Provenance(counting.name, simulated=counting.capabilities.simulated)
    name = "" if on is None else origin.source
    return EventsResult(tuple(rows), Listed.PRESETS, name, tried=True, provenance=origin)


def _metrics(pattern: str | None) -> EventsResult:
    """List the metrics: what they say, their unit and their formula."""
    from gnomon.events.metrics import load_metrics

    wanted = (pattern or "").lower()
    rows = [
        EventRow(
            metric.name,
            metric.title,
            unit=metric.unit.text,
            formula=str(metric.formula),
            caveats=tuple(filter(None, (metric.description, *metric.caveats))),
        )
        for metric in load_metrics().metrics.values()
        if wanted in f"{metric.name} {metric.title}".lower()
    ]
    if not rows:
        raise GnomonError(f"no metric matches '{pattern}': omit the pattern to list them all.")
    return EventsResult(tuple(rows), Listed.METRICS)


def _fit(
    lists: str | None,
    cpu: str | None,
    counting: Source | None,
    pattern: str | None,
    fit: str | None,
) -> FitResult:
    """Answer whether events fit together, or in how few runs all that match are counted."""
    from gnomon.events.planner import explain_fit, plan
    from gnomon.events.syntax import parse_events
    from gnomon.sources.abilities import ExplainsFit

    catalogue = None if lists is None else _catalogue(lists, cpu)
    place = catalogue or counting
    assert place is not None
    simulated = counting is not None and counting.capabilities.simulated
    origin = Provenance(place.name, simulated=simulated)
    if fit is None:
        every = catalogue.events if catalogue is not None else place.events()  # type: ignore[operator]
        wanted = [Request(event) for event in filter(_matcher(pattern), every)]
        if catalogue is not None:
            return _planned(plan(wanted, *catalogue.pmus), origin)
        return _planned(counting.plan(wanted), origin)  # type: ignore[union-attr]
    requests = [each for group in parse_events(fit, place.resolve) for each in group]
    if catalogue is not None:
        return _fitting(explain_fit(requests, *catalogue.pmus), origin)
    if not isinstance(counting, ExplainsFit):
        raise UsageError(f"{place.name} counts all of its events in one run.")
    return _fitting(counting.explain_fit(requests), origin)


def _planned(found: Plan, origin: Provenance) -> FitResult:
    seats = tuple(_seats(batch.seats) for batch in found.batches)
    return FitResult(
        len({seat.request for batch in found.batches for seat in batch.seats}),
        len(seats),
        found.lower_bound,
        seats,
        (found.bound_reason,) if found.bound_reason else (),
        unplaceable=tuple(Unplaceable(u.request.label, u.reason) for u in found.unplaceable),
        provenance=origin,
    )


def _fitting(found: Fit, origin: Provenance) -> FitResult:
    seats = () if found.batch is None else (_seats(found.batch.seats),)
    return FitResult(
        len(found.requests),
        found.batches,
        found.batches,
        seats,
        found.reasons,
        found.remedies,
        together=True,
        provenance=origin,
    )


def _seats(some: Iterable[object]) -> tuple[Seat, ...]:
    return tuple(Seat(each.request.label, str(each.counter or "")) for each in some)  # type: ignore[attr-defined]


# ---- events ---------------------------------------------------------------------------------


def _row(event: Event) -> EventRow:
    same = ("description", "aliases", "unit", "scale", "encoding", "fields", "caveats", "errata")
    return EventRow(
        event.name,
        kind=event.kind,
        scope=event.scope,
        constraint=None if event.constraint == Constraint() else event.constraint,
        deprecated=event.deprecated,
        **{name: getattr(event, name) for name in same},
    )


def _tried(verdict: Availability) -> EventRow:
    from dataclasses import replace

    return replace(
        _row(verdict.event),
        verdict=verdict.verdict,
        reason=verdict.reason,
        remedy=verdict.remedy,
        value=verdict.value,
    )


def _catalogue(lists: str, cpu: str | None) -> ListedCatalogue:
    from gnomon.events.catalogue import ListedCatalogue

    return ListedCatalogue.open(lists, cpu)


def _one(on: On | None) -> Source | str | None:
    """Return the only source that was named."""
    if on is None or isinstance(on, str) or not isinstance(on, Sequence):
        return on
    if len(on) != 1:
        raise UsageError("counters are those of one source: name one with --on.")
    return on[0]


def _origin(asked: Iterable[Source]) -> str:
    return ", ".join(each.name for each in asked)


def _named(counting: Source, name: str) -> list[Event]:
    try:
        return list(counting.resolve(name))
    except GnomonError:
        return []


def _all(counting: Source, pattern: str | None) -> list[Event]:
    from gnomon.events.kernel import may_name_tracepoints
    from gnomon.sources.abilities import HasTracepoints

    found = list(counting.events())
    if pattern and may_name_tracepoints(pattern) and isinstance(counting, HasTracepoints):
        found += counting.tracepoints()
    return found


def _matcher(pattern: str | None) -> Callable[[Event], bool]:
    """Return what tells whether an event's name, an alias or its description fits."""
    wanted = (pattern or "").lower()
    glob = any(c in wanted for c in "*?[")

    def matches(event: Event) -> bool:
        names = [event.name.lower(), *(alias.lower() for alias in event.aliases)]
        if glob:
            return any(fnmatchcase(name, wanted) for name in names)
        return any(wanted in text for text in (*names, event.description.lower()))

    return matches


def _advice(pattern: str, first: Source, on: On | None) -> str:
    from gnomon.events.tomlfile import nearest

    close: Sequence[str] = ()
    try:
        first.resolve(pattern)
    except UnknownEventError as error:
        close = error.suggestions
    close = close or nearest(pattern, [event.name for event in first.events()])
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"`gnomon events{f' --on {on}' if isinstance(on, str) else ''}` lists them all."
