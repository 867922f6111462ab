"""Show a recording: where it comes from, its totals, and its course over time.

examples:
  gnomon show run.gnomon
  gnomon show run.gnomon -e page-faults,task-clock
  gnomon show run.gnomon --run 2 --per-scope
  gnomon show run.gnomon --json
"""

from __future__ import annotations

import argparse
import sys

from gnomon.analysis.series import slices_over_time
from gnomon.analysis.summary import CountResult, summarise
from gnomon.errors import UsageError
from gnomon.recording import Reading, Recording
from gnomon.views.counts import print_counts, rows_as_json
from gnomon.views.envelope import envelope
from gnomon.views.overview import print_course, print_provenance, provenance_as_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon show`."""
    parser.add_argument("recording", metavar="REC", help="a .gnomon folder")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="only these, separated by commas")
    parser.add_argument("--run", type=int, help="only this run")
    parser.add_argument("--per-scope", action="store_true", help="a line for each CPU or thread")
    parser.add_argument("--salvage", action="store_true", help="skip damaged files")


def run(options: argparse.Namespace) -> int:
    """Open, add up, print."""
    with Recording.open(options.recording, salvage=options.salvage) as recording:
        wanted = _chosen(recording, options.events)
        totals = [t for t in recording.totals() if t.event in wanted]
        if options.run is not None:
            totals = [t for t in totals if t.run == options.run]
            if not totals:
                known = ", ".join(str(run.run) for run in recording.runs) or "none"
                raise UsageError(f"there is no run {options.run}: the recording has {known}.")
        infos = tuple(info for info in recording.events if info.name in wanted)
        readings = [
            Reading(0, t.event, t.scope, t.value, t.enabled, t.running, t.status, t.run, t.batch)
            for t in totals
        ]
        runs = tuple(r for r in recording.runs if options.run is None or r.run == options.run)
        warnings = list(recording.warnings)
        if not recording.complete:
            warnings.insert(0, "the recording is incomplete: it was cut short or is being written")
        counts = summarise(readings, infos, by_scope=options.per_scope)
        result = CountResult(recording.provenance, counts, runs, tuple(warnings))
        course = slices_over_time(recording, wanted, run=options.run)
    if options.json:
        results = {
            "provenance": provenance_as_json(result),
            "complete": recording.complete,
            "totals": rows_as_json(counts),
            "slices": course.ticks,
        }
        origin = result.provenance
        print(
            envelope(
                "show",
                results,
                source=origin.source,
                simulated=origin.simulated,
                warnings=warnings,
            )
        )
        return 0
    print_provenance(result, sys.stdout)
    print_counts(result, sys.stdout, by_scope=options.per_scope)
    print_course(course, infos, sys.stdout)
    for text in warnings:
        print(f"warning: {text}", file=sys.stderr)
    return 0


def _chosen(recording: Recording, text: str | None) -> set[str]:
    known = [info.name for info in recording.events]
    if text is None:
        return set(known)
    wanted = {name.strip() for name in text.split(",") if name.strip()}
    unknown = sorted(wanted - set(known))
    if unknown:
        raise UsageError(f"'{unknown[0]}' is not in the recording: it has {', '.join(known)}.")
    return wanted
