"""Show for every event what changed between two recordings, or between two commands.

Two commands are run in turn, -r times each, so that interference from the machine
affects both. Each change is tested for significance, corrected for the number
of events, and is shown with its interval, largest first.

examples:
  gnomon compare before.gnomon after.gnomon
  gnomon compare -r 10 -- ./old input -- ./new input
  gnomon compare -e task-clock,page-faults -o both -- ./old -- ./new
  gnomon compare --on laptop -- workload:strided-sum order=row -- workload:strided-sum order=column
  gnomon compare --test permutation --all before.gnomon after.gnomon
"""

from __future__ import annotations

import argparse

from gnomon.analysis.compare import compare
from gnomon.cli import options, present
from gnomon.cli.campaigns import campaign_progress
from gnomon.errors import UsageError
from gnomon.sources.base import Command


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon compare`."""
    parser.add_argument("recordings", nargs="*", metavar="REC", help="two .gnomon folders")
    options.add(parser, "events", "repeat", repeat="run each command N times (10)")
    tests = ("welch", "pooled", "mann-whitney", "permutation")
    parser.add_argument("--test", choices=tests, help="significance test (welch)")
    corrections = ("bh", "holm", "bonferroni", "none")
    parser.add_argument(
        "--correction", choices=corrections, help="correction for multiple tests (bh)"
    )
    parser.add_argument(
        "--alpha", metavar="Q", type=float, help="largest q-value of a significant change (0.05)"
    )
    parser.add_argument(
        "--level", metavar="L", type=float, help="confidence level of intervals (0.95)"
    )
    parser.add_argument("--anyway", action="store_true", help="compare even if the sources differ")
    options.add(
        parser,
        "seed",
        "campaign",
        "input",
        "recorded",
        "on",
        "looks",
        output="write recordings REC-a and REC-b",
    )
    parser.set_defaults(argv=[])


def run(given: argparse.Namespace) -> int:
    """Compare and show; 130 when it was interrupted."""
    present.check(given)
    a, b = _subjects(given)
    options.refuse_without_command(given)
    with campaign_progress(given) as show:
        result = options.call(compare, given, a, b, on_progress=show)
    name = (given.output or "").removesuffix(".gnomon")
    again = f"`gnomon compare {name}-a.gnomon {name}-b.gnomon`"
    notes = [f"recorded; {again} compares them again"] * bool(name)
    present.present("compare", given, result, *notes)
    return 130 if result.interrupted else 0


def _subjects(given: argparse.Namespace) -> tuple[str | Command, str | Command]:
    if not given.argv:
        if len(given.recordings) != 2:
            raise UsageError("nothing to compare: name two recordings, or write -- CMD_A -- CMD_B.")
        return given.recordings[0], given.recordings[1]
    if given.recordings:
        raise UsageError("give two recordings or two commands, not both.")
    if given.argv.count("--") != 1:
        raise UsageError(
            "two commands must be given as -- CMD_A -- CMD_B; put one that needs a -- of its own "
            "into sh -c '...'."
        )
    at = given.argv.index("--")
    if at in (0, len(given.argv) - 1):
        raise UsageError("a command is empty: write -- CMD_A -- CMD_B.")
    return options.command(given, given.argv[:at]), options.command(given, given.argv[at + 1 :])
