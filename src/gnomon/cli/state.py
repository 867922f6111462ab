"""Estimate every event at every tick of one run, from as many counters as there are.

Sets of events take turns on the counters, one a tick; what is not read in a tick is
estimated from all that is, with a 90 % interval. `record` keeps readings and estimates,
`watch` shows them while they come, `show` shows a recording. Estimates are labelled so.
`identify` finds the process that each event of recordings follows.

examples:
  gnomon state record -e page-faults,context-switches,cpu-migrations --registers 1 -- ./program
  gnomon state record --on laptop -i 20us -o run.gnomon -- workload:ramp-compute
  gnomon state show run.gnomon
  gnomon state show run.gnomon --smooth --html run.html
  gnomon state watch --on laptop -- workload:ramp-compute
  gnomon state watch -a -i 100ms
  gnomon state identify run.gnomon --closure 5 --store
  gnomon state record --parameters program --model gauss-markov -- ./program
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gnomon.cli import state_identify
from gnomon.cli.counting import counting_target, with_ending
from gnomon.cli.html import add_html_option, check_html, write_html
from gnomon.cli.options import add_source_options, chosen_source
from gnomon.cli.record import free_recording
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.estimate.observe import OnTick
    from gnomon.analysis.estimate.state import State

_ORDERS = ("chosen", "shuffled", "round-robin")  # named here, so that --help loads no more


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of `gnomon state`."""
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True)
    record = words.add_parser("record", help="run a program and keep readings and estimates")
    record.add_argument("-o", "--output", metavar="REC", help="where to record it")
    record.add_argument("--force", action="store_true", help="replace an existing recording")
    watch = words.add_parser("watch", help="show estimates while they come")
    for each in (record, watch):
        _add_observing_options(each)
    show = words.add_parser("show", help="show a recording that `record` made")
    show.add_argument("recording", metavar="REC", help="a .gnomon folder")
    show.add_argument("--run", type=int, metavar="N", help="the run of a recording")
    show.add_argument("--smooth", action="store_true", help="estimate anew, from the whole run")
    show.add_argument("--model", metavar="NAME", help="estimate anew, with this model")
    _add_parameters_option(show)
    show.add_argument("--force", action="store_true", help="replace an existing report")
    add_html_option(show)
    identify = words.add_parser("identify", help="find the process of each event")
    state_identify.configure(identify)
    for each in (record, watch, show, identify):
        # The main parser has the option as well; there it must not be reset by its default here.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )


def _add_observing_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-e", "--events", metavar="EVENTS", help="events, or all: every one")
    parser.add_argument("-i", "--interval", metavar="TIME", help="length of a tick (20ms)")
    parser.add_argument("-d", "--duration", metavar="TIME", help="stop after TIME, as in 5s")
    parser.add_argument("--always", metavar="EVENTS", help="counted in every tick; or none")
    parser.add_argument("--registers", metavar="N", type=int, help="events at a time, besides")
    parser.add_argument("--order", choices=_ORDERS, help="which set comes next (chosen)")
    parser.add_argument(
        "--weight",
        metavar="NAME=X",
        action="append",
        default=[],
        help="how much an event or a metric matters to the order (1)",
    )
    parser.add_argument("--model", metavar="NAME", help="what estimates (default)")
    parser.add_argument(
        "--calibration",
        metavar="REC",
        action="append",
        default=[],
        help="earlier runs, recorded over time, to learn from before; may be repeated",
    )
    _add_parameters_option(parser)
    add_source_options(parser)
    parser.add_argument("-a", "--all-cpus", action="store_true", help="count on all CPUs")
    parser.add_argument("-C", "--cpus", metavar="CPUS", help="count on these CPUs, as in 0-3,8")
    parser.add_argument("-p", "--pid", type=int, help="count in a running process")
    parser.set_defaults(argv=[])


def _add_parameters_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--parameters",
        metavar="NAME",
        help="processes that `identify --store` kept: a workload, MACHINE/WORKLOAD or a file",
    )


def run(options: argparse.Namespace) -> int:
    """Do what the word says."""
    return {
        "record": _record,
        "watch": _watch,
        "show": _show,
        "identify": state_identify.run,
    }[options.word](options)


def _record(options: argparse.Namespace) -> int:
    target = counting_target(options)
    output = with_ending(options.output) if options.output else free_recording(target)
    state = _observe(options, output=output)
    _print(state, options)
    if not options.json:
        print(f"\n  recorded; `gnomon state show {output}` shows it again")
    return _exit_code(state)


def _watch(options: argparse.Namespace) -> int:
    from gnomon.views.live import live_view

    with live_view(sys.stdout, json=options.json) as on_tick:
        state = _observe(options, on_tick=on_tick)
    for text in state.warnings:
        print(f"warning: {text}", file=sys.stderr)
    return _exit_code(state)


def _show(options: argparse.Namespace) -> int:
    check_html(options)
    from gnomon.analysis.estimate.recorded import estimate, state_of

    if options.smooth or options.model is not None or options.parameters is not None:
        state = estimate(
            options.recording,
            model=_model(options),
            parameters=options.parameters,
            smooth=options.smooth,
            run=options.run,
        )
    else:
        state = state_of(options.recording, run=options.run)
    _print(state, options)
    from gnomon.views.report.assemble import state_page

    write_html(options, lambda: state_page(state))
    return 0


def _observe(
    options: argparse.Namespace, *, output: str | None = None, on_tick: OnTick | None = None
) -> State:
    from gnomon.analysis.estimate.observe import observe
    from gnomon.analysis.estimate.schedule import ORDER

    return observe(
        counting_target(options),
        options.events,
        interval=options.interval,
        duration=options.duration,
        always=options.always,
        registers=options.registers,
        order=options.order or ORDER,
        weights=dict(map(_weight, options.weight)),
        model=_model(options),
        parameters=options.parameters,
        calibration=options.calibration,
        output=output,
        overwrite=getattr(options, "force", False),
        on=chosen_source(options),
        on_tick=on_tick,
        keep=on_tick is None,  # what was shown is over
    )


def _model(options: argparse.Namespace) -> str:
    """Return the model that was asked for, or one that knows processes if some are given."""
    return options.model or ("default" if options.parameters is None else "choice")


def _weight(text: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not (name and equals and 0 <= value < float("inf")):
        raise UsageError(f"'{text}' is no weight: write NAME=X, as in cache-misses=5.")
    return name, value


def _print(state: State, options: argparse.Namespace) -> None:
    from gnomon.analysis.estimate.metrics import metrics_of
    from gnomon.views.state import print_state, state_as_json

    metrics = metrics_of(state)
    if options.json:
        from gnomon.views.envelope import envelope

        origin = state.provenance
        print(
            envelope(
                "state",
                state_as_json(state, metrics),
                source=origin.source,
                simulated=origin.simulated,
                warnings=state.warnings,
            )
        )
        return
    print_state(state, metrics, sys.stdout)
    for text in state.warnings:
        print(f"warning: {text}", file=sys.stderr)


def _exit_code(state: State) -> int:
    if state.failed:
        return 1
    return state.run.exit_status or (130 if state.interrupted else 0)
