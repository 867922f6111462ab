"""Count events while a program runs, in a running process, or on whole CPUs.

Without -e, counts a sensible choice of what this machine has. An event that cannot be
counted is reported with the reason; the exit status is the program's own, or 1 when
nothing at all could be counted. With --json the program's output goes to stderr, so
that stdout holds the JSON object alone.

examples:
  gnomon count -- ./program arg
  gnomon count -e task-clock,page-faults -r 5 -- ./program
  gnomon count -e '{cycles,instructions}:u' -- ./program
  gnomon count -e PAPI_TOT_INS,PAPI_TOT_CYC -m ipc -- ./program
  gnomon count --source valgrind -- ./program
  gnomon count -e valgrind::Ir,valgrind::D1mr -- ./program
  gnomon count -i 10ms -o run.gnomon -- ./program
  gnomon count -p 1234 --duration 5s
  gnomon count -a -e context-switches --duration 1s
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gnomon.analysis.count import count
from gnomon.analysis.summary import CountResult
from gnomon.errors import UsageError
from gnomon.events.sysfs import parse_cpu_list
from gnomon.recording.model import RunInfo
from gnomon.sources.base import Command, Cpus, Process, Target
from gnomon.sources.measure import Sink
from gnomon.units import parse_duration

if TYPE_CHECKING:
    from gnomon.analysis.derived import MetricValue


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon count`."""
    parser.add_argument("-e", "--events", metavar="EVENTS", help="events, as in a,b:u,{c,d}")
    parser.add_argument("--source", metavar="NAME", help="what counts: perf or valgrind")
    parser.add_argument(
        "-m", "--metrics", metavar="NAMES", help="metrics, as in ipc,cpu_utilisation, or all"
    )
    parser.add_argument("-r", "--repeat", metavar="N", type=int, default=1, help="run N times")
    parser.add_argument("-i", "--interval", metavar="TIME", help="read every TIME, as in 10ms")
    parser.add_argument("-a", "--all-cpus", action="store_true", help="count on all CPUs")
    parser.add_argument("-C", "--cpus", metavar="CPUS", help="count on these CPUs, as in 0-3,8")
    parser.add_argument("-p", "--pid", type=int, help="count in a running process")
    parser.add_argument("-d", "--duration", metavar="TIME", help="stop after TIME, as in 5s")
    parser.add_argument("-o", "--output", metavar="REC", help="write a recording")
    parser.add_argument("--force", action="store_true", help="replace an existing recording")
    parser.add_argument(
        "--per-scope", action="store_true", help="a line for each CPU, thread or process"
    )
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- CMD", help="what to run")


def run(options: argparse.Namespace) -> int:
    """Count, show, and return the program's exit status."""
    target = _target(options)
    if options.metrics is not None:
        from gnomon.analysis.derived import parse_names

        parse_names(options.metrics)  # a wrong name is better found before the run
    with _progress(options) as on_run:
        result = count(
            target,
            options.events,
            repeat=options.repeat,
            interval=options.interval,
            duration=options.duration,
            output=options.output,
            overwrite=options.force,
            by_scope=options.per_scope,
            source=options.source,
            on_readings=_live(options),
            on_run=on_run,
        )
    _show(result, _metrics(result, options.metrics), options)
    if result.nothing_counted:
        return 1
    return result.exit_status or (130 if result.interrupted else 0)


def _metrics(result: CountResult, asked: str | None) -> tuple[MetricValue, ...]:
    """Return the metrics asked for; without asking, those of a machine with a PMU."""
    if asked is None and not any(line.event.startswith("instructions") for line in result.counts):
        return ()  # nothing that the rates do not say already
    from gnomon.analysis.derived import derive, parse_names

    return derive(result, parse_names(asked) if asked is not None else None)


def _target(options: argparse.Namespace) -> Target:
    command = None
    if options.argv:
        command = Command(tuple(options.argv), stdout=2 if options.json else None)
    if options.all_cpus or options.cpus is not None:
        if options.pid is not None:
            raise UsageError("-p follows a process and -a or -C whole CPUs: choose one.")
        if command is None and options.duration is None and not sys.stdin.isatty():
            raise UsageError("nothing says when to stop: give --duration or a command after --.")
        cpus = None if options.cpus is None else parse_cpu_list(options.cpus)
        return Cpus(cpus, command)
    if options.pid is not None:
        if command is not None:
            raise UsageError("-p counts in a running process: leave the command away.")
        return Process(options.pid)
    if command is None:
        raise UsageError("nothing to count: give a command after --, or -p PID, or -a.")
    return command


def _live(options: argparse.Namespace) -> Sink | None:
    """Slices are printed as they come when nothing else keeps them."""
    if options.interval is None or options.output is not None or options.json:
        return None
    from gnomon.views.slices import SlicePrinter

    return SlicePrinter(sys.stdout, parse_duration(options.interval)).take


@contextmanager
def _progress(options: argparse.Namespace) -> Iterator[Callable[[RunInfo], None] | None]:
    """Show how many of several runs are done, on a terminal only."""
    if options.repeat == 1 or not sys.stderr.isatty() or options.interval:
        yield None
        return
    from gnomon.views.progress import progress_bar

    with progress_bar("runs", options.repeat) as advance:
        yield lambda _: advance()


def _show(
    result: CountResult, metrics: tuple[MetricValue, ...], options: argparse.Namespace
) -> None:
    from gnomon.views.counts import print_counts, rows_as_json

    if options.json:
        from gnomon.views.envelope import envelope

        origin = result.provenance
        rows = rows_as_json(result.counts)
        if options.metrics:
            from gnomon.views.metrics import metrics_as_json

            rows += metrics_as_json(metrics)
        print(
            envelope(
                "count",
                rows,
                source=origin.source,
                simulated=origin.simulated,
                warnings=result.warnings,
            )
        )
        return
    print_counts(result, sys.stdout, by_scope=options.per_scope)
    if metrics:
        from gnomon.views.metrics import print_metrics

        print_metrics(metrics, sys.stdout)
    for text in result.warnings:
        print(f"warning: {text}", file=sys.stderr)
    if options.output:
        name = options.output.removesuffix(".gnomon") + ".gnomon"
        print(f"  recorded; `gnomon show {name}` shows it again")
