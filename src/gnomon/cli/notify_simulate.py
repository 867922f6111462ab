"""Run a message program on simulated clusters, and show what it did on each of them.

Programs are ping-pongs, exchanges, servers and the ray tracer of the model; clusters differ
in how their processors are told of messages: by the kernel, at user level, or by polling.
Without a program, all of them are listed with their parameters.

examples:
  gnomon notify simulate
  gnomon notify simulate ping-pong
  gnomon notify simulate ping-pong --timeline 12
  gnomon notify simulate key-value --json
"""

from __future__ import annotations

import argparse
import sys

from gnomon.cli.html import add_html_option, check_html, write_html
from gnomon.cli.options import checked_seed
from gnomon.errors import UsageError

_MOST_TRACED = 100_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon notify simulate`."""
    parser.add_argument(
        "program", nargs="?", metavar="PROGRAM", help="a message program; without one, list them"
    )
    parser.add_argument("words", nargs="*", metavar="KEY=VALUE", help="parameters of the program")
    parser.add_argument(
        "--on",
        metavar="CLUSTER",
        action="append",
        default=[],
        help="a cluster, or its .toml file; may be repeated (all that come with gnomon)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the simulation (1)")
    parser.add_argument(
        "--timeline", type=int, default=0, metavar="N", help="show the first N steps of messages"
    )
    add_html_option(parser)
    parser.add_argument("--force", action="store_true", help="replace an existing report")


def run(options: argparse.Namespace) -> int:
    """Run the program on each cluster and show what it did."""
    from gnomon.messaging.simulator.comparison import CLUSTERS, compare_clusters
    from gnomon.views.cluster_runs import (
        comparison_as_json,
        print_comparison,
        print_programs,
        programs_as_json,
    )
    from gnomon.views.envelope import envelope
    from gnomon.views.progress import progress_bar
    from gnomon.views.report.cluster_runs import TRACED, comparison_page

    if options.program is None:
        if options.html is not None:
            raise UsageError("--html is for a program that is run: name one, as in ping-pong.")
        if options.json:
            print(envelope("notify simulate", programs_as_json()))
        else:
            print_programs(sys.stdout)
        return 0
    if not 0 <= options.timeline <= _MOST_TRACED:
        raise UsageError(f"--timeline {options.timeline} is out of range: 0 to {_MOST_TRACED:,}.")
    check_html(options)
    clusters = options.on or CLUSTERS
    # A report draws the first messages; the terminal shows them when it is told to.
    traced = options.timeline or (TRACED if options.html is not None else 0)
    with progress_bar("simulating", len(clusters)) as advance:
        result = compare_clusters(
            options.program,
            options.words,
            clusters=clusters,
            seed=checked_seed(options.seed),
            trace_limit=traced,
            advance=advance,
        )
    if options.json:
        content = comparison_as_json(result)
        print(envelope("notify simulate", content, source="cluster", simulated=True))
    else:
        print_comparison(result, sys.stdout, timelines=options.timeline > 0)
    write_html(options, lambda: comparison_page(result))
    return 0
