"""Write a report of one or more recordings as a single HTML file.

The file needs nothing else: it opens from disk, prints well and follows a dark desktop. A
survey is shown with what matters first, other recordings with their totals and their course
over time; two recordings are compared as well.

examples:
  gnomon report run.gnomon
  gnomon report before.gnomon after.gnomon -o change.html
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gnomon.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon report`."""
    parser.add_argument("recordings", nargs="+", metavar="REC", help=".gnomon folders")
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="the file")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(options: argparse.Namespace) -> int:
    """Write the report and say where it is."""
    from gnomon.views.report.assemble import report_page
    from gnomon.views.report.page import write_page

    path = Path(options.output)
    if path.exists() and not options.force:
        raise UsageError(f"'{path}' already exists: choose another name with -o, or --force.")
    page = report_page(options.recordings)
    write_page(page, path)
    if options.json:
        from gnomon.views.envelope import envelope

        results = {"file": str(path), "sections": [section.title for section in page.sections]}
        print(envelope("report", results, simulated=page.simulated, warnings=page.warnings))
    else:
        print(f"wrote {path}")
    return 0
