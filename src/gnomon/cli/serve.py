"""Show the report of recordings in a browser, live while they are being written.

The page is served on this host only. It is made anew when a recording has grown, so that a
survey can be watched while it runs. Ctrl-C ends it.

examples:
  gnomon serve program-survey.gnomon
  gnomon serve run.gnomon --port 8080
"""

from __future__ import annotations

import argparse
import contextlib

from gnomon.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon serve`."""
    parser.add_argument("recordings", nargs="+", metavar="REC", help=".gnomon folders")
    parser.add_argument("--port", type=int, default=0, help="the port, by default any free one")
    parser.add_argument("--host", default="127.0.0.1", help="the address, by default this host")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from gnomon.recording import Recording
    from gnomon.views.report.assemble import report_page
    from gnomon.views.report.page import render_page
    from gnomon.views.report.serve import ReportServer

    if not 0 <= options.port < 1 << 16:
        raise UsageError(f"{options.port} is no port: choose from 0 to 65535.")
    for path in options.recordings:
        Recording.open(path).close()  # what is no recording is better said at once

    def version() -> str:
        with contextlib.ExitStack() as stack:
            opened = [stack.enter_context(Recording.open(path)) for path in options.recordings]
            return " ".join(f"{len(r.runs)}:{r.count()}:{r.complete}" for r in opened)

    def render() -> str:
        return render_page(report_page(options.recordings, live=True))

    try:
        server = ReportServer((options.host, options.port), render, version)
    except OSError as error:
        raise UsageError(
            f"the report cannot be served on {options.host}:{options.port}: {error.strerror}."
        ) from None
    if options.json:
        from gnomon.views.envelope import envelope

        print(envelope("serve", {"url": server.url}), flush=True)
    else:
        print(f"the report is at {server.url} (Ctrl-C ends it)", flush=True)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0
