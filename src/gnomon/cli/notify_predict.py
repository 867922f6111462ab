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

from gnomon.cli.html import add_html_option, check_html, write_html
from gnomon.cli.notify_options import show_result
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
    parser.add_argument("--force", action="store_true", help="replace an existing report")
    add_html_option(parser)


def run(options: argparse.Namespace) -> int:
    """Read both files, predict, show."""
    check_html(options)
    from gnomon.analysis.messages import bench_of
    from gnomon.analysis.prediction import measured_ways, predict, read_application
    from gnomon.views.prediction import prediction_as_json, print_prediction

    application = read_application(options.app)
    known = measured_ways(bench_of(options.recorded), options.regime)
    result = predict(
        application,
        known.ways,
        regime=known.regime,
        mechanism=options.mechanism,
        polling=known.polling,
        warnings=known.warnings,
        seed=checked_seed(options.seed),
    )
    show_result(options, result, print_prediction, prediction_as_json)
    from gnomon.views.report.prediction import prediction_page

    write_html(options, lambda: prediction_page(result))
    return 0
