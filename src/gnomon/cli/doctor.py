"""Show what this machine can measure, and why not the rest.

Every event with a name is opened and given something to count; an event that opens but
does not count is reported as such. Problems come first, each with a remedy.

examples:
  gnomon doctor
  gnomon doctor --all
  gnomon doctor --json
"""

from __future__ import annotations

import argparse

from gnomon.cli import present


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon doctor`."""
    present.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Diagnose and show; 1 when nothing at all can be counted."""
    from gnomon.analysis.doctor import doctor

    present.check(options)
    found = doctor()
    present.present("doctor", options, found)
    return 0 if found.countable else 1
