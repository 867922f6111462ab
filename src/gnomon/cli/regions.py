"""Run a program and count events in the regions that it marks.

A program marks regions with `with gnomon.region("name"):` or `@gnomon.region("name")`.
-e selects the events. A file that ends in .py is run by this Python.
Regions of forked children and of processes that were killed are collected as well.

examples:
  gnomon regions -- script.py arg
  gnomon regions -e task-clock,page-faults -- python solver.py
  gnomon regions --exclusive -- script.py
  gnomon regions --json -- script.py
"""

from __future__ import annotations

import argparse

from gnomon.cli import options as shared
from gnomon.cli import present
from gnomon.errors import GnomonError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon regions`."""
    shared.add(parser, "events", events="events to count in regions")
    parser.add_argument(
        "--raw", action="store_true", help="do not subtract the overhead of regions"
    )
    parser.add_argument(
        "--exclusive",
        action="store_true",
        help="also show the time of a region without nested ones",
    )
    shared.add(parser, "input", "looks", "argv")


def run(options: argparse.Namespace) -> int:
    """Run, collect, show; returns the program's exit status."""
    from gnomon.instrument.region_report import regions

    present.check(options)
    found = shared.call(regions, options, shared.command(options))
    if not found.regions and not options.json:
        raise GnomonError(
            "the program marked no regions: put `with gnomon.region('name'):` around its parts."
        )
    present.present("regions", options, found)
    return found.exit_status or 0
