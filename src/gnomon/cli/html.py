"""The option of commands that can write what they show as a report as well."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, UsageError

if TYPE_CHECKING:
    from gnomon.views.report.page import Page


def add_html_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the file of a report."""
    parser.add_argument("--html", metavar="FILE", help="write a report as one HTML file")


def check_html(options: argparse.Namespace) -> None:
    """Complain before anything is measured when the report could not be written."""
    if options.html is None:
        return
    check_new_file(Path(options.html), "the report", force=options.force)
    from gnomon.views.report.page import require_report

    require_report()


def check_new_file(path: Path, what: str, *, force: bool) -> None:
    """Complain when a file cannot be written, or is there already and is not to be replaced."""
    if path.is_dir() or not path.name:
        raise UsageError(f"'{path}' is a folder: name a file for {what}.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder '{path.parent}' for {what}: make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise GnomonError(
            f"cannot write '{path}': permission is denied; choose a place that you may write to."
        )
    if path.exists() and not force:
        raise UsageError(f"'{path}' already exists: choose another name, or --force.")


def write_html(options: argparse.Namespace, page: Callable[[], Page]) -> None:
    """Write the report when one was asked for, and say where it is."""
    if options.html is None:
        return
    from gnomon.views.report.page import write_page

    write_page(page(), Path(options.html))
    print(f"  report in {options.html}", file=sys.stderr if options.json else sys.stdout)
