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

from gnomon.cli import present
from gnomon.cli.options import checked_seed

_LAWS = ("sharing", "misses", "imbalance")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon notify fit`."""
    parser.add_argument("law", choices=_LAWS, metavar="LAW", help=f"{', '.join(_LAWS)}")
    parser.add_argument("file", metavar="FILE", help="a CSV file with a header")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the intervals (0)")
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    present.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Read the columns, fit, show."""
    present.check(options)
    from gnomon.analysis.prediction import fit

    result = fit(options.law, options.file, seed=checked_seed(options.seed))
    present.present("notify fit", options, result)
    return 0
