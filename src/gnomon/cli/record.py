"""Count events over time and keep all readings in a recording.

The counters are read every 10 ms, on a simulated machine every 10 us of its time, or as
-i says. Without -o the recording is named after the program, with a number where that
name is taken. `gnomon show` shows it, `gnomon convert` gives it to other tools. The exit
status is the program's own, as with `gnomon count`.

examples:
  gnomon record -- ./program arg
  gnomon record -e task-clock,page-faults -i 20ms -o run.gnomon -- ./program
  gnomon record --on laptop -- workload:ramp-compute
  gnomon record -p 1234 --duration 5s -o five-seconds
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

from gnomon.analysis.count import count
from gnomon.analysis.summary import CountResult
from gnomon.cli.counting import (
    add_counting_options,
    counting_source,
    counting_target,
    with_ending,
)
from gnomon.sources.base import Command, Cpus, Process, Target

_INTERVAL = "10ms"
_SIMULATED_INTERVAL = "10us"  # simulated programs take milliseconds


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon record`."""
    add_counting_options(parser)
    parser.add_argument("-i", "--interval", metavar="TIME", help=f"read every TIME ({_INTERVAL})")


def run(options: argparse.Namespace) -> int:
    """Count into a recording, show the totals, and return the program's exit status."""
    target = counting_target(options)
    output = with_ending(options.output) if options.output else free_recording(target)
    source = counting_source(options)
    usual = _SIMULATED_INTERVAL if source.capabilities.own_time else _INTERVAL
    result = count(
        target,
        options.events,
        repeat=options.repeat,
        interval=options.interval or usual,
        duration=options.duration,
        output=output,
        overwrite=options.force,
        on=source,
    )
    _show(result, output, json=options.json)
    if result.nothing_counted:
        return 1
    return result.exit_status or (130 if result.interrupted else 0)


def free_recording(target: Target) -> str:
    """Return a name after what is recorded that no recording has yet."""
    match target:
        case Command(argv=argv) | Cpus(command=Command(argv=argv)):
            # A workload of a simulated machine is written workload:NAME.
            stem = Path(argv[0]).name.rpartition(":")[2] or "run"
        case Process(pid=pid):
            stem = f"process-{pid}"
        case _:
            stem = "cpus"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(name for each in names if not Path(name := with_ending(each)).exists())


def _show(result: CountResult, output: str, *, json: bool) -> None:
    from gnomon.views.counts import print_counts, rows_as_json

    if json:
        from gnomon.views.envelope import envelope

        origin = result.provenance
        results = {"recording": output, "totals": rows_as_json(result.counts)}
        print(
            envelope(
                "record",
                results,
                source=origin.source,
                simulated=origin.simulated,
                warnings=result.warnings,
            )
        )
        return
    print_counts(result, sys.stdout)
    for text in result.warnings:
        print(f"warning: {text}", file=sys.stderr)
    print(f"  recorded; `gnomon show {output}` shows its course")
