"""`gnomon locality --advise`: which placement of memory would help a program."""

from __future__ import annotations

import argparse
import sys

from gnomon.cli.html import write_html
from gnomon.cli.options import chosen_machine
from gnomon.errors import UsageError
from gnomon.launch import Command


def add_advice_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for advice on placement."""
    group = parser.add_argument_group("advice")
    group.add_argument(
        "--advise",
        action="store_true",
        help="try other placements on the machine, say which help and how much",
    )
    group.add_argument(
        "--margin", metavar="PERCENT", help="leave out what saves less of the time (3)"
    )


def check_margin(options: argparse.Namespace) -> None:
    """Complain about a margin where no advice is asked for."""
    if options.margin is not None and not options.advise:
        raise UsageError("--margin is for advice: give --advise as well.")


def run_advice(options: argparse.Namespace, unused: dict[str, object]) -> int:
    """Profile, try, show; returns the program's exit status.

    `unused` are the options that have nothing to say here, with their defaults.
    """
    for name, default in unused.items():
        if name not in ("on", "seed") and getattr(options, name) != default:
            raise UsageError(
                f"--{name.replace('_', '-')} is for counters: leave it out with --advise."
            )
    if options.recording is not None or not options.argv:
        raise UsageError("advice needs a program to run: give a workload or a command after --.")
    machine = chosen_machine(options)
    if machine is None:
        raise UsageError(
            "placements are tried on a simulated machine: name one with --on, as in --on ring-4."
        )
    from gnomon.analysis.locality.advisor import MARGIN, advise
    from gnomon.views.advice import advice_bar

    margin = MARGIN if options.margin is None else _share(options.margin)
    command = Command(tuple(options.argv), stdout=2 if options.json else None)
    with advice_bar() as progress:
        advice = advise(command, on=machine, margin=margin, progress=progress)
    if options.json:
        from gnomon.views.advice import advice_as_json
        from gnomon.views.envelope import envelope

        print(
            envelope(
                "locality",
                {"advice": advice_as_json(advice)},
                source=machine.name,
                simulated=True,
                warnings=advice.warnings,
            )
        )
    else:
        from gnomon.views.advice import print_advice

        print_advice(advice, sys.stdout)
        for text in advice.warnings:
            print(f"warning: {text}", file=sys.stderr)
    from gnomon.views.report.advice import advice_page

    write_html(options, lambda: advice_page(advice))
    return advice.exit_status or 0


def _share(text: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 < percent < 100:
        raise UsageError(f"--margin '{text}' is no share of the time: give percent, as in 3.")
    return percent / 100
