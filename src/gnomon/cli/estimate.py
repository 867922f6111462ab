"""Estimate every event at every tick of one run, from the counters available.

Sets of events take turns on the counters, one set per tick; an event not read in a tick is
estimated from those that were, with a 90 % interval. Takes a program after --, a process, CPUs, or
a recording. With -o readings and estimates are recorded; --watch shows them live. Estimates are
labelled. `estimate identify REC...` finds the stochastic process that each event of
the recordings follows.

examples:
  gnomon estimate -e page-faults,context-switches,cpu-migrations --registers 1 -- ./program
  gnomon estimate --on laptop -i 20us -o run.gnomon -- workload:ramp-compute
  gnomon estimate run.gnomon
  gnomon estimate run.gnomon --smooth --html run.html
  gnomon estimate run.gnomon --ahead 400us
  gnomon estimate --watch --on laptop -- workload:ramp-compute
  gnomon estimate --watch -a -i 100ms
  gnomon estimate identify run.gnomon --closure 5 --store
  gnomon estimate --parameters program --model gauss-markov -- ./program
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gnomon.cli import options, present
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.estimate.result import State

_IDENTIFY = "identify"
_ORDERS = ("chosen", "shuffled", "round-robin")  # named here, so that --help loads no more
_FOR_RUNS = ("events", "interval", "output", "on", "preset_profile", "target")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon estimate`."""
    parser.usage = (
        "gnomon estimate [OPTIONS] -- CMD\n       gnomon estimate [OPTIONS] REC\n"
        "       gnomon estimate identify [OPTIONS] REC..."
    )
    add = parser.add_argument
    add("recordings", nargs="*", metavar="REC", help="a recording; several with identify")
    options.add(
        parser, "events", "interval", "target", "simulation", "recorded", "looks",
        events="events, or all; with identify as in a,b",
        interval="length of a tick (20ms)",
        seed="seed of the simulation (1, with identify 0)",
    )  # fmt: skip
    add("--watch", action="store_true", help="show estimates live, record nothing")
    add("--always", metavar="EVENTS", help="events counted in every tick, or none")
    add("--registers", metavar="N", type=int, help="further events counted at a time")
    add("--order", choices=_ORDERS, help="how the next set is chosen (chosen)")
    add(
        "--weight", metavar="NAME=X", action="append", default=[],
        help="weight of an event or a metric in --order chosen (1); may be repeated",
    )  # fmt: skip
    add("--model", metavar="NAME", help="model that estimates (default)")
    add(
        "--calibration", metavar="REC", action="append",
        help="recording of earlier runs to learn from first; may be repeated",
    )  # fmt: skip
    add(
        "--parameters", metavar="NAME",
        help="stored processes to use: a workload, MACHINE/WORKLOAD or a file",
    )  # fmt: skip
    add("--ahead", metavar="TIME", help="also predict this much time after the last tick")
    recorded = parser.add_argument_group("recording")
    options.add(recorded, "run")
    recorded.add_argument("--smooth", action="store_true", help="estimate from the whole run")
    identify = parser.add_argument_group("identify")
    add = identify.add_argument
    add("--closure", metavar="N", type=int, help="also simulate each process N times, as a check")
    add("--store", action="store_true", help="store the processes for later runs")
    add("--machine", metavar="NAME", help="machine name to store under")
    add("--workload", metavar="NAME", help="workload name to store under")
    parser.set_defaults(argv=[])


def run(given: argparse.Namespace) -> int:
    """Run, watch, open or identify; returns the program's exit status."""
    present.check(given)
    if given.recordings[:1] == [_IDENTIFY]:
        return _identify(given)
    for name in ("closure", "store", "machine", "workload"):
        if getattr(given, name):
            raise UsageError(f"--{name} is for `gnomon estimate identify`.")
    if given.recordings:
        return _again(given)
    weights = dict(map(_weight, given.weight))
    source = options.chosen_source(given)
    if given.watch:
        return _watch(given, weights=weights, on=source)
    from gnomon.analysis.estimate.estimating import estimate

    state = options.call(estimate, given, options.target(given), weights=weights, on=source)
    notes = options.recorded(given, "estimate", "shows it again")
    present.present("estimate", given, state, *notes)
    return _exit_code(state)


def _watch(given: argparse.Namespace, **more: object) -> int:
    from gnomon.analysis.estimate.estimating import estimate
    from gnomon.views.live import live_view
    from gnomon.views.show import warn

    options.refuse_given(given, "output", "html", "csv", reason="keeps what --watch only shows.")
    with live_view(sys.stdout, json=given.json) as show:
        metrics = given.json or sys.stdout.isatty()
        state = options.call(
            estimate, given, options.target(given), **more,
            on_tick=lambda moment: show(moment.now(metrics=metrics)), keep=False,
        )  # fmt: skip
    warn(state.warnings)
    return _exit_code(state)


def _again(given: argparse.Namespace) -> int:
    from gnomon.analysis.estimate.estimating import estimate

    if len(given.recordings) > 1:
        raise UsageError("give one recording; `gnomon estimate identify` takes several.")
    if given.argv or given.watch:
        raise UsageError("a recording and something to run or watch were given: choose one.")
    options.refuse_given(given, *_FOR_RUNS, reason="is for a program to run: give one after --.")
    present.present("estimate", given, options.call(estimate, given, given.recordings[0]))
    return 0


def _identify(given: argparse.Namespace) -> int:
    from gnomon.analysis.estimate.identify import identify

    if given.argv:
        raise UsageError("identify takes recordings: omit the command.")
    options.refuse_given(given, *_FOR_RUNS[1:], "run", reason="is not for identify.")
    events = options.names(given.events, "-e", "instructions,cycles")
    found = options.call(identify, given, given.recordings[1:], events)
    present.present("estimate", given, found)
    return 0


def _weight(text: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not (name and equals and 0 <= value < float("inf")):
        raise UsageError(f"'{text}' is not a weight: write NAME=X, as in cache-misses=5.")
    return name, value


def _exit_code(state: State) -> int:
    if state.failed:
        return 1
    return state.run.exit_status or (130 if state.interrupted else 0)
