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
from typing import TYPE_CHECKING

from gnomon.cli import present
from gnomon.cli.campaigns import add_campaign_options, campaign_progress
from gnomon.cli.options import add_on_option
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.survey import SurveyResult


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon survey`."""
    parser.add_argument("recording", nargs="?", metavar="REC", help="show a survey made before")
    parser.add_argument("-r", "--repeat", metavar="N", type=int, default=3, help="runs a batch")
    parser.add_argument("-e", "--events", metavar="EVENTS", help="only these events")
    parser.add_argument("-o", "--output", metavar="REC", help="where to record it")
    add_on_option(parser, "where to count, several with commas: host,valgrind,laptop")
    parser.add_argument("--one-run", action="store_true", help="let events take turns in one run")
    parser.add_argument("-i", "--interval", metavar="TIME", help="longest turn of --one-run (20ms)")
    add_campaign_options(parser, resume=False)
    parser.add_argument("--seed", type=int, default=1, help="of the order of runs")
    parser.add_argument(
        "--resume",
        nargs="?",
        const=True,
        default=False,
        metavar="REC",
        help="only go on with what was interrupted before, in REC without a command",
    )
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
    from gnomon.sources.base import Command

    if options.recording is not None:
        if options.argv or options.resume:
            raise UsageError("a survey is either shown or made: leave the command away.")
        with Recording.open(options.recording) as recording:
            return surveys.survey_of(recording)
    with campaign_progress(options) as show:
        if isinstance(options.resume, str):
            if options.argv:
                raise UsageError("--resume REC knows the command from the recording: omit it.")
            return surveys.resume(options.resume, timeout=options.timeout, on_progress=show)
        if not options.argv:
            raise UsageError("nothing to survey: give a command after --, or a recording.")
        return surveys.survey(
            Command(tuple(options.argv), stdout=2 if present.takes_output(options) else None),
            options.events,
            output=options.output,
            repeat=options.repeat,
            on=options.on,
            one_run=options.one_run,
            interval=options.interval,
            timeout=options.timeout,
            warmup=options.warmup,
            resume=options.resume,
            seed=options.seed,
            overwrite=options.force,
            on_progress=show,
        )
