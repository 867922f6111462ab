"""Put recordings and saved results on one page: an HTML file, or a page served live.

The file is self-contained: it opens from disk, prints well and has a dark mode. Each
recording and each result is shown as by its own command;
two recordings are also compared. With --serve the page is served over HTTP instead, on
this host only, and updated when a recording grows; Ctrl-C stops it.

examples:
  gnomon report run.gnomon
  gnomon report before.gnomon after.gnomon -o change.html
  gnomon report survey.json run.gnomon
  gnomon report --serve program-survey.gnomon --port 8080
"""

from __future__ import annotations

import argparse
import contextlib

from gnomon.cli import options
from gnomon.errors import UsageError

_FILE = "report.html"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon report`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=".gnomon folders or JSON files")
    options.add(parser, "output", "overwrite", output=f"the page ({_FILE})")
    parser.add_argument(
        "--serve", action="store_true", help="serve the page live instead of writing it"
    )
    parser.add_argument("--port", type=int, help="port of --serve (any free one)")
    parser.add_argument("--host", help="address of --serve (127.0.0.1)")


def run(given: argparse.Namespace) -> int:
    """Write the page and say where it is, or serve it."""
    if given.serve:
        return _serve(given)
    if given.port is not None or given.host is not None:
        raise UsageError("--port and --host need --serve.")
    from gnomon.analysis.recorded import report

    page = options.call(report, given, given.files)
    file = given.output or _FILE
    if given.json:
        from gnomon.result import Simulated
        from gnomon.views.envelope import envelope

        warnings = dict.fromkeys(text for each in page.results for text in each.warnings)
        kinds = [each.kind for each in page.results]
        simulated = all(each.simulated is Simulated.YES for each in page.results)
        found = {"file": file, "results": kinds}
        print(envelope("report", found, simulated=simulated, warnings=[*warnings]))
    else:
        print(f"wrote {file}")
    return 0


def _serve(given: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from gnomon.analysis.recorded import ReportPage, version_of
    from gnomon.views.html.serve import ReportServer

    if given.output is not None:
        raise UsageError("-o writes the page to a file and --serve shows it live: choose one.")
    host, port = given.host or "127.0.0.1", given.port or 0
    if not 0 <= port < 1 << 16:
        raise UsageError(f"{port} is not a port: choose from 0 to 65535.")

    def version() -> str:
        return " ".join(map(version_of, given.files))

    version()  # what is no recording is better said at once
    try:
        server = ReportServer(
            (host, port), lambda: ReportPage.of(given.files).html(following=True), version
        )
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}.") from None
    if given.json:
        from gnomon.views.envelope import envelope

        print(envelope("report", {"url": server.url}), flush=True)
    else:
        print(f"the report is at {server.url} (Ctrl-C ends it)", flush=True)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0
