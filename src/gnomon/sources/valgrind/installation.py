"""Whether valgrind is here and works, found out once by running a small program."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gnomon.sources.valgrind.cachegrind import (
    Shape,
    Simulation,
    command_line,
    processes,
    read_shapes,
)

_VERSION = re.compile(r"(\d+)\.(\d+)")
_PATIENCE = 60  # seconds; the program takes a fraction of one


@dataclass(frozen=True)
class Installation:
    """A valgrind, or why there is none to use.

    `launcher` is its path, with the options that its version needs to count exactly;
    `counted` is what the small program counted, by valgrind's names for events, and
    `caches` are the shapes of the caches that were simulated for it.
    """

    version: str = ""
    launcher: tuple[str, ...] = ()
    reason: str = ""
    remedy: str = ""
    counted: dict[str, int] = field(default_factory=dict)
    caches: dict[str, Shape] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        """Whether programs can be counted with it."""
        return not self.reason

    @property
    def text(self) -> str:
        """The version and the simulated caches in one line."""
        shapes = ", ".join(f"{name} {shape.text}" for name, shape in self.caches.items())
        return f"{self.version} with {shapes}" if shapes else self.version


def installed() -> str:
    """Return the path of valgrind, empty when it is not installed."""
    return shutil.which("valgrind") or ""


@cache
def try_out(path: str, simulation: Simulation) -> Installation:
    """Run a program that does nothing under a valgrind, and see whether it was counted."""
    if not path:
        return Installation(
            reason="valgrind is not installed",
            remedy="install valgrind (Debian, Fedora and others: package valgrind)",
        )
    try:
        return _try_out(path, simulation)
    except (OSError, subprocess.SubprocessError) as error:
        return _useless(str(error))


def _try_out(path: str, simulation: Simulation) -> Installation:
    version = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=_PATIENCE, check=True
    ).stdout.strip()
    launcher = _launcher(path, version)
    with tempfile.TemporaryDirectory(prefix="gnomon-valgrind-") as name:
        folder = Path(name)
        done = subprocess.run(
            command_line(launcher, folder, simulation, ("true",)),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        found = [process for process in processes(folder) if process.counts]
        if done.returncode or len(found) != 1 or found[0].counts is None:
            return _useless(" ".join(done.stderr.split()) or f"exit code {done.returncode}")
        caches = read_shapes(folder / f"counts.{found[0].pid}")
        return Installation(
            version.replace("-", " "), launcher, counted=found[0].counts, caches=caches
        )


def _launcher(path: str, version: str) -> tuple[str, ...]:
    # Translating beyond a branch makes of two branches one: a loop of two instructions has
    # only half of its branches counted then. Before 3.17 this was never done.
    found = _VERSION.search(version)
    chases = found is not None and (int(found[1]), int(found[2])) >= (3, 17)
    return (path, "--vex-guest-chase=no") if chases else (path,)


def _useless(why: str) -> Installation:
    return Installation(
        reason=f"valgrind cannot run even a program that does nothing: {why}",
        remedy="run `valgrind --tool=cachegrind true` to see what is wrong",
    )
