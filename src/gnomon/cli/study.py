"""Carry out the experiments of a published study again and compare.

Every quantity is shown as published and as found here, with the tolerance and a verdict:
reproduced, not reproduced, or shape only where no more than a sign, an order or a place
can be compared. The exit code is 0 also when something is not reproduced.

examples:
  gnomon study list
  gnomon study gorsler
  gnomon study gorsler --only E1,E5 --seed 7
  gnomon study sterz --only E3
  gnomon study smile --html smile.html
  gnomon study parker --only E6 --html parker.html
  gnomon study gorsler --json
"""

from __future__ import annotations

import argparse
import sys

from gnomon.cli.campaigns import add_resume_option, campaign_progress
from gnomon.cli.html import add_html_option, check_html, write_html
from gnomon.cli.options import checked_seed
from gnomon.errors import UsageError
from gnomon.views.envelope import envelope
from gnomon.views.study import (
    findings_as_json,
    print_findings,
    print_studies,
    studies_as_json,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon study`."""
    parser.add_argument("name", metavar="NAME", help="a study, or `list` for all of them")
    parser.add_argument("--only", metavar="IDS", help="these experiments, as in E1,E5")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is random (0)")
    add_html_option(parser)
    add_resume_option(parser)
    parser.add_argument(
        "--force", action="store_true", help="replace an existing report, and start anew"
    )


def run(options: argparse.Namespace) -> int:
    """List studies, or carry one out."""
    if options.name == "list":
        return _list(options)
    check_html(options)
    from gnomon_studies import carry_out, load_study

    study = load_study(options.name)
    ids = _ids(options.only)
    study.choose(ids)
    with campaign_progress(options) as show:
        findings = carry_out(
            study,
            ids,
            seed=checked_seed(options.seed),
            resume=options.resume,
            overwrite=options.force,
            on_progress=show,
        )
    if options.json:
        source = "machine" if study.simulated else None
        results = findings_as_json(findings)
        print(envelope("study", results, source=source, simulated=study.simulated))
    else:
        print_findings(findings, sys.stdout)
    if findings.interrupted:
        return 130
    from gnomon.views.report.study import study_page

    write_html(options, lambda: study_page(findings, ids))
    return 0


def _list(options: argparse.Namespace) -> int:
    if options.only is not None:
        raise UsageError("--only chooses experiments of one study: name it instead of list.")
    if options.html is not None:
        raise UsageError("--html is for one study: name it instead of list.")
    from gnomon_studies import STUDIES, load_study

    studies = [load_study(name) for name in STUDIES]
    if options.json:
        print(envelope("study", studies_as_json(studies)))
    else:
        print_studies(studies, sys.stdout)
    return 0


def _ids(text: str | None) -> list[str] | None:
    if text is None:
        return None
    ids = [each.strip() for each in text.split(",") if each.strip()]
    if not ids:
        raise UsageError("--only names no experiment: write them as in E1,E5.")
    return ids
