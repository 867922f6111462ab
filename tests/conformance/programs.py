"""Small programs for sources that run real ones: they need /bin/sh and Python only."""

from __future__ import annotations

import sys

from gnomon.sources.base import Command

BRIEF = Command(("/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))
LENGTHY = Command(("/bin/sh", "-c", "while :; do :; done"))
NOTHING = Command(("/bin/sh", "-c", ":"))

_FAULTS = "import sys; from gnomon import _native; _native.known_faults(int(sys.argv[1]))"


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
