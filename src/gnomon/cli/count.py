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
  gnomon count --on valgrind -- ./program
  gnomon count -e valgrind::Ir,valgrind::D1mr -- ./program
  gnomon count --on laptop -- workload:triad size=64MB threads=8
  gnomon count -i 10ms -o run.gnomon -- ./program
  gnomon count -p 1234 --duration 5s
  gnomon count -a -e context-switches --duration 1s
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gnomon.analysis.count import count
from gnomon.analysis.summary import CountResult
from gnomon.cli.campaigns import add_campaign_options, campaign_progress
from gnomon.cli.counting import (
    add_counting_options,
    counting_source,
    counting_target,
    with_ending,
)
from gnomon.measure.run import Sink
from gnomon.units import parse_duration

if TYPE_CHECKING:
    from gnomon.analysis.derived import MetricValue
    from gnomon.sources.base import Source


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon count`."""
    add_counting_options(parser)
    add_campaign_options(parser)
    parser.add_argument(
        "-m", "--metrics", metavar="NAMES", help="metrics, as in ipc,cpu_utilisation, or all"
    )
    parser.add_argument("-i", "--interval", metavar="TIME", help="read every TIME, as in 10ms")
    parser.add_argument(
        "--per-scope", action="store_true", help="a line for each CPU, thread or process"
    )


def run(options: argparse.Namespace) -> int:
    """Count, show, and return the program's exit status."""
    target = counting_target(options)
    if options.metrics is not None:
        from gnomon.analysis.derived import parse_names

        parse_names(options.metrics)  # a wrong name is better found before the run
    source = counting_source(options)
    with campaign_progress(options, bar=options.repeat > 1 and not options.interval) as show:
        result = count(
            target,
            options.events,
            repeat=options.repeat,
            interval=options.interval,
            duration=options.duration,
            timeout=options.timeout,
            warmup=options.warmup,
            resume=options.resume,
            output=options.output,
            overwrite=options.force,
            by_scope=options.per_scope,
            on=source,
            on_readings=_live(options),
            on_progress=show,
        )
    _show(result, _metrics(result, options.metrics, source), options)
    if result.nothing_counted:
        return 1
    return result.exit_status or (130 if result.interrupted else 0)


def _metrics(result: CountResult, asked: str | None, source: Source) -> tuple[MetricValue, ...]:
    """Return the metrics asked for; without asking, those with a value where there is a PMU."""
    if asked is None and not any(line.event.startswith("instructions") for line in result.counts):
        return ()  # nothing that the rates do not say already
    from gnomon.analysis.derived import derive, parse_names
    from gnomon.sources.abilities import HasConstants

    constants = source.constants() if isinstance(source, HasConstants) else None
    if asked is not None:
        return derive(result, parse_names(asked), constants=constants)
    found = derive(result, constants=constants)
    return tuple(metric for metric in found if metric.value is not None)


def _live(options: argparse.Namespace) -> Sink | None:
    """Slices are printed as they come when nothing else keeps them."""
    if options.interval is None or options.output is not None or options.json:
        return None
    from gnomon.views.slices import SlicePrinter

    return SlicePrinter(sys.stdout, parse_duration(options.interval)).take


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
        print(f"  recorded; `gnomon show {with_ending(options.output)}` shows it again")
