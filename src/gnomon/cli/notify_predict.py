"""Predict what user-level notification would bring an application, from costs of this host.

Costs come from a recording of `gnomon notify bench`; the application is a TOML file:

  [application]
  compute = "12us"     # of a thread, per message
  handler = "2us"      # of the far side, per request
  threads = 4
  request = 64         # bytes there, and back
  response = "4KiB"

or, in place of `compute`, [recording] with a path and the events that count time and
messages. The answer is estimated by a model (waiting threads, a queue at the handler), with
intervals from those of all inputs. See the reference for all keys.

examples:
  gnomon notify predict --from bench.gnomon --app app.toml
  gnomon notify predict --from bench.gnomon --app app.toml -m tcp --regime idle
  gnomon notify predict --from bench.gnomon --app app.toml --html prediction.html
"""

from __future__ import annotations

import argparse

from gnomon.cli import present
from gnomon.cli.options import checked_seed


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon notify predict`."""
    parser.add_argument(
        "--from", dest="recorded", metavar="REC", required=True, help="made by `bench -o`"
    )
    parser.add_argument("--app", metavar="FILE", required=True, help="a TOML file")
    parser.add_argument(
        "-m", "--mechanism", metavar="NAME", help="what the application uses now (by its file)"
    )
    parser.add_argument("--regime", metavar="NAME", help="costs of this one (awake)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the intervals (0)")
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    present.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Read both files, predict, show."""
    present.check(options)
    from gnomon.analysis.prediction import predict

    result = predict(
        options.recorded,
        options.app,
        mechanism=options.mechanism,
        regime=options.regime,
        seed=checked_seed(options.seed),
    )
    present.present("notify predict", options, result)
    return 0
