"""Count events while a program runs, in a running process, or on whole CPUs.

Without -e, counts a default set of the events this machine has. An event that cannot be
counted is reported with the reason; the exit status is the program's own, or 1 when
nothing at all could be counted. With --json or --csv the program's output goes to stderr.
With -o every reading is stored in a recording; without REC it is named after the program,
with a number where that name is taken. `gnomon show` shows it, `gnomon convert` exports it to
other tools.

examples:
  gnomon count -- ./program arg
  gnomon count -e task-clock,page-faults -r 5 -- ./program
  gnomon count -e '{cycles,instructions}:u' -- ./program
  gnomon count -e PAPI_TOT_INS,PAPI_TOT_CYC -m ipc -- ./program
  gnomon count --on valgrind -- ./program
  gnomon count -e valgrind::Ir,valgrind::D1mr -- ./program
  gnomon count --on laptop -- workload:triad size=64MB threads=8
  gnomon count -i 10ms -o -- ./program
  gnomon count -i 10ms -o run.gnomon -- ./program
  gnomon count -p 1234 --duration 5s
  gnomon count -a -e context-switches --duration 1s
"""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from gnomon.analysis.count import count
from gnomon.cli import options, present
from gnomon.units import parse_duration

if TYPE_CHECKING:
    from gnomon.measure.campaign import OnProgress
    from gnomon.measure.run import Sink


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon count`."""
    options.add(parser, "events", "simulation", "repeat", "interval", "target", "campaign",
                repeat=1, seed="seed of the simulation (1)")  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="REC", nargs="?", const=True, help="write a recording"
    )
    options.add(parser, "overwrite")
    parser.add_argument(
        "-m", "--metrics", metavar="NAMES", help="metrics, as in ipc,cpu_utilisation, or all"
    )
    parser.add_argument(
        "--per-scope", action="store_true", help="one line per CPU, thread or process"
    )
    options.add(parser, "looks", "argv")


def run(given: argparse.Namespace) -> int:
    """Count, show, and return the program's exit status."""
    present.check(given)
    target = options.target(given)
    with _progress(given) as show:
        result = options.call(
            count,
            given,
            target,
            on=options.source_asked_for(given),
            on_readings=_live(given),
            on_progress=show,
        )
    kept = result.recording
    present.present(
        "count",
        given,
        result,
        *([f"recorded; `gnomon show {kept}` shows it again"] if kept else []),
    )
    if result.nothing_counted:
        return 1
    return result.exit_status or (130 if result.interrupted else 0)


def _progress(given: argparse.Namespace) -> AbstractContextManager[OnProgress | None]:
    """Return what tells how far a campaign is; a single run has nothing to tell."""
    if given.repeat == 1 and not given.warmup and not given.resume:
        return nullcontext()
    from gnomon.cli.campaigns import campaign_progress

    return campaign_progress(given, bar=given.repeat > 1 and not given.interval)


def _live(given: argparse.Namespace) -> Sink | None:
    """Slices are printed as they come when nothing else keeps them."""
    if given.interval is None or given.output is not None or options.takes_output(given):
        return None
    from gnomon.views.live import SlicePrinter

    return SlicePrinter(sys.stdout, parse_duration(given.interval)).take
