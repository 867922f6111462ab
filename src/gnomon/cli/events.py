"""List events, look one up, or see which can be counted here.

PATTERN is a part of a name or description, or a glob such as 'LLC-*'. With --available
every event is tried out: only those that counted known work are listed. A pattern that
names exactly one event shows all that is known of it. Tracepoints, being thousands, are
listed when the pattern has a colon, as in 'sched:*'.

examples:
  gnomon events
  gnomon events --available
  gnomon events cache
  gnomon events 'sched:*switch*'
  gnomon events page-faults
"""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase

from gnomon.errors import GnomonError
from gnomon.events.model import Event, Request
from gnomon.sources.base import Availability
from gnomon.sources.perf import PerfSource
from gnomon.views.envelope import envelope
from gnomon.views.events import event_as_json, print_event, print_events


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon events`."""
    parser.add_argument("pattern", nargs="?", help="part of a name or description, or a glob")
    parser.add_argument("--available", action="store_true", help="only what counts here, proved")


def run(options: argparse.Namespace) -> int:
    """List the events; 1 when none fits the pattern."""
    source = PerfSource()
    exact = _named(source, options.pattern) if options.pattern else []
    events = exact or [e for e in _all(source, options.pattern) if matches(e, options.pattern)]
    if not events:
        raise GnomonError(f"no event matches '{options.pattern}': {_advice(source, options)}")
    verdicts: list[Availability] | None = None
    if options.available or exact:
        verdicts = source.availability([Request(event) for event in events])
    if options.available and verdicts is not None:
        hidden = [v for v in verdicts if not v.countable]
        verdicts = [v for v in verdicts if v.countable]
        events = [v.event for v in verdicts]
    else:
        hidden = []
    if options.json:
        known = {verdict.event.name: verdict for verdict in verdicts or ()}
        rows = [event_as_json(event, known.get(event.name)) for event in events]
        print(envelope("events", rows, source=source.name))
    elif exact and verdicts:
        for verdict in verdicts:
            print_event(verdict, sys.stdout)
    else:
        print_events(events, verdicts, hidden, sys.stdout)
    return 0 if events else 1


def _named(source: PerfSource, name: str) -> list[Event]:
    try:
        return list(source.resolve(name))
    except GnomonError:
        return []


def _all(source: PerfSource, pattern: str | None) -> list[Event]:
    events = list(source.events())
    if pattern and ":" in pattern:
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


def _advice(source: PerfSource, options: argparse.Namespace) -> str:
    close = source.catalogue.nearest(options.pattern)
    return f"did you mean {' or '.join(close)}?" if close else "`gnomon events` lists them all."
