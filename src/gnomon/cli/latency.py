"""Find out how long the loads of a program take, and where they are answered.

Loads slower than each of many edges are counted, one edge at a time in turns of 10 ms, and a bin
is the difference of two edges. With --samples single loads are caught with their latency and what
answered them. Peaks get the names of latencies that were measured by following pointers: on a
simulated machine by itself, on a host from --latencies, which `gnomon memory -o` writes. Needs
Intel's load latency events, or for samples AMD's IBS or ARM's SPE; --on simulates a machine that
has them, or listens to `gnomon probe` elsewhere. With --json the program's output goes to stderr.

examples:
  gnomon latency -- ./program arg
  gnomon latency -p 1234 -d 30s --cost
  gnomon latency -a -d 10s --edges 3,10:100:10,150:1000:50
  gnomon latency --on ring-4 -- workload:random placement=interleave
  gnomon latency --on haswell-ex-4s --samples -- workload:random dependent=yes
  gnomon latency --on ring-4 -- signal:loads rate=1M phases=slow duration=10s
  gnomon latency --on probe:node1:9999 --token-file token -d 60s -o node1.gnomon
  gnomon latency node1.gnomon --html node1.html
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.analysis.latency.edges import DEFAULT
from gnomon.cli import present
from gnomon.cli.campaigns import add_campaign_options, campaign_options, campaign_progress
from gnomon.cli.options import add_on_option, checked_seed
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.analysis.latency import LatencyResult, OnResult, Reference
    from gnomon.sources.base import Target


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon latency`."""
    parser.usage = "gnomon latency [OPTIONS] REC\n       gnomon latency [OPTIONS] -- CMD"
    parser.add_argument("recording", nargs="?", metavar="REC", help="a .gnomon folder")
    parser.add_argument("--edges", metavar="LIST", help=f"of the bins, in cycles ({DEFAULT})")
    parser.add_argument("-i", "--slice", metavar="TIME", help="how long an edge is counted (10ms)")
    parser.add_argument("--samples", action="store_true", help="sample loads with what answered")
    parser.add_argument("--period", type=int, metavar="N", help="sample every N-th load")
    parser.add_argument("--cost", action="store_true", help="show cycles spent, not loads")
    parser.add_argument("--latencies", metavar="FILE", help="measured latencies, as JSON")
    add_on_option(parser, "host, a simulated machine or its .toml file, probe:HOST:PORT")
    parser.add_argument("--seed", type=int, default=1, help="of the sweeps and the simulation (1)")
    parser.add_argument("-a", "--all-cpus", action="store_true", help="all CPUs")
    parser.add_argument("-p", "--pid", type=int, help="a running process")
    parser.add_argument("--token-file", metavar="FILE", help="the token of the probe")
    parser.add_argument("-r", "--repeat", metavar="N", type=int, default=1, help="run N times")
    add_campaign_options(parser)
    parser.add_argument("-d", "--duration", metavar="TIME", help="stop after TIME, as in 10s")
    parser.add_argument("-o", "--output", metavar="REC", help="write a recording")
    parser.add_argument(
        "--force", action="store_true", help="replace an existing recording or page"
    )
    present.add_options(parser)
    parser.set_defaults(argv=None)


def run(options: argparse.Namespace) -> int:
    """Measure, listen or open, and show; returns the program's exit status."""
    present.check(options)
    checked_seed(options.seed)
    if options.period is not None and options.period < 1:
        raise UsageError(f"--period must be at least 1, not {options.period}.")
    references = _references(options)
    with _live(options) as show:
        result = _result(options, references, show)
    notes = []
    if options.output:
        name = options.output.removesuffix(".gnomon") + ".gnomon"
        notes.append(f"recorded; `gnomon latency {name}` shows it again")
    present.present("latency", options, replace(result, by_cost=options.cost), *notes)
    return result.exit_status or (130 if result.interrupted and options.argv else 0)


@contextmanager
def _live(options: argparse.Namespace) -> Iterator[OnResult | None]:
    """Yield what shows the histogram while it grows; nothing where there is no screen."""
    if options.repeat > 1 or present.takes_output(options) or not sys.stdout.isatty():
        yield None
        return
    from gnomon.views.describe.latency import moment
    from gnomon.views.terminal.live import Redrawn

    with Redrawn(sys.stdout, colour=options.color) as picture:

        def show(result: LatencyResult) -> None:
            rows = shutil.get_terminal_size().lines
            picture.draw(moment(replace(result, by_cost=options.cost), rows))

        yield show
        picture.draw(())


def _references(options: argparse.Namespace) -> Sequence[Reference] | None:
    if options.latencies is None:
        return None
    from gnomon.analysis.latency.peaks import read_references

    return read_references(options.latencies)


def _result(
    options: argparse.Namespace,
    references: Sequence[Reference] | None,
    show: OnResult | None,
) -> LatencyResult:
    if options.recording is not None:
        return _recorded(options, references)
    from gnomon.analysis.latency import latency
    from gnomon.sources.latency import StreamsLatency
    from gnomon.sources.registry import source as chosen_source

    source = chosen_source(options.on, usual_seed=options.seed)
    if isinstance(source, StreamsLatency):
        _check_probe(options)
    with campaign_progress(options, bar=options.repeat > 1) as show_progress:
        return latency(
            None if isinstance(source, StreamsLatency) else _target(options),
            DEFAULT if options.edges is None else options.edges,
            samples=options.samples,
            length=options.slice,
            period=options.period,
            duration=options.duration,
            repeat=options.repeat,
            timeout=options.timeout,
            warmup=options.warmup,
            resume=options.resume,
            seed=options.seed,
            references=references,
            output=options.output,
            overwrite=options.force,
            on=source,
            token_file=options.token_file,
            on_result=show,
            on_progress=show_progress,
        )


def _recorded(options: argparse.Namespace, references: Sequence[Reference] | None) -> LatencyResult:
    given = {
        "--on": options.on,
        "-a": options.all_cpus or None,
        "-p": options.pid,
        "-d": options.duration,
        **campaign_options(options),
        "-i": options.slice,
        "-o": options.output,
        "a command": options.argv,
    }
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"a recording and {name}: what is recorded is not measured again.")
    from gnomon.analysis.latency import latency_of

    return latency_of(options.recording, options.edges, references=references)


def _check_probe(options: argparse.Namespace) -> None:
    """Complain about something to measure, as a probe chooses that itself."""
    given = {"-p": options.pid, "-a": options.all_cpus or None, "a command": options.argv}
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"--on {options.on} and {name}: the probe decides what it measures.")
    for name, value in campaign_options(options).items():
        if value is not None:
            raise UsageError(f"--on {options.on} and {name}: the probe decides what it measures.")
    if options.duration is None and not sys.stdin.isatty() and not options.samples:
        raise UsageError("nothing says when to stop: give --duration.")


def _target(options: argparse.Namespace) -> Target:
    from gnomon.sources.base import Command, Cpus, Process

    command = None
    if options.argv:
        command = Command(tuple(options.argv), stdout=2 if present.takes_output(options) else None)
    if options.all_cpus:
        if options.pid is not None:
            raise UsageError("-p follows a process and -a all CPUs: choose one.")
        if command is None and options.duration is None and not sys.stdin.isatty():
            raise UsageError("nothing says when to stop: give --duration or a command after --.")
        return Cpus(None, command)
    if options.pid is not None:
        if command is not None:
            raise UsageError("-p measures a running process: omit the command.")
        return Process(options.pid)
    if command is None:
        raise UsageError(
            "nothing to measure: give a command after --, -p PID, -a, --on probe:HOST:PORT, "
            "or a recording."
        )
    return command
