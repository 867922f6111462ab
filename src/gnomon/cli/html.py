"""The option of commands that can write what they show as a report as well."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli.present import check_new_file

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


def write_html(options: argparse.Namespace, page: Callable[[], Page]) -> None:
    """Write the report when one was asked for, and say where it is."""
    if options.html is None:
        return
    from gnomon.views.report.page import write_page

    write_page(page(), Path(options.html))
    print(f"  report in {options.html}", file=sys.stderr if options.json else sys.stdout)
