"""Run a program for many values of a parameter and model how every event grows with it.

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
from gnomon.cli import options, present
from gnomon.cli.campaigns import campaign_progress
from gnomon.errors import UsageError
from gnomon.sources.base import Command


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon scale`."""
    text = "show a recording of `scale -o`"
    parser.add_argument("recording", nargs="?", metavar="REC", help=text)
    text = "a parameter and its values; may be repeated once"
    parser.add_argument("--param", action="append", metavar="NAME=V,V,...", default=[], help=text)
    options.add(parser, "events", "repeat", repeat="run each point N times (3)")
    text = "predict what another run would count there; may be repeated"
    parser.add_argument("--at", action="append", metavar="NAME=V", help=text)
    parser.add_argument(
        "--level", metavar="L", type=float, help="confidence level of intervals (0.95)"
    )
    options.add(parser, "seed", "campaign", "input", seed="seed of the order of points (0)")
    options.add(parser, "recorded", "on", "looks")
    parser.set_defaults(argv=[])


def run(given: argparse.Namespace) -> int:
    """Run, model and show; 130 when it was interrupted."""
    present.check(given)
    subject, parameters = _subject(given)
    options.refuse_without_command(given)
    with campaign_progress(given) as show:
        result = options.call(scale, given, subject, parameters, on_progress=show)
    present.present("scale", given, result, *options.recorded(given, "scale", "shows it again"))
    return 130 if result.interrupted else 0


def _subject(
    given: argparse.Namespace,
) -> tuple[str | Command, Mapping[str, tuple[str, ...]] | None]:
    if given.recording is not None:
        if given.argv or given.param or given.output:
            raise UsageError("a recording and a command were given: choose one.")
        return given.recording, None
    if not given.argv:
        raise UsageError("nothing to run: give a command with {n} in it after --, or a recording.")
    parameters = [parse_parameter(text) for text in given.param]
    values = {parameter.name: parameter.values for parameter in parameters}
    if len(values) < len(parameters):
        raise UsageError(f"parameter {parameters[0].name} is given twice: put its values into one.")
    return options.command(given), values
