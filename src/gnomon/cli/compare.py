"""Say for every event what changed between two recordings, or between two commands.

Two commands are run in turn, -r times each, so that whatever disturbs the machine
disturbs both. A change is told from chance by a test that is corrected for the number
of events; the change itself, with its interval, comes first.

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
from gnomon.cli import present
from gnomon.cli.campaigns import add_campaign_options, campaign_progress
from gnomon.cli.options import add_on_option, refuse_without_command
from gnomon.errors import UsageError
from gnomon.sources.base import Command


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon compare`."""
    parser.add_argument("recordings", nargs="*", metavar="REC", help="two .gnomon folders")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="only these, as in a,b:u")
    parser.add_argument(
        "-r", "--repeat", metavar="N", type=int, default=10, help="run each command N times"
    )
    parser.add_argument(
        "--test",
        choices=("welch", "pooled", "mann-whitney", "permutation"),
        default="welch",
        help="how to tell a change from chance",
    )
    parser.add_argument(
        "--correction",
        choices=("bh", "holm", "bonferroni", "none"),
        default="bh",
        help="for testing many events",
    )
    parser.add_argument(
        "--alpha", metavar="Q", type=float, default=0.05, help="the q-value that is a change"
    )
    parser.add_argument(
        "--level", metavar="L", type=float, default=0.95, help="confidence of intervals"
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="of resamples and of the order of runs"
    )
    add_campaign_options(parser)
    parser.add_argument("--anyway", action="store_true", help="compare different sources")
    parser.add_argument("-o", "--output", metavar="NAME", help="record NAME-a and NAME-b")
    parser.add_argument("--force", action="store_true", help="replace existing recordings")
    add_on_option(parser)
    present.add_options(parser)
    parser.set_defaults(argv=[])


def run(options: argparse.Namespace) -> int:
    """Compare and show; 130 when it was interrupted."""
    present.check(options)
    a, b = _subjects(options)
    refuse_without_command(options)
    with campaign_progress(options) as show:
        result = compare(
            a,
            b,
            options.events,
            repeat=options.repeat,
            test=options.test,
            correction=options.correction,
            alpha=options.alpha,
            level=options.level,
            seed=options.seed,
            anyway=options.anyway,
            output=options.output,
            overwrite=options.force,
            timeout=options.timeout,
            warmup=options.warmup,
            resume=options.resume,
            on=options.on,
            on_progress=show,
        )
    notes = []
    if options.output:
        name = options.output.removesuffix(".gnomon")
        again = f"`gnomon compare {name}-a.gnomon {name}-b.gnomon`"
        notes = [f"recorded; {again} compares them again"]
    present.present("compare", options, result, *notes)
    return 130 if result.interrupted else 0


def _subjects(options: argparse.Namespace) -> tuple[str | Command, str | Command]:
    if options.argv:
        if options.recordings:
            raise UsageError("give two recordings or two commands, not both.")
        return _commands(options)
    if len(options.recordings) != 2:
        raise UsageError(
            "there must be two to compare: name two recordings, or write -- CMD_A -- CMD_B."
        )
    return options.recordings[0], options.recordings[1]


def _commands(options: argparse.Namespace) -> tuple[Command, Command]:
    words: list[str] = options.argv
    if words.count("--") != 1:
        raise UsageError(
            "two commands must be given as -- CMD_A -- CMD_B; put one that needs a -- of its own "
            "into sh -c '...'."
        )
    at = words.index("--")
    stdout = 2 if present.takes_output(options) else None
    first, second = tuple(words[:at]), tuple(words[at + 1 :])
    if not first or not second:
        raise UsageError("a command is empty: write -- CMD_A -- CMD_B.")
    return Command(first, stdout=stdout), Command(second, stdout=stdout)
