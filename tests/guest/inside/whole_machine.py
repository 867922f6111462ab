"""Count on whole CPUs with the project's command; for several processors and nodes."""

from typing import Any

from .machine import description
from .sections import run_sections
from .tool import gnomon

LOOP = ("--", "/bin/sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done")


def all_cpus() -> dict[str, Any]:
    """Two events on every CPU."""
    return gnomon("count", "-a", "--per-scope", "-e", "instructions,cycles", *LOOP)


def some_cpus() -> dict[str, Any]:
    """Two CPUs of one node."""
    return gnomon("count", "-C", "2-3", "--per-scope", "-e", "instructions", *LOOP)


def doctor() -> dict[str, Any]:
    """What the project says of this machine."""
    return gnomon("doctor")


if __name__ == "__main__":
    run_sections(description, all_cpus, some_cpus, doctor)
