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
from fnmatch import fnmatchcase

from gnomon.cli.simulated import cluster_source
from gnomon.errors import GnomonError, UnknownEventError, UsageError
from gnomon.events.catalogue import ListedCatalogue
from gnomon.events.event import Event, Request
from gnomon.events.kernel import may_name_tracepoints
from gnomon.events.metrics import load_metrics
from gnomon.events.planner import explain_fit, plan
from gnomon.events.presets import Unavailable, known_presets, load_presets
from gnomon.events.syntax import PREFIX, parse_events
from gnomon.sources import local_sources
from gnomon.sources.base import Availability, Source, preset_table
from gnomon.sources.perf import PerfSource
from gnomon.sources.perf.counters import planner_units, seated
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
    parser.add_argument("--on", metavar="MACHINE", help="events of a simulated machine")
    parser.add_argument("--cpu", help="the CPU to take from the lists, as in ICX")
    parser.add_argument("--fit", metavar="EVENTS", help="do these fit together, and why not?")
    parser.add_argument("--plan", action="store_true", help="in how few runs all are counted")
    parser.add_argument("--metrics", action="store_true", help="metrics and their formulas")
    parser.add_argument("--presets", action="store_true", help="portable names and their meaning")


def run(options: argparse.Namespace) -> int:
    """List the events; 1 when none fits the pattern or they do not fit together."""
    if options.on is not None:
        _refuse_with_machine(options)
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
    sources = local_sources() if options.on is None else _simulated(options)
    exact = {s.name: _named(s, options.pattern) for s in sources} if options.pattern else {}
    if not any(exact.values()):
        exact = {}
    found = exact or {
        s.name: [e for e in _all(s, options.pattern) if matches(e, options.pattern)]
        for s in sources
    }
    events = [event for some in found.values() for event in some]
    if not events:
        raise GnomonError(f"no event matches '{options.pattern}': {_advice(options)}")
    verdicts: list[Availability] | None = None
    if options.available or exact:
        verdicts = [
            verdict
            for source in sources
            for verdict in source.availability([Request(event) for event in found[source.name]])
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
        # perf speaks for a list with events of several sources.
        name = next(name for name, some in found.items() if some)
        print(envelope("events", rows, source=name, simulated=options.on is not None))
    elif exact and verdicts:
        _print_label(options)
        for verdict in verdicts:
            print_event(verdict, sys.stdout)
    else:
        _print_label(options)
        print_events(events, verdicts, hidden, sys.stdout)
    return 0 if events else 1


def _refuse_with_machine(options: argparse.Namespace) -> None:
    """Complain about options that are about the host or about real CPUs."""
    given = {
        "--from": options.lists is not None,
        "--cpu": options.cpu is not None,
        "--fit": options.fit is not None,
        "--plan": options.plan,
        "--metrics": options.metrics,
    }
    for option, there in given.items():
        if there:
            raise UsageError(f"{option} does not go with --on: leave one of them out.")


def _simulated(options: argparse.Namespace) -> list[Source]:
    """Return the simulated machine whose events are asked for, in a list of one."""
    from gnomon.sources.machine import MachineSource

    return [cluster_source(options) or MachineSource(options.on)]


def _print_label(options: argparse.Namespace) -> None:
    """Say which machine it is that is simulated."""
    if options.on is not None:
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
    if options.lists is not None:
        listed = ListedCatalogue.open(options.lists, options.cpu)
        events, resolve, pmus = listed.events, listed.resolve, listed.pmus
    else:
        host = PerfSource()
        events, resolve, pmus = tuple(host.events()), host.resolve, planner_units(host)
    if options.plan:
        wanted = [event for event in events if matches(event, options.pattern)]
        return print_plan(plan(wanted, *pmus), sys.stdout, json=options.json)
    groups = parse_events(options.fit, resolve)
    requests = [request for group in groups for request in group]
    if options.lists is None:
        requests = [Request(seated(r.event), r.modifiers) for r in requests]
    fit = explain_fit(requests, *pmus)
    if options.json:
        results = {
            "fits": fit.fits,
            "reasons": list(fit.reasons),
            "remedies": list(fit.remedies),
            "batches": fit.batches,
        }
        print(envelope("events", results, source=options.lists or "perf"))
    else:
        print(fit.text)
    return 0 if fit.fits else 1


def _presets(options: argparse.Namespace) -> int:
    """List the portable names: what they mean, and from what this host counts them."""
    source = PerfSource() if options.on is None else _simulated(options)[0]
    table = preset_table(source, PREFIX) or load_presets()
    rows = []
    for name, info in known_presets().items():
        if not (options.pattern is None or options.pattern.lower() in name.lower()):
            continue
        found = table.availability(name, lambda wanted: source.resolve(wanted)[0])
        operands: tuple[Event, ...] = ()
        reason = found.reason if isinstance(found, Unavailable) else ""
        if not isinstance(found, Unavailable):
            operands = found.operands
            tried = source.availability([Request(event) for event in operands])
            reason = next((v.reason for v in tried if not v.countable), "")
        if reason and options.available:
            continue
        rows.append((name, info.description, operands, reason))
    if options.json:
        results = [presets_as_json(*row) for row in rows]
        simulated = options.on is not None
        print(envelope("events", results, source=source.name, simulated=simulated))
    else:
        _print_label(options)
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
    if pattern and may_name_tracepoints(pattern) and isinstance(source, PerfSource):
        events += source.catalogue.tracepoints()
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
    if options.on is None:
        close = PerfSource().catalogue.nearest(options.pattern)
    else:
        from gnomon.events.tomlfile import nearest

        close = nearest(options.pattern, [e.name for e in _simulated(options)[0].events()])
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"`gnomon events{f' --on {options.on}' if options.on else ''}` lists them all."
