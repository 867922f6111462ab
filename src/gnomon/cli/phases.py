"""Split a run into phases: find where its footprint, or the rate of any event, changes.

Takes a recording, or runs a program and reads its memory and its counters every 10 ms.
A split that noise alone could explain is rejected; the table may then have
a single phase. With --json or --csv the program's output goes to stderr.

examples:
  gnomon phases -- ./program arg
  gnomon phases -e page-faults,task-clock -i 5ms -o run.gnomon -- ./program
  gnomon phases --on laptop -- workload:ramp-compute
  gnomon phases -p 1234 -d 10s
  gnomon phases run.gnomon
  gnomon phases run.gnomon --by page-faults,task-clock --max 4
"""

from __future__ import annotations

import argparse

from gnomon.analysis.phases import Shape, phases
from gnomon.analysis.phases.result import INTERVAL, MAX_PHASES, MIN_POINTS, SIMULATED_INTERVAL
from gnomon.cli import options, present
from gnomon.cli.campaigns import campaign_progress
from gnomon.errors import UsageError
from gnomon.sources.base import Target

ON_MACHINES = "instructions"
"""What runs on simulated machines are split by: they have no footprint."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon phases`."""
    parser.usage = "gnomon phases [OPTIONS] REC\n       gnomon phases [OPTIONS] -- CMD"
    parser.add_argument("recording", nargs="?", metavar="REC", help="a .gnomon folder")
    text = (
        "what to split by: footprint (the default), or events, as in page-faults,task-clock; "
        f"on a simulated machine {ON_MACHINES} by default"
    )
    parser.add_argument("--by", metavar="WHAT", help=text)
    most = f"at most N ({MAX_PHASES})"
    parser.add_argument("--max", metavar="N", type=int, dest="max_phases", help=most)
    parser.add_argument("--exactly", metavar="N", type=int, help="N phases, significant or not")
    shapes = ("auto", *map(str, Shape))
    parser.add_argument("--shape", choices=shapes, help="model of a phase (auto)")
    least = f"a phase has at least N points ({MIN_POINTS})"
    parser.add_argument("--min-points", metavar="N", type=int, help=least)
    options.add(parser, "run", run="the run to split (the first)")
    options.add(parser, "events", "interval", interval=f"read every TIME ({INTERVAL})")
    options.add(parser, "simulation", seed="seed of the simulation (1)")
    options.add(parser, "repeat", "target", "campaign", "recorded", "looks", repeat=1)
    parser.set_defaults(argv=None)


def run(given: argparse.Namespace) -> int:
    """Run or open, split, show; returns the program's exit status."""
    present.check(given)
    source = options.source_asked_for(given)
    if source is not None and source.capabilities.own_time:
        given.by, given.interval = given.by or ON_MACHINES, given.interval or SIMULATED_INTERVAL
    with campaign_progress(given, bar=given.repeat > 1) as show:
        result = options.call(phases, given, _subject(given), on=source, on_progress=show)
    notes = options.recorded(given, "phases", "splits it again")
    present.present("phases", given, result, *notes)
    return result.exit_status or (130 if result.interrupted else 0)


def _subject(given: argparse.Namespace) -> str | Target:
    if given.recording is not None and given.argv is None:
        reason = "is for a program to run: give one after --."
        given.repeat = None if given.repeat == 1 else given.repeat
        runs = ("on", "events", "interval", "repeat", "target", "campaign", "output")
        options.refuse_given(given, *runs, reason=reason)
        recording: str = given.recording
        return recording
    if given.recording is not None:
        raise UsageError("a recording and a command were given: choose one.")
    if given.run is not None and given.repeat == 1:
        raise UsageError("--run selects one of several runs: omit it, or make more with -r.")
    return options.target(given, "split")
