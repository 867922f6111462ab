"""Measure every event that can be counted over a program, and say which matter.

The program is run once for each batch of events that fit on the counters together, the
batches in random order, and all of that several times, so that no event is extrapolated.
Without a PMU the kernel's software events and, where valgrind is installed, its exact counts
are taken; --on chooses other sources. Every finished run is recorded at once: after
Ctrl-C, the same command or --resume goes on where the survey stopped.

examples:
  gnomon survey -- ./program arg
  gnomon survey -r 10 -o before.gnomon -- ./program
  gnomon survey --on host -- ./program
  gnomon survey --on host,laptop -- ./program
  gnomon survey --on niagara2 -- workload:spmv threads=64
  gnomon survey --one-run -- ./program
  gnomon survey --resume program-survey.gnomon
  gnomon survey program-survey.gnomon --all
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gnomon.cli import present
from gnomon.cli.options import add_on_option
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.survey import SurveyResult
    from gnomon.analysis.survey.runs import OnProgress


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon survey`."""
    parser.add_argument("recording", nargs="?", metavar="REC", help="show a survey made before")
    parser.add_argument("-r", "--repeat", metavar="N", type=int, default=3, help="runs a batch")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="only these events")
    parser.add_argument("-o", "--output", metavar="REC", help="where to record it")
    add_on_option(parser, "where to count, several with commas: host,valgrind,laptop")
    parser.add_argument("--one-run", action="store_true", help="let events take turns in one run")
    parser.add_argument("-i", "--interval", metavar="TIME", help="longest turn of --one-run (20ms)")
    parser.add_argument("--timeout", metavar="TIME", help="end a run that takes longer")
    parser.add_argument("--seed", type=int, default=1, help="of the order of runs")
    parser.add_argument("--resume", metavar="REC", help="make the runs that a survey lacks")
    parser.add_argument("--force", action="store_true", help="replace an existing recording")
    present.add_options(parser)
    parser.set_defaults(argv=[])


def run(options: argparse.Namespace) -> int:
    """Survey, or show a survey that was made before."""
    present.check(options)
    result = _result(options)
    notes = [] if options.recording is not None else [f"recorded in {_nearby(result.recording)}"]
    present.present("survey", options, result, *notes)
    return 0 if result.complete else 130


def _nearby(path: str) -> str:
    """Return a path as seen from here, when it is not elsewhere."""
    from pathlib import Path

    place, here = Path(path), Path.cwd()
    return str(place.relative_to(here) if place.is_relative_to(here) else place)


def _result(options: argparse.Namespace) -> SurveyResult:
    from gnomon.analysis import survey as surveys
    from gnomon.recording import Recording

    if options.recording is not None:
        if options.argv or options.resume:
            raise UsageError("a survey is either shown or made: leave the command away.")
        with Recording.open(options.recording) as recording:
            return surveys.survey_of(recording)
    with _progress(options) as on_progress:
        if options.resume is not None:
            if options.argv:
                raise UsageError("--resume knows the command from the recording: leave it away.")
            return surveys.resume(options.resume, timeout=options.timeout, on_progress=on_progress)
        if not options.argv:
            raise UsageError("nothing to survey: give a command after --, or a recording.")
        return _new(options, on_progress)


def _new(options: argparse.Namespace, on_progress: OnProgress | None) -> SurveyResult:
    from gnomon.analysis import survey as surveys
    from gnomon.sources.base import Command

    command = Command(tuple(options.argv), stdout=2 if present.takes_output(options) else None)
    output = options.output or surveys.default_output(options.argv)
    if not options.force and surveys.resumable(output, command.argv):
        print(f"gnomon: going on with the survey in {output}", file=sys.stderr)
        return surveys.resume(output, timeout=options.timeout, on_progress=on_progress)
    return surveys.survey(
        command,
        options.events,
        output=output,
        repeat=options.repeat,
        on=options.on,
        one_run=options.one_run,
        interval=options.interval,
        timeout=options.timeout,
        seed=options.seed,
        overwrite=options.force,
        on_progress=on_progress,
    )


@contextmanager
def _progress(options: argparse.Namespace) -> Iterator[OnProgress | None]:
    """Show how many runs are done and how long the rest takes, on a terminal only."""
    if options.json or not sys.stderr.isatty():
        yield None
        return
    from gnomon.views.progress import survey_bar

    with survey_bar() as show:
        yield lambda p: show(p.done, p.total, p.left, p.batch.origin)
