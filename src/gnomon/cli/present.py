"""The one way in which commands show a result, and the options that say how.

add_options(parser)                # in configure()
check(options)                     # first in run(): before anything is measured
present("name", options, result)   # last: JSON, CSV or words, and a page if asked for
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.result import Result


def add_options(parser: argparse._ActionsContainer) -> None:
    """Add the options of looking; --json is there already, for every command."""
    parser.add_argument("--html", metavar="FILE", help="also write a page: one HTML file")
    parser.add_argument("--csv", action="store_true", help="print the tables as CSV")
    parser.add_argument("--all", action="store_true", help="show everything, with all folds open")
    modes = ("auto", "always", "never")
    parser.add_argument("--color", choices=modes, default="auto", help="colour the output")


def add_brief(parser: argparse._ActionsContainer) -> None:
    """Add --brief, for results that begin with an answer."""
    text = "print the answer and the findings alone, at most 12 lines to paste"
    parser.add_argument("--brief", action="store_true", help=text)


def check(options: argparse.Namespace) -> None:
    """Complain before anything is measured when the result could not be shown as asked."""
    if options.json and options.csv:
        raise UsageError("--json and --csv are two forms of the same output: choose one.")
    if options.html is not None:
        from gnomon.recording.files import check_new

        force = getattr(options, "force", False) or getattr(options, "overwrite", False)
        check_new(Path(options.html), "the page", force=bool(force))


def takes_output(options: argparse.Namespace) -> bool:
    """Whether standard output is for data, so that a measured program must not write there."""
    return bool(options.json or getattr(options, "csv", False))


def present(command: str, options: argparse.Namespace, result: Result, *notes: str) -> None:
    """Show a result as the options say; `notes` are lines below it, such as where it is kept.

    Warnings go to standard error, and so does what is not part of the data that was asked for.
    """
    from gnomon.views import show

    if options.json:
        print(envelope_of(command, result))
    elif options.csv:
        _print_csv(show.csv_of(result))
        show.warn(result.warnings)
    else:
        brief = getattr(options, "brief", False)
        show.show(result, sys.stdout, everything=options.all, colour=options.color, brief=brief)
        for note in () if brief else notes:
            show.say(note)
    if options.html is not None:
        show.write_page(options.html, result, title=f"gnomon {command}")
        show.say(f"page: {options.html}", sys.stderr if takes_output(options) else sys.stdout)


def _print_csv(text: str) -> None:
    if sys.stdout.isatty():
        from gnomon.views.terminal import screen_of

        clean = screen_of(sys.stdout).clean
        text = "\n".join(map(clean, text.split("\n")))
    sys.stdout.write(text)


def envelope_of(command: str, result: Result) -> str:
    """Return the JSON object that a command prints."""
    from gnomon.result import Simulated
    from gnomon.views.envelope import envelope

    origin = result.provenance
    return envelope(
        command,
        result.to_json(),
        source=origin.source if origin is not None else None,
        simulated=result.simulated is Simulated.YES,
        warnings=result.warnings,
    )
