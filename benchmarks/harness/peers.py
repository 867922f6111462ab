"""Environments of their own for peers that are Python packages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.result import MissingError

_ROOT = Path(__file__).resolve().parents[2] / "build" / "peers"


def peer_python(name: str, packages: Sequence[str]) -> Path:
    """Return the interpreter of an environment with these packages; made when there is none.

    It stays in build/peers, so that only the first run has to fetch them.
    """
    root = _ROOT / name
    python, done = root / "bin" / "python", root / "complete"
    if done.exists() and done.read_text().split() == sorted(packages):
        return python
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", root], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *packages], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingError(f"{', '.join(packages)} could not be installed: {error}") from None
    done.write_text(" ".join(sorted(packages)))
    return python
