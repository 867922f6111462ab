"""Show a recording of any kind, or a result that was saved as JSON.

A recording is shown as by the command that made it: a survey as a survey, growth as
growth, estimates as they were stored. With --readings, -e, --run or --per-scope it is shown
as raw readings: totals, and rates over time. A result is the output of a command with
--json, and is shown as by that command.

examples:
  gnomon show survey.json --html survey.html
  gnomon show run.gnomon
  gnomon show run.gnomon -e page-faults,task-clock
  gnomon show run.gnomon --run 2 --per-scope
  gnomon show program-survey.gnomon --readings --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gnomon.cli import present  # and no more: a saved result is shown at once
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon show`."""
    parser.add_argument("file", metavar="FILE", help="a .gnomon folder, or a JSON file")
    parser.add_argument(
        "--readings", action="store_true", help="show totals and rates over time, for any kind"
    )
    parser.add_argument(
        "-e", "--events", metavar="EVENTS", help="only these events, separated by commas"
    )
    parser.add_argument("--run", metavar="N", type=int, help="only run N")
    parser.add_argument("--per-scope", action="store_true", help="one line per CPU or thread")
    parser.add_argument("--salvage", action="store_true", help="skip damaged files")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    present.add_options(parser)
    present.add_brief(parser)


def run(given: argparse.Namespace) -> int:
    """Show a result as it describes itself."""
    present.check(given)
    present.present("show", given, _result(given))
    return 0


def _result(given: argparse.Namespace) -> Result:
    wanted = given.events is not None or given.run is not None
    readings = given.readings or given.per_scope or wanted
    from gnomon.result_types import is_result, load_result

    if is_result(given.file):
        if readings or given.salvage:
            raise UsageError("--readings, -e, --run, --per-scope and --salvage are for recordings.")
        return load_result(given.file)
    from gnomon.analysis.recorded import recording_of, results_of
    from gnomon.recording import Recording

    with Recording.open(given.file, salvage=given.salvage) as recording:
        if not readings:
            return results_of(recording)[0]
        names = given.events and [n.strip() for n in given.events.split(",") if n.strip()]
        return recording_of(recording, names, run=given.run, per_scope=given.per_scope)
