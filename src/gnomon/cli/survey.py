"""Say where the time of a program goes: on a CPU, or waiting for what; then count its events.

One plain run comes first: its elapsed time is divided by cause, and the answer is the first
line. Then the program is run once for each batch of events that fit on the counters together,
as often as three times its time and a second allow; -r N and --all go above that.
--on selects where to count. Every run is recorded as it ends: after Ctrl-C, the same command
or --resume continues where the survey stopped.

examples:
  gnomon survey -- ./program arg
  gnomon survey --brief -- ./program
  gnomon survey --all -- ./program
  gnomon survey -r 10 -o before.gnomon -- ./program
  gnomon survey --on host -- ./program
  gnomon survey --on host,laptop -- ./program
  gnomon survey --on niagara2 -- workload:spmv threads=64
  gnomon survey --one-run -- ./program
  gnomon survey -p 1234 -d 2s
  gnomon survey --resume program-survey.gnomon
  gnomon survey program-survey.gnomon --all
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gnomon.analysis import survey as surveys
from gnomon.cli import options, present
from gnomon.cli.campaigns import campaign_progress
from gnomon.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon survey`."""
    parser.add_argument("recording", nargs="?", metavar="REC", help="show a survey made before")
    options.add(
        parser,
        "repeat",
        "events",
        "output",
        repeat="run each batch N times (up to 3, as time allows)",
    )
    options.add(parser, "on", on="where to count; several with commas, as in host,valgrind,laptop")
    parser.add_argument("--one-run", action="store_true", help="let events take turns in one run")
    options.add(parser, "interval", interval="longest turn of an event set with --one-run (20ms)")
    options.add(parser, "target", duration="length of a run (1s with -p, -a or -C)")
    options.add(
        parser, "timeout", "warmup", "show_output", "seed", seed="seed of the run order (1)"
    )
    text = "continue an interrupted survey, that of REC without a command; never start one"
    parser.add_argument("--resume", nargs="?", const=True, default=False, metavar="REC", help=text)
    options.add(parser, "overwrite", "looks")
    present.add_brief(parser)
    parser.set_defaults(argv=[])


def run(given: argparse.Namespace) -> int:
    """Survey, or show a survey that was made before; 130 when it was interrupted."""
    present.check(given)
    result = _result(given)
    notes = [f"recorded in {_nearby(result.recording)}"] if given.recording is None else []
    present.present("survey", given, result, *notes)
    return 0 if result.complete else 130


def _nearby(path: str) -> str:
    """Return a path as seen from here, when it is not elsewhere."""
    place, here = Path(path), Path.cwd()
    return str(place.relative_to(here) if place.is_relative_to(here) else place)


def _result(given: argparse.Namespace) -> surveys.SurveyResult:
    if given.recording is not None:
        from gnomon.recording import Recording

        if given.argv or given.resume:
            raise UsageError("a recording and a command were given: omit the command.")
        options.refuse_given(given, "target", reason="is for making a survey: omit the recording.")
        with Recording.open(given.recording) as recording:
            return surveys.survey_of(recording)
    with campaign_progress(given) as show:
        if isinstance(given.resume, str):
            if given.argv:
                raise UsageError("--resume REC takes the command from the recording: omit it.")
            options.refuse_given(given, "target", reason="cannot be combined with --resume REC.")
            return options.call(surveys.resume, given, given.resume, on_progress=show)
        target = options.target(given, "survey", limited=True)
        return options.call(surveys.survey, given, target, everything=given.all, on_progress=show)
