"""Show a recording, or a result that was saved as JSON.

Of a recording: where it comes from, its totals, and its course over time. A result is what a
command printed with --json, and is shown as that command shows it.

examples:
  gnomon show survey.json --html survey.html
  gnomon show run.gnomon
  gnomon show run.gnomon -e page-faults,task-clock
  gnomon show run.gnomon --run 2 --per-scope
  gnomon show run.gnomon --json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli import present
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.recording import Recording


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon show`."""
    parser.add_argument("recording", metavar="FILE", help="a .gnomon folder, or JSON")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="only these, separated by commas")
    parser.add_argument("--run", type=int, help="only this run")
    parser.add_argument("--per-scope", action="store_true", help="a line for each CPU or thread")
    parser.add_argument("--salvage", action="store_true", help="skip damaged files")
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    present.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Show a result as it describes itself; of a recording, open, add up, print."""
    present.check(options)
    if _may_be_result(Path(options.recording)):
        from gnomon.result_types import load_result

        present.present("show", options, load_result(options.recording))
        return 0
    return _show_recording(options)


def _may_be_result(path: Path) -> bool:
    """Whether a file looks like JSON; what it holds is then told by reading it."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return path.suffix == ".json" or stream.read(64).lstrip().startswith(b"{")


def _show_recording(options: argparse.Namespace) -> int:
    from gnomon.analysis.series import slices_over_time
    from gnomon.analysis.summary import CountResult, summarise
    from gnomon.recording import Reading, Recording
    from gnomon.views.counts import print_counts, rows_as_json
    from gnomon.views.envelope import envelope
    from gnomon.views.overview import print_course, print_provenance, provenance_as_json

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
