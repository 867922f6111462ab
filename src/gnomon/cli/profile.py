"""Sample where in a program an event happens: by function, source line or address.

A sample is taken every N occurrences of the event (-c); by default N is a prime
that gives a useful number of samples. Lines need a program built with -g.
Ctrl-C stops sampling and shows the samples so far.

examples:
  gnomon profile -- ./program
  gnomon profile -e page-faults -- ./program
  gnomon profile -e cycles -c 1000003 --by line -- ./program
  gnomon profile -p 1234 --duration 5s
  gnomon profile --on niagara2 -e DC_miss --by line -- workload:spmv threads=64
"""

from __future__ import annotations

import argparse

from gnomon.cli import options as shared
from gnomon.cli import present

_BY = ("function", "line", "module", "address")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon profile`."""
    shared.add(parser, "events", events="the event to sample (cpu-clock)")
    parser.add_argument("-c", "--threshold", type=int, metavar="N", help="events per sample")
    shared.add(parser, "simulation", "target", seed="seed of the simulation (1)")
    parser.add_argument("--by", choices=_BY, default="function", help="group samples by (function)")
    shared.add(parser, "top", top=20)
    present.add_options(parser)
    shared.add(parser, "argv")


def run(options: argparse.Namespace) -> int:
    """Sample, show, and return the program's exit status."""
    from gnomon.instrument.profile import profile
    from gnomon.measure.run import Stopper

    present.check(options)
    target = shared.target(options)
    source = shared.chosen_source(options)
    with Stopper().installed() as stopper:
        found = shared.call(profile, options, target, on=source, until=lambda: stopper.requested)
    present.present("profile", options, found)
    return found.exit_status or (130 if stopper.requested else 0)
