"""Finding and building what benchmarks compare against."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness.result import MissingError

PROGRAMS = Path(__file__).parent.parent / "programs"


def program(name: str, remedy: str) -> Path:
    """Return where a program is; raises MissingError with the remedy."""
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"there is no `{name}` here: {remedy}")
    return Path(found)


def gnomon_program() -> Path:
    """Return the `gnomon` command of this interpreter."""
    path = Path(sys.executable).parent / "gnomon"
    if not path.exists():
        raise MissingError(f"there is no `gnomon` beside {sys.executable}: install the package")
    return path


@contextmanager
def compiled(source: str, *options: str) -> Iterator[Path]:
    """Build a C file of `programs/` in a temporary folder and give its path."""
    compiler = program(os.environ.get("CC", "gcc"), "install a C compiler or set CC")
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        target = Path(folder) / Path(source).stem
        command = [str(compiler), "-O2", "-Wall", "-Wextra", *options]
        command += [str(PROGRAMS / source), "-o", str(target)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise MissingError(f"{source} could not be compiled: {built.stderr.strip()}")
        yield target
