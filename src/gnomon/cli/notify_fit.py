"""Fit a law of the model of messages to measurements of your own, in a CSV file with a header.

`sharing` fits how threads share a core: columns `threads` and `throughput`. `misses` fits how
often an application asks for remote data: columns `nodes`, `threads` and `misses`. `imbalance`
fits how much the last of many nodes lags behind: a column a node, a row a step, with times.
Each parameter comes with its 95 % interval.

examples:
  gnomon notify fit sharing threads.csv
  gnomon notify fit misses runs.csv --json
  gnomon notify fit imbalance steps.csv
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gnomon.cli.options import checked_seed

if TYPE_CHECKING:
    from gnomon.views.fitted import Fit

_LAWS = ("sharing", "misses", "imbalance")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon notify fit`."""
    parser.add_argument("law", choices=_LAWS, metavar="LAW", help=f"{', '.join(_LAWS)}")
    parser.add_argument("file", metavar="FILE", help="a CSV file with a header")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the intervals (0)")


def run(options: argparse.Namespace) -> int:
    """Read the columns, fit, show."""
    from gnomon.views.envelope import envelope
    from gnomon.views.fitted import fit_as_json, print_fit

    result = _fit(options.law, options.file, checked_seed(options.seed))
    if options.json:
        print(envelope("notify fit", fit_as_json(options.law, result)))
    else:
        print_fit(result, sys.stdout)
    return 0


def _fit(law: str, file: str, seed: int) -> Fit:
    from gnomon.messaging.fitting import fit_imbalance, fit_misses, fit_saturation, read_columns

    if law == "sharing":
        threads, throughput = read_columns(file, "threads", "throughput")
        return fit_saturation(threads, throughput, seed=seed)
    if law == "misses":
        nodes, threads, misses = read_columns(file, "nodes", "threads", "misses")
        return fit_misses(nodes, threads, misses, seed=seed)
    return fit_imbalance(list(zip(*read_columns(file), strict=True)), seed=seed)
