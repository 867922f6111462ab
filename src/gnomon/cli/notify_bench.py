"""Time messages between two processes of this host, by every mechanism there is.

Each mechanism is timed in regimes that are reported apart: `idle` (two cores, the waiting one
halts), `awake` (two cores kept from halting by a process of the lowest priority), `siblings`
(two threads of a core, where there are any) and `same-core`. In a virtual machine waking a
halted CPU is the hypervisor's work and can cost ten times as much as the kernel's: compare
`idle` with `awake`. Sizes from 0 to 1 MiB are tried in one regime, and Hockney, LogGP and
PLogP are fitted to them. What cannot be measured here is listed with the reason.

examples:
  gnomon notify bench
  gnomon notify bench -m poll,futex,tcp -r awake,same-core -d 5s
  gnomon notify bench --sizes 0,64,4KiB,64KiB,1MiB -o bench.gnomon
  gnomon notify bench --sizes none -e context-switches,instructions
  gnomon notify bench --from bench.gnomon --html bench.html
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gnomon.cli import present
from gnomon.cli.counting import with_ending
from gnomon.cli.notify_options import SPIN, add_host_options, listed, listed_cpus, session_bar
from gnomon.errors import UsageError
from gnomon.units import parse_size

if TYPE_CHECKING:
    from gnomon.analysis.messages import Bench

_DURATION = "40s"  # named here, so that --help loads no more


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon notify bench`."""
    add_host_options(parser, _DURATION)
    parser.add_argument(
        "-r", "--regimes", metavar="LIST", help="of idle, awake, siblings, same-core (all)"
    )
    parser.add_argument("-s", "--sizes", metavar="LIST", help="as in 0,64,4KiB; none: only 0")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="count these per message; or none")
    parser.add_argument("-o", "--output", metavar="REC", help="record histograms and counts")
    parser.add_argument("--from", dest="recorded", metavar="REC", help="show a recording again")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    present.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, or read what was measured; show it."""
    present.check(options)
    result = _result(options)
    notes = [f"\nrecorded in {with_ending(options.output)}"] if options.output else []
    present.present("notify bench", options, result, *notes)
    return 0


def _result(options: argparse.Namespace) -> Bench:
    from gnomon.analysis.messages import bench, bench_of

    mechanisms = listed(options.mechanisms, "--mechanisms")
    regimes = listed(options.regimes, "--regimes")
    if options.recorded is not None:
        _refuse_what_was_measured(options)
        return bench_of(options.recorded, mechanisms=mechanisms, regimes=regimes)
    with session_bar() as on_step:
        return bench(
            mechanisms=mechanisms,
            regimes=regimes,
            sizes=_sizes(options.sizes),
            cpus=listed_cpus(options.cpus),
            duration=options.duration,
            spin=options.spin,
            events=_events(options.events),
            output=with_ending(options.output) if options.output else None,
            overwrite=options.force,
            on_step=on_step,
        )


def _refuse_what_was_measured(options: argparse.Namespace) -> None:
    if options.output is not None:
        raise UsageError("--from shows what was measured, -o records it: choose one.")
    given = {
        "--sizes": options.sizes is not None,
        "--events": options.events is not None,
        "--cpus": options.cpus is not None,
        "--duration": options.duration != _DURATION,
        "--spin": options.spin != SPIN,
    }
    for option, is_given in given.items():
        if is_given:
            raise UsageError(
                f"{option} is for measuring, --from shows what was measured: choose one."
            )


def _sizes(text: str | None) -> list[int] | None:
    if text == "none":
        return []
    words = listed(text, "--sizes")
    return None if words is None else [parse_size(word, "--sizes") for word in words]


def _events(text: str | None) -> list[str] | None:
    return [] if text == "none" else listed(text, "--events")
