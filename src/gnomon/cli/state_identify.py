"""The word `identify` of `gnomon state`: which process each event of recordings follows."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.analysis.estimate.identify import Closure, Identification


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon state identify`."""
    parser.add_argument("recordings", nargs="+", metavar="REC", help="recordings made with -i")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="these events only, as in a,b")
    parser.add_argument(
        "--closure", metavar="N", type=int, default=0, help="simulate each process N times as well"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the simulation (0)")
    parser.add_argument("--machine", metavar="NAME", help="store under this name of a machine")
    parser.add_argument("--workload", metavar="NAME", help="store under this name of a workload")
    parser.add_argument("--store", action="store_true", help="keep what was found for later runs")


def run(options: argparse.Namespace) -> int:
    """Identify, show, and store if asked to."""
    from dataclasses import replace

    from gnomon.analysis.estimate.identify import identify, store_parameters

    if options.closure < 0:
        raise UsageError("--closure is a number of simulations, as in --closure 10.")
    events = None
    if options.events is not None:
        events = [each.strip() for each in options.events.split(",") if each.strip()]
        if not events:
            raise UsageError("-e names no event: write them as in -e instructions,cycles.")
    found = identify(options.recordings, events)
    if options.machine or options.workload:
        found = replace(
            found,
            machine=options.machine or found.machine,
            workload=options.workload or found.workload,
        )
    closures = _closures(found, options.closure, options.seed)
    stored = store_parameters(found) if options.store else None
    _show(found, closures, options, stored)
    if stored is not None and not options.json:
        print(f"\n  stored in {stored}")
    return 0


def _closures(found: Identification, repeats: int, seed: int) -> dict[str, Closure]:
    if repeats == 0:
        return {}
    from gnomon.analysis.estimate.identify import close

    return {
        name: close(each, found.interval, samples=each.samples, sets=1, repeats=repeats, seed=seed)
        for name, each in found.processes.items()
        if not each.doubt
    }


def _show(
    found: Identification,
    closures: dict[str, Closure],
    options: argparse.Namespace,
    stored: Path | None,
) -> None:
    from gnomon.views.identification import identification_as_json, print_identification

    if options.json:
        from gnomon.views.envelope import envelope

        print(
            envelope(
                "state",
                identification_as_json(found, closures)
                | ({} if stored is None else {"stored": str(stored)}),
                source=found.source,
                simulated=found.simulated,
                warnings=found.warnings,
            )
        )
        return
    print_identification(found, closures, sys.stdout)
    for text in found.warnings:
        print(f"warning: {text}", file=sys.stderr)
