"""Score estimators of unread counters on series in which every count is known.

DIR has a folder a data set, each with CSV files: a column an event, a row a slice. All but
one event a row are hidden, the models fill them in, and their errors are compared with
linear scaling, which is what `perf stat` does. Files with fewer than 300 rows are skipped.

examples:
  gnomon bench estimate --data counters
  gnomon bench estimate --data counters --models default,hold --json
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gnomon.cli.options import checked_seed
from gnomon.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon bench`."""
    parser.add_argument("what", choices=("estimate",), help="what to score: estimate")
    parser.add_argument("--data", metavar="DIR", required=True, help="a folder of data sets")
    parser.add_argument("--models", metavar="NAMES", help="these models, as in default,hold")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes at work (one a CPU)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is random (0)")


def run(options: argparse.Namespace) -> int:
    """Read, score, show."""
    from gnomon.analysis.estimate.scoring.data import read_data_sets
    from gnomon.analysis.estimate.scoring.entries import all_entries, choose_entries
    from gnomon.analysis.estimate.scoring.run import amount_of_work, score

    seed = checked_seed(options.seed)
    jobs = _jobs(options.jobs)
    names = _names(options.models)
    entries = all_entries() if names is None else choose_entries(names)
    left_out: list[str] = []
    data_sets = read_data_sets(options.data, left_out.append)
    extras = names is None
    with _progress(amount_of_work(data_sets, entries, extras)) as advance:
        scores = score(data_sets, entries, extras=extras, seed=seed, jobs=jobs, on_done=advance)
    if options.json:
        from gnomon.views.envelope import envelope
        from gnomon.views.scoring import scores_as_json

        print(envelope("bench", scores_as_json(scores, seed), warnings=_warnings(left_out)))
    else:
        from gnomon.views.scoring import print_scores

        print_scores(scores, sys.stdout)
        for text in _warnings(left_out):
            print(f"warning: {text}", file=sys.stderr)
    return 0


def _warnings(left_out: list[str]) -> list[str]:
    return [f"a folder without counts was left out: {reason}" for reason in left_out]


def _jobs(asked: int | None) -> int:
    if asked is None:
        return len(os.sched_getaffinity(0))
    if asked < 1:
        raise UsageError("at least one process has to do the work: give --jobs 1 or more.")
    return asked


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [each.strip() for each in text.split(",") if each.strip()]
    if not names:
        raise UsageError("--models names no model: write them as in default,hold.")
    return names


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None] | None]:
    """Show how much is done, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from gnomon.views.progress import progress_bar

    with progress_bar("scoring", total) as advance:
        yield advance
