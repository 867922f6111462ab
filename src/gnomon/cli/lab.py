"""Reproduce published experiments, or score estimators.

`study` compares every quantity of a published study with the value found here, by a tolerance and
a verdict: reproduced, not reproduced, or shape only where just a sign, an order or a
position can be compared. The exit code is 0 even when something is not reproduced.

`bench` scores estimators of unread counters on series in which every count is known. DIR has a
folder per data set, each with CSV files: a column per event, a row per slice. All but one event
per row are hidden, the models fill them in, and their errors are compared with linear scaling,
which is what `perf stat` does. Files with fewer than 300 rows are skipped.

examples:
  gnomon lab study list
  gnomon lab study gorsler --only E1,E5 --seed 7
  gnomon lab study smile --html smile.html
  gnomon lab bench --data counters
  gnomon lab bench --data counters --models default,hold --json
"""

from __future__ import annotations

import argparse

from gnomon.cli import options, present
from gnomon.cli.campaigns import campaign_progress
from gnomon.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the words of `gnomon lab` and their options."""
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True)
    study = words.add_parser("study", help="reproduce a published study")
    study.add_argument("name", metavar="NAME", help="a study, or `list` for all of them")
    study.add_argument("--only", metavar="IDS", help="only these experiments, as in E1,E5")
    options.add(study, "seed", "resume", "overwrite", "looks", seed="of what is random (0)")
    bench = words.add_parser("bench", help="score estimators of unread counters")
    bench.add_argument("--data", metavar="DIR", required=True, help="a folder of data sets")
    bench.add_argument("--models", metavar="NAMES", help="only these models, as in default,hold")
    bench.add_argument("--jobs", type=int, metavar="N", help="parallel processes (one per CPU)")
    options.add(bench, "seed", "overwrite", "looks", seed="of what is random (0)")
    for each in (study, bench):
        # The main parser has the option as well; there it must not be reset by its default here.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )


def run(given: argparse.Namespace) -> int:
    """Do what the word says."""
    present.check(given)
    if given.seed is not None:
        options.checked_seed(given.seed)
    return _bench(given) if given.word == "bench" else _study(given)


def _study(given: argparse.Namespace) -> int:
    from gnomon.lab import studies, study

    if given.name == "list":
        for name in ("only", "html"):
            if getattr(given, name) is not None:
                raise UsageError(f"--{name} is for a single study: name one instead of list.")
        present.present("lab", given, studies())
        return 0
    only = options.names(given.only, "--only", "E1,E5")
    with campaign_progress(given) as show:
        found = options.call(study, given, given.name, only, on_progress=show)
    if found.interrupted:
        given.html = None  # a page is of all that was asked for
    present.present("lab", given, found)
    return 130 if found.interrupted else 0


def _bench(given: argparse.Namespace) -> int:
    from gnomon.lab import bench
    from gnomon.views.progress import steps_bar

    models = options.names(given.models, "--models", "default,hold")
    with steps_bar("scoring") as show:
        scores = options.call(bench, given, given.data, models, on_progress=show)
    present.present("lab", given, scores)
    return 0
