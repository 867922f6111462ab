"""List events, look one up, see which can be counted here, or which fit together.

PATTERN is a part of a name or description, or a glob such as 'LLC-*'. With --available
every event is tried out: only those that counted known work are listed. A pattern that
names exactly one event shows all that is known of it. Tracepoints, being thousands, are
listed when the pattern has a colon, as in 'sched:*'.

With --from the events come from a folder of Intel's event lists, or from libpfm4 for any
CPU it knows, instead of from this host. --fit tells whether events can be counted
together and why not; --plan in how few runs all of them can be counted.

examples:
  gnomon events
  gnomon events --available
  gnomon events cache
  gnomon events 'sched:*switch*'
  gnomon events page-faults
  gnomon events valgrind::
  gnomon events --presets
  gnomon events --metrics
  gnomon events --on niagara2 miss
  gnomon events --from perfmon --cpu ICX L3_MISS
  gnomon events --from libpfm:skx --fit INST_RETIRED:ANY_P,L2_RQSTS:MISS
  gnomon events --from perfmon --cpu SPR --plan
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gnomon.cli.options import add_on_option
from gnomon.errors import GnomonError, UnknownEventError, UsageError
from gnomon.events.catalogue import ListedCatalogue
from gnomon.events.event import Event, Request
from gnomon.events.kernel import may_name_tracepoints
from gnomon.events.metrics import load_metrics
from gnomon.events.planner import explain_fit, plan
from gnomon.events.presets import Unavailable, known_presets, load_presets
from gnomon.events.syntax import PREFIX, parse_events
from gnomon.sources.abilities import ExplainsFit, HasTracepoints
from gnomon.sources.base import Availability, Source, preset_table
from gnomon.sources.registry import local, source, sources
from gnomon.views.envelope import envelope
from gnomon.views.events import event_as_json, print_event, print_events, print_known
from gnomon.views.planning import (
    metric_as_json,
    presets_as_json,
    print_metric_list,
    print_plan,
    print_presets,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon events`."""
    parser.add_argument("pattern", nargs="?", help="part of a name or description, or a glob")
    parser.add_argument("--available", action="store_true", help="only what counts here, proved")
    parser.add_argument("--from", dest="lists", metavar="LISTS", help="folder, or libpfm:PMU")
    add_on_option(parser, "of which source, several with commas: host,laptop")
    parser.add_argument("--cpu", help="the CPU to take from the lists, as in ICX")
    parser.add_argument("--fit", metavar="EVENTS", help="do these fit together, and why not?")
    parser.add_argument("--plan", action="store_true", help="in how few runs all are counted")
    parser.add_argument("--metrics", action="store_true", help="metrics and their formulas")
    parser.add_argument("--presets", action="store_true", help="portable names and their meaning")


def run(options: argparse.Namespace) -> int:
    """List the events; 1 when none fits the pattern or they do not fit together."""
    if options.on is not None:
        _refuse_with_source(options)
    if options.presets:
        return _presets(options)
    if options.metrics:
        return _metrics(options)
    if options.fit is not None or options.plan:
        return _fit(options)
    if options.lists is not None:
        return _listed(options)
    if options.cpu is not None:
        raise UsageError("--cpu chooses from lists: give --from as well.")
    asked = local() if options.on is None else sources(options.on)
    exact = {s.name: _named(s, options.pattern) for s in asked} if options.pattern else {}
    if not any(exact.values()):
        exact = {}
    found = exact or {
        s.name: [e for e in _all(s, options.pattern) if matches(e, options.pattern)] for s in asked
    }
    events = [event for some in found.values() for event in some]
    if not events:
        raise GnomonError(f"no event matches '{options.pattern}': {_advice(options)}")
    verdicts: list[Availability] | None = None
    if options.available or exact:
        verdicts = [
            verdict
            for each in asked
            for verdict in each.availability([Request(event) for event in found[each.name]])
        ]
    if options.available and verdicts is not None:
        hidden = [v for v in verdicts if not v.countable]
        verdicts = [v for v in verdicts if v.countable]
        events = [v.event for v in verdicts]
    else:
        hidden = []
    if options.json:
        known = {verdict.event.name: verdict for verdict in verdicts or ()}
        rows = [event_as_json(event, known.get(event.name)) for event in events]
        # The first speaks for a list with events of several sources.
        name = next(name for name, some in found.items() if some)
        print(envelope("events", rows, source=name, simulated=_simulated(options, asked)))
    elif exact and verdicts:
        _print_label(options, asked)
        for verdict in verdicts:
            print_event(verdict, sys.stdout)
    else:
        _print_label(options, asked)
        print_events(events, verdicts, hidden, sys.stdout)
    return 0 if events else 1


def _refuse_with_source(options: argparse.Namespace) -> None:
    """Complain about options that choose what is listed in another way."""
    given = {
        "--from": options.lists is not None,
        "--cpu": options.cpu is not None,
        "--metrics": options.metrics,
    }
    for option, there in given.items():
        if there:
            raise UsageError(f"{option} does not go with --on: leave one of them out.")


def _simulated(options: argparse.Namespace, asked: Sequence[Source]) -> bool:
    """Whether what was asked for is simulated; this host, with what runs on it, is not."""
    return options.on is not None and all(each.capabilities.simulated for each in asked)


def _print_label(options: argparse.Namespace, asked: Sequence[Source]) -> None:
    """Say which machine it is that is simulated."""
    if _simulated(options, asked):
        print(f"SIMULATED {options.on}\n")


def _listed(options: argparse.Namespace) -> int:
    """List events of another CPU; one that is named exactly is shown in full."""
    if options.available:
        raise UsageError("--available tries events out on this host: it does not go with --from.")
    catalogue = ListedCatalogue.open(options.lists, options.cpu)
    events = [event for event in catalogue if matches(event, options.pattern)]
    with contextlib.suppress(UnknownEventError):
        events = list(catalogue.resolve(options.pattern)) if options.pattern else events
    if not events:
        near = catalogue.nearest(options.pattern)
        hint = f"did you mean {' or '.join(near)}?" if near else f"{catalogue.name} has none."
        raise GnomonError(f"no event matches '{options.pattern}': {hint}")
    if options.json:
        rows = [event_as_json(event, None) for event in events]
        print(envelope("events", rows, source=catalogue.name))
    elif len(events) == 1:
        print_known(events[0], sys.stdout)
    else:
        print_events(events, None, [], sys.stdout)
        print(f"\n{len(events):,} events of {catalogue.name}")
    return 0


def _fit(options: argparse.Namespace) -> int:
    """Answer whether events fit together, or in how few runs all of a CPU's are counted."""
    listed = ListedCatalogue.open(options.lists, options.cpu) if options.lists else None
    if listed is not None:
        asked, resolve = listed.events, listed.resolve
    else:
        counting = source(options.on)
        asked, resolve = tuple(counting.events()), counting.resolve
    if options.plan:
        wanted = [Request(event) for event in asked if matches(event, options.pattern)]
        found = counting.plan(wanted) if listed is None else plan(wanted, *listed.pmus)
        return print_plan(found, sys.stdout, json=options.json)
    requests = [request for group in parse_events(options.fit, resolve) for request in group]
    if listed is not None:
        fit = explain_fit(requests, *listed.pmus)
    elif isinstance(counting, ExplainsFit):
        fit = counting.explain_fit(requests)
    else:
        raise UsageError(f"{counting.name} counts all of its events in one run.")
    if options.json:
        results = {
            "fits": fit.fits,
            "reasons": list(fit.reasons),
            "remedies": list(fit.remedies),
            "batches": fit.batches,
        }
        print(envelope("events", results, source=options.lists or options.on or "host"))
    else:
        print(fit.text)
    return 0 if fit.fits else 1


def _presets(options: argparse.Namespace) -> int:
    """List the portable names: what they mean, and from what this host counts them."""
    counting = source(options.on)
    table = preset_table(counting, PREFIX) or load_presets()
    rows = []
    for name, info in known_presets().items():
        if not (options.pattern is None or options.pattern.lower() in name.lower()):
            continue
        found = table.availability(name, lambda wanted: counting.resolve(wanted)[0])
        operands: tuple[Event, ...] = ()
        reason = found.reason if isinstance(found, Unavailable) else ""
        if not isinstance(found, Unavailable):
            operands = found.operands
            tried = counting.availability([Request(event) for event in operands])
            reason = next((v.reason for v in tried if not v.countable), "")
        if reason and options.available:
            continue
        rows.append((name, info.description, operands, reason))
    if options.json:
        results = [presets_as_json(*row) for row in rows]
        simulated = counting.capabilities.simulated
        print(envelope("events", results, source=counting.name, simulated=simulated))
    else:
        _print_label(options, [counting])
        print_presets(rows, sys.stdout)
    return 0 if rows else 1


def _metrics(options: argparse.Namespace) -> int:
    """List the metrics: what they say, their unit and their formula."""
    table = load_metrics()
    wanted = (options.pattern or "").lower()
    found = [m for m in table.metrics.values() if wanted in f"{m.name} {m.title}".lower()]
    if not found:
        raise GnomonError(f"no metric matches '{options.pattern}': leave the pattern away.")
    if options.json:
        print(envelope("events", [metric_as_json(metric) for metric in found]))
    else:
        print_metric_list(found, sys.stdout)
    return 0


def _named(source: Source, name: str) -> list[Event]:
    try:
        return list(source.resolve(name))
    except GnomonError:
        return []


def _all(source: Source, pattern: str | None) -> list[Event]:
    events = list(source.events())
    if pattern and may_name_tracepoints(pattern) and isinstance(source, HasTracepoints):
        events += source.tracepoints()
    return events


def matches(event: Event, pattern: str | None) -> bool:
    """Whether an event's name, an alias or its description fits the pattern."""
    if not pattern:
        return True
    wanted = pattern.lower()
    names = [event.name.lower(), *(alias.lower() for alias in event.aliases)]
    if any(c in wanted for c in "*?["):
        return any(fnmatchcase(name, wanted) for name in names)
    return any(wanted in text for text in (*names, event.description.lower()))


def _advice(options: argparse.Namespace) -> str:
    from gnomon.events.tomlfile import nearest

    first = sources(options.on)[0]
    close: Sequence[str] = ()
    try:
        first.resolve(options.pattern)
    except UnknownEventError as error:
        close = error.suggestions
    close = close or nearest(options.pattern, [event.name for event in first.events()])
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"`gnomon events{f' --on {options.on}' if options.on else ''}` lists them all."
