"""Small programs for sources that run real ones: they need /bin/sh and Python only."""

from __future__ import annotations

import os
import sys

from gnomon.sources.base import Command


def rounds(number: int) -> Command:
    """Return a program that goes so many times round a loop."""
    return Command(("/bin/sh", "-c", f"i=0; while [ $i -lt {number} ]; do i=$((i+1)); done"))


# An emulated processor takes ten times as long for a round.
BRIEF = rounds(int(os.environ.get("GNOMON_CONFORMANCE_ROUNDS", "20000")))
LENGTHY = Command(("/bin/sh", "-c", "while :; do :; done"))
NOTHING = Command(("/bin/sh", "-c", ":"))

_FAULTS = "import sys; from gnomon import _native; _native.known_faults(int(sys.argv[1]))"


def announces_itself(stdout: int) -> Command:
    """Return a program that writes a line when it is under way, and then goes on and on."""
    return Command(("/bin/sh", "-c", "echo; while :; do :; done"), stdout=stdout)


def exits_with(status: int) -> Command:
    """Return a program that ends with this status."""
    return Command(("/bin/sh", "-c", f"exit {status}"))


def dies_of(signal: int) -> Command:
    """Return a program that ends itself with this signal."""
    return Command(("/bin/sh", "-c", f"kill -{signal} $$"))


def faults_in_grandchild(pages: int) -> Command:
    """Return a program whose child's child touches so many fresh pages."""
    # The colon after each command keeps the shell from becoming that command.
    inner = '"$0" -c "$1" "$2"; :'
    outer = '/bin/sh -c "$3" "$0" "$1" "$2"; :'
    return Command(("/bin/sh", "-c", outer, sys.executable, _FAULTS, str(max(pages, 1)), inner))
