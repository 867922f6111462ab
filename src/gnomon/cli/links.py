"""Show the nodes of a machine and the links between them, load them, and experiment on them.

Without a word, nodes are shown as they are reported; --measure adds measured latencies and
bandwidths, the links that these suggest, and where the two are apart. A channel is written
0-1: CPUs of node 0 read memory of node 1. Words:

  saturate [CHANNEL]    more and more generators on a channel
  crosstalk [CHANNEL]   more and more generators in the other direction
  idle-busy [CHANNEL]   is it faster to read a node that is awake?
  emulate TOPOLOGY      load the channels that a topology does not have
  live                  a screen on which generators are added and removed

With --load, or after emulate, a program can run beside the load. No generator outlives the
command, however it ends.

examples:
  gnomon links
  gnomon links --measure
  gnomon links --on haswell-ex-4s saturate 0-1 --html saturation.html
  gnomon links --on haswell-ex-4s crosstalk 0-1 --stream read
  gnomon links --load 0-1:80% -- ./program
  gnomon links --on haswell-ex-4s emulate ring
  gnomon links live
"""

from __future__ import annotations

import argparse
import sys

from gnomon.cli.html import add_html_option, check_html
from gnomon.cli.links_setting import (
    loader_of,
    machine_of,
    print_json,
    seconds_of,
    shown_progress,
    topology_of,
    write_report,
)
from gnomon.cli.options import add_on_option
from gnomon.errors import UsageError

WORDS = ("saturate", "crosstalk", "idle-busy", "emulate", "live")
_STREAMS = ("triad", "copy", "read")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon links`."""
    parser.usage = "gnomon links [OPTIONS] [WORD [CHANNEL or TOPOLOGY]] [-- CMD]"
    parser.add_argument("word", nargs="?", choices=WORDS, metavar="WORD", help=", ".join(WORDS))
    parser.add_argument("what", nargs="?", metavar="WHAT", help="a channel, or a topology")
    add_on_option(parser, "host, or a simulated machine or its .toml file")
    parser.add_argument("--seed", type=int, metavar="N", help="of the simulation (1)")
    parser.add_argument("--measure", action="store_true", help="measure all channels")
    parser.add_argument(
        "--load",
        action="append",
        metavar="LOAD",
        help="while CMD runs: 0-1:80%% is a share of what the channel carries, 0-1:3 three "
        "generators; may be given several times",
    )
    parser.add_argument(
        "--stream", choices=_STREAMS, help="what generators do (triad; with --measure read)"
    )
    parser.add_argument("--most", type=int, metavar="N", help="at most N generators a channel")
    parser.add_argument("--time", metavar="TIME", default="500ms", help="of a measurement (500ms)")
    parser.add_argument("--repeat", type=int, metavar="N", help="measure N times (3; 10 in turns)")
    parser.add_argument(
        "--size", metavar="SIZE", default="256MiB", help="that a generator reads a pass (256MiB)"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing report")
    add_html_option(parser)
    parser.set_defaults(argv=None)


def run(options: argparse.Namespace) -> int:
    """Do what the word says."""
    if machine_of(options) is None:
        options.on = None  # the host has a name as well
    _check(options)
    check_html(options)
    if options.word is None and not options.load:
        return _show(options)
    if options.word is None:
        from gnomon.cli.links_loaded import run_loaded

        return run_loaded(options)
    from gnomon.cli.links_experiments import (
        run_crosstalk,
        run_emulate,
        run_idle_busy,
        run_saturate,
    )

    word: str = options.word
    return {
        "saturate": run_saturate,
        "crosstalk": run_crosstalk,
        "idle-busy": run_idle_busy,
        "emulate": run_emulate,
        "live": _live,
    }[word](options)


def _check(options: argparse.Namespace) -> None:
    if options.load and options.word is not None:
        raise UsageError(f"--load is for a program after --, not for {options.word}.")
    if options.load and options.argv is None:
        raise UsageError("--load loads while a program runs: give one after --.")
    if options.argv is not None and not options.load and options.word != "emulate":
        raise UsageError(
            "a program runs beside load: say which, as in --load 0-1:80%, or emulate a topology."
        )
    if options.argv is not None:
        _check_program(options)
    if options.measure and options.word is not None:
        raise UsageError("--measure is for showing the topology: leave the word away.")
    if options.load and options.on is not None and options.stream not in (None, "read"):
        raise UsageError(
            "beside a workload on a simulated machine, generators read: --stream read."
        )
    if options.html is not None and options.word == "live":
        raise UsageError("a screen is no report: leave --html away, or name an experiment.")
    _check_unused(options)
    if options.repeat is not None and options.repeat < 1:
        raise UsageError(f"--repeat {options.repeat} makes no sense: measure at least once.")
    if options.word == "emulate" and options.what is None:
        raise UsageError("name the topology to emulate, as in `gnomon links emulate ring`.")


def _check_program(options: argparse.Namespace) -> None:
    """Refuse a program now, and not after minutes of load that would have been for nothing."""
    if options.on is None:
        from gnomon.launch import Command, check_startable

        check_startable(Command(tuple(options.argv)))
    else:
        from gnomon.machines.workloads.build import parse_workload

        parse_workload(options.argv)


def _check_unused(options: argparse.Namespace) -> None:
    """Complain about what would be asked for in vain."""
    experiment = options.word in ("saturate", "crosstalk", "idle-busy")
    if options.repeat is not None and not experiment:
        raise UsageError("--repeat is for saturate, crosstalk and idle-busy.")
    if options.most is not None and not (
        options.measure or experiment or options.word == "emulate"
    ):
        raise UsageError("--most is for --measure, saturate, crosstalk and emulate.")
    if options.most is not None and options.word == "idle-busy":
        raise UsageError("idle-busy takes as many generators as saturate the channel: no --most.")
    if options.stream is not None and not (options.measure or options.word or options.load):
        raise UsageError("--stream is for load: add --measure, or name an experiment.")


def _show(options: argparse.Namespace) -> int:
    from gnomon.views.links import print_topology, topology_as_json

    machine = machine_of(options)
    topology = topology_of(machine)
    if options.measure:
        from gnomon.analysis.links.measure import MOST, measure_matrices
        from gnomon.analysis.links.topology import with_measured

        with loader_of(options, machine) as loader, shown_progress() as progress:
            most = MOST if options.most is None else options.most
            seconds = seconds_of(options)
            matrices = measure_matrices(loader, seconds=seconds, most=most, progress=progress)
        topology = with_measured(topology, matrices)
    if options.json:
        print_json(options, topology_as_json(topology))
    else:
        print_topology(topology, sys.stdout)
    from gnomon.views.report.links import links_page

    write_report(options, lambda: links_page(topology))
    return 0


def _live(options: argparse.Namespace) -> int:
    if options.what is not None:
        raise UsageError("live takes no channel: choose it on the screen with the arrows.")
    if options.json:
        raise UsageError("a screen cannot be printed as JSON: leave --json away.")
    from gnomon.views.links_live import require_textual, run_live

    machine = machine_of(options)
    require_textual()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("live needs a terminal for its screen and its keys: run it in one.")
    with loader_of(options, machine) as loader:
        run_live(loader, topology_of(machine))
    return 0
