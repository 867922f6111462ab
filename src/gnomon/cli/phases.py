"""Find the phases of a program: where its footprint, or any event, changes its course.

Takes a recording, or runs a program and reads its memory and its counters every 10 ms.
A split must be worth it: one that noise would show as well is refused, and the table has
a single phase. With --json or --csv the program's output goes to stderr.

examples:
  gnomon phases -- ./program arg
  gnomon phases -e page-faults,task-clock -i 5ms -o run.gnomon -- ./program
  gnomon phases --on laptop -- workload:ramp-compute
  gnomon phases run.gnomon
  gnomon phases run.gnomon --by page-faults,task-clock --max 4
"""

from __future__ import annotations

import argparse

from gnomon.analysis.phases import Shape, phases
from gnomon.analysis.phases.result import INTERVAL, MAX_PHASES, MIN_POINTS, SIMULATED_INTERVAL
from gnomon.cli import present
from gnomon.cli.campaigns import add_campaign_options, campaign_options, campaign_progress
from gnomon.cli.options import add_source_options, source_asked_for
from gnomon.errors import UsageError
from gnomon.sources.base import Command

ON_MACHINES = "instructions"
"""What runs on simulated machines are split by: they have no footprint."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon phases`."""
    parser.usage = "gnomon phases [OPTIONS] REC\n       gnomon phases [OPTIONS] -- CMD"
    parser.add_argument("recording", nargs="?", metavar="REC", help="a .gnomon folder")
    parser.add_argument(
        "--by",
        metavar="WHAT",
        help="what to split by: footprint (the default), or events, as in page-faults,task-clock; "
        f"on a simulated machine {ON_MACHINES} by default",
    )
    parser.add_argument(
        "--max", metavar="N", type=int, default=MAX_PHASES, help=f"at most N ({MAX_PHASES})"
    )
    parser.add_argument("--exactly", metavar="N", type=int, help="N phases, significant or not")
    parser.add_argument(
        "--shape",
        choices=("auto", *map(str, Shape)),
        default="auto",
        help="what a phase is taken to be",
    )
    parser.add_argument(
        "--min-points",
        metavar="N",
        type=int,
        default=MIN_POINTS,
        help=f"a phase has at least N points ({MIN_POINTS})",
    )
    parser.add_argument("--run", type=int, help="the run to split (the first)")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="what to count while it runs")
    parser.add_argument("-i", "--interval", metavar="TIME", help=f"read every TIME ({INTERVAL})")
    add_source_options(parser)
    parser.add_argument("-r", "--repeat", metavar="N", type=int, default=1, help="run N times")
    add_campaign_options(parser)
    parser.add_argument("-o", "--output", metavar="REC", help="write a recording")
    parser.add_argument("--force", action="store_true", help="replace an existing recording")
    present.add_options(parser)
    parser.set_defaults(argv=None)


def run(options: argparse.Namespace) -> int:
    """Run or open, split, show; returns the program's exit status."""
    present.check(options)
    source = source_asked_for(options)
    simulated = source is not None and source.capabilities.own_time
    with campaign_progress(options, bar=options.repeat > 1) as show:
        result = phases(
            _subject(options),
            options.by or (ON_MACHINES if simulated else "footprint"),
            max_phases=options.max,
            exactly=options.exactly,
            shape=options.shape,
            min_points=options.min_points,
            run=options.run,
            events=options.events,
            interval=options.interval or (SIMULATED_INTERVAL if simulated else INTERVAL),
            repeat=options.repeat,
            timeout=options.timeout,
            warmup=options.warmup,
            resume=options.resume,
            output=options.output,
            overwrite=options.force,
            on=source,
            on_progress=show,
        )
    notes = []
    if options.output:
        name = options.output.removesuffix(".gnomon") + ".gnomon"
        notes = [f"recorded; `gnomon phases {name}` splits it again"]
    present.present("phases", options, result, *notes)
    return result.exit_status or (130 if result.interrupted else 0)


def _subject(options: argparse.Namespace) -> str | Command:
    if options.argv is None:
        if options.recording is None:
            raise UsageError("nothing to split: give a recording, or a command after --.")
        given = {
            "--on": options.on,
            "-e": options.events,
            "-i": options.interval,
            **campaign_options(options),
            "-o": options.output,
        }
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name} is for a program to run: give one after --.")
        recording: str = options.recording
        return recording
    if options.recording is not None:
        raise UsageError("a recording and a command to run: choose one.")
    if options.run is not None and options.repeat == 1:
        raise UsageError("--run chooses one of several runs: omit it, or ask for them with -r.")
    return Command(tuple(options.argv), stdout=2 if present.takes_output(options) else None)
