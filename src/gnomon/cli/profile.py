"""Find out where in a program an event happens: by function, source line or address.

A sample is taken each time the event has happened so often; without -c that is a prime
number that gives a useful number of samples. Lines need a program built with -g.
Ctrl-C ends the sampling and shows what was sampled so far.

examples:
  gnomon profile -- ./program
  gnomon profile -e page-faults -- ./program
  gnomon profile -e cycles -c 1000003 --by line -- ./program
  gnomon profile -p 1234 --duration 5s
  gnomon profile --on niagara2 -e DC_miss --by line -- workload:spmv threads=64
"""

from __future__ import annotations

import argparse
import sys
import time

from gnomon.cli.options import add_source_options, chosen_source
from gnomon.errors import UsageError
from gnomon.instrument.profile import Profile, profile
from gnomon.measure.run import Stopper
from gnomon.sources.base import Command, Process, Source, Target
from gnomon.units import parse_duration
from gnomon.views.envelope import envelope
from gnomon.views.profile import VIEWS, print_profile, profile_as_json

_CLOCK = "cpu-clock"
_SIMULATED_THRESHOLD = 1009  # simulated programs are small


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon profile`."""
    parser.add_argument("-e", "--event", help="what to sample (cpu-clock)")
    add_source_options(parser)
    parser.add_argument("-c", "--threshold", type=int, metavar="N", help="events a sample")
    parser.add_argument("-p", "--pid", type=int, help="a running process")
    parser.add_argument("-d", "--duration", metavar="TIME", help="stop after TIME, as in 5s")
    parser.add_argument("--by", choices=tuple(VIEWS), default="function", help="how to group")
    parser.add_argument("-n", "--top", type=int, default=20, metavar="N", help="lines to show")
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- CMD", help="what to run")


def run(options: argparse.Namespace) -> int:
    """Sample, show, and return the program's exit status."""
    target = _target(options)
    source = chosen_source(options)
    simulated = source.capabilities.own_time
    threshold, event = options.threshold, options.event
    if threshold is None and simulated:
        threshold = _SIMULATED_THRESHOLD
    if event is None:
        event = source.default_events()[0][0].label if simulated else _CLOCK
    limit = parse_duration(options.duration, "duration") / 1e9 if options.duration else None
    start = time.monotonic()
    with Stopper().installed() as stopper:

        def over() -> bool:
            late = limit is not None and time.monotonic() - start >= limit
            return late or stopper.requested

        found = profile(target, event, threshold=threshold, on=source, until=over)
    _show(found, options, source)
    return found.exit_status or (130 if stopper.requested else 0)


def _target(options: argparse.Namespace) -> Target:
    if options.pid is not None:
        if options.argv:
            raise UsageError("-p samples a running process: leave the command away.")
        return Process(options.pid)
    if not options.argv:
        raise UsageError("nothing to sample: give a command after --, or -p PID.")
    return Command(tuple(options.argv), stdout=2 if options.json else None)


def _show(found: Profile, options: argparse.Namespace, source: Source) -> None:
    if options.json:
        results = profile_as_json(found, options.by, options.top)
        simulated = source.capabilities.simulated
        warnings = found.warnings
        print(
            envelope("profile", results, source=source.name, simulated=simulated, warnings=warnings)
        )
        return
    if source.capabilities.simulated:
        print(f"SIMULATED on {options.on}: {' '.join(options.argv)}")
    print_profile(found, sys.stdout, by=options.by, top=options.top)
    for text in found.warnings:
        print(f"warning: {text}", file=sys.stderr)
