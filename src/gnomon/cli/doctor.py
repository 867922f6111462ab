"""Say what this machine can measure, and why not the rest.

Every event with a name is opened and given something to count; an event that opens but
does not count is reported as such. Each finding that stands in the way comes with a
remedy.

examples:
  gnomon doctor
  gnomon doctor --json
"""

from __future__ import annotations

import argparse
import sys

from gnomon.analysis.diagnosis import diagnose
from gnomon.views.envelope import envelope
from gnomon.views.findings import diagnosis_as_json, print_diagnosis


def configure(_parser: argparse.ArgumentParser) -> None:
    """`gnomon doctor` has no options of its own."""


def run(options: argparse.Namespace) -> int:
    """Diagnose and print; 1 when nothing at all can be counted."""
    diagnosis = diagnose()
    if options.json:
        print(envelope("doctor", diagnosis_as_json(diagnosis), source="host"))
    else:
        print_diagnosis(diagnosis, sys.stdout)
    return 0 if diagnosis.countable else 1
