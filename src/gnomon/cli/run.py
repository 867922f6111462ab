"""Run a program and collect the regions that it marks.

A program marks regions with `with gnomon.region("name"):` or `@gnomon.region("name")`.
What they count is chosen here with -e. A file that ends in .py is run by this Python.
Regions of forked children and of processes that were killed are collected as well.

examples:
  gnomon run --regions -- script.py arg
  gnomon run --regions -e task-clock,page-faults -- python solver.py
  gnomon run --regions --exclusive -- script.py
  gnomon run --regions --json -- script.py
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

from gnomon.errors import GnomonError, UsageError
from gnomon.events.syntax import ask
from gnomon.instrument.region_report import RegionReport, read_folder
from gnomon.instrument.regions import EVENTS, FOLDER, SWITCH
from gnomon.sources.base import Command
from gnomon.sources.host import Subject
from gnomon.sources.registry import source
from gnomon.views.envelope import envelope
from gnomon.views.regions import print_regions, regions_as_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon run`."""
    parser.add_argument("--regions", action="store_true", help="collect regions (always on)")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="what regions count")
    parser.add_argument("--raw", action="store_true", help="leave in what regions cost themselves")
    parser.add_argument(
        "--exclusive", action="store_true", help="also the time of a region without those inside it"
    )
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- CMD", help="what to run")


def run(options: argparse.Namespace) -> int:
    """Run, collect, show; returns the program's exit status."""
    if not options.argv:
        raise UsageError("nothing to run: give a script or command after --.")
    if options.events:
        ask(options.events, source().resolve)  # a wrong name is better found before the run
    argv = list(options.argv)
    if argv[0].endswith(".py"):
        argv.insert(0, sys.executable)
    with tempfile.TemporaryDirectory(prefix="gnomon-regions-") as folder:
        environment = {**os.environ, FOLDER: folder, SWITCH: "on"}
        if options.events:
            environment[EVENTS] = options.events
        command = Command(tuple(argv), environment, stdout=2 if options.json else None)
        status = _wait_for(command)
        report = read_folder(folder)
    _show(report, options)
    return status


def _wait_for(command: Command) -> int:
    subject = Subject(command)
    try:
        subject.release()
        while not subject.wait(None):
            pass
    except KeyboardInterrupt:
        subject.wait(None)  # the terminal has interrupted the program as well
    finally:
        status = subject.exit_status
        subject.close()
    return status or 0


def _show(report: RegionReport, options: argparse.Namespace) -> None:
    if options.json:
        print(envelope("run", regions_as_json(report), source="host", warnings=report.warnings))
        return
    if not report.regions:
        raise GnomonError(
            "the program marked no regions: put `with gnomon.region('name'):` around its parts."
        )
    print_regions(report, sys.stdout, corrected=not options.raw, exclusive=options.exclusive)
    for text in report.warnings:
        print(f"warning: {text}", file=sys.stderr)
