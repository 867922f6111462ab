"""Run a program for many values of a parameter and say how every event grows with it.

The command is run with each value in place of {n}, -r times, in random order. Each event
gets the model that describes it best: constant, logarithmic, linear, n log n, quadratic,
cubic, a power with a free exponent, or exponential; with two parameters also products
and sums of these.

examples:
  gnomon scale --param n=1000,2000,4000,8000,16000 -- ./program {n}
  gnomon scale --param threads=1,2,3,4,5,6,7,8 -r 5 -- ./sort --threads {threads}
  gnomon scale --param n=10,20,40,80 --param m=1,2,4,8 -o grid.gnomon -- ./program {n} {m}
  gnomon scale --on smt-4 --param n=1,2,3,4,5,6,7,8 -- workload:parallel-sort threads={n}
  gnomon scale --at n=1000000 grid.gnomon
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from gnomon.analysis.scaling import scale
from gnomon.analysis.scaling.parameters import parse_parameter
from gnomon.cli import present
from gnomon.cli.campaigns import add_campaign_options, campaign_progress
from gnomon.cli.options import add_on_option, refuse_without_command
from gnomon.errors import UsageError
from gnomon.sources.base import Command


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon scale`."""
    parser.add_argument(
        "recording", nargs="?", metavar="REC", help="a recording of `scale -o`, to look at again"
    )
    parser.add_argument(
        "--param",
        action="append",
        metavar="NAME=V,V,...",
        default=[],
        help="a parameter and its values; may be given twice",
    )
    parser.add_argument("-e", "--events", metavar="EVENTS", help="events, as in a,b:u,{c,d}")
    parser.add_argument(
        "-r", "--repeat", metavar="N", type=int, default=3, help="run each point N times"
    )
    parser.add_argument(
        "--at",
        action="append",
        metavar="NAME=V",
        default=[],
        help="predict what another run would count there; may be repeated",
    )
    parser.add_argument(
        "--level", metavar="L", type=float, default=0.95, help="confidence of intervals"
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="of the order in which points are run"
    )
    add_campaign_options(parser)
    parser.add_argument("-o", "--output", metavar="REC", help="write a recording")
    parser.add_argument("--force", action="store_true", help="replace an existing recording")
    add_on_option(parser)
    present.add_options(parser)
    parser.set_defaults(argv=[])


def run(options: argparse.Namespace) -> int:
    """Run, model and show; 130 when it was interrupted."""
    present.check(options)
    subject, parameters = _subject(options)
    refuse_without_command(options)
    with campaign_progress(options) as show:
        result = scale(
            subject,
            parameters,
            options.events,
            repeat=options.repeat,
            at=options.at,
            level=options.level,
            seed=options.seed,
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
        name = options.output.removesuffix(".gnomon") + ".gnomon"
        notes = [f"recorded; `gnomon scale {name}` shows it again"]
    present.present("scale", options, result, *notes)
    return 130 if result.interrupted else 0


def _subject(
    options: argparse.Namespace,
) -> tuple[str | Command, Mapping[str, tuple[str, ...]] | None]:
    if options.recording is not None:
        if options.argv or options.param or options.output:
            raise UsageError("a recording is there already: give it alone, or a command to run.")
        recording: str = options.recording
        return recording, None
    if not options.argv:
        raise UsageError("nothing to run: give a command with {n} in it after --, or a recording.")
    given = [parse_parameter(text) for text in options.param]
    names = [parameter.name for parameter in given]
    if len(set(names)) < len(names):
        raise UsageError(f"parameter {names[0]} is given twice: put all its values into one.")
    command = Command(tuple(options.argv), stdout=2 if present.takes_output(options) else None)
    return command, {parameter.name: parameter.values for parameter in given}
