"""Small libraries of C that are preloaded into programs: compiled when they are first needed."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gnomon.errors import NotSupportedError

_OPTIONS = ("-O2", "-shared", "-fPIC", "-ftls-model=initial-exec", "-fno-builtin")


def library(source: Path, name: str, what: str) -> Path:
    """Return a library, compiled now or in an earlier call; `what` it notes is for the error."""
    digest = hashlib.sha256(source.read_bytes() + platform.machine().encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    made = Path(home) / "gnomon" / f"{name}-{digest}.so"
    try:
        if not made.is_file():
            _compile(source, made, what)
    except OSError as error:
        raise NotSupportedError(
            f"{what} cannot be noted: nothing can be kept in '{made.parent}': "
            f"{error.strerror}; set XDG_CACHE_HOME to a folder that can be written."
        ) from None
    return made


def environment(made: Path, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment in which a program loads a library before all others."""
    variables = dict(os.environ if given is None else given)
    before = variables.get("LD_PRELOAD")
    variables["LD_PRELOAD"] = f"{made}:{before}" if before else str(made)
    return variables


def _compile(source: Path, made: Path, what: str) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NotSupportedError(f"{what} need a C compiler, and there is none: install gcc.")
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{source.stem}-", dir=made.parent) as folder:
        fresh = Path(folder) / "hook.so"
        command = [compiler, *_OPTIONS, str(source), "-o", str(fresh)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, errors="replace"
        )
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line]
            why = lines[0] if lines else f"exit status {done.returncode}"
            raise NotSupportedError(
                f"{what} cannot be noted: '{compiler}' says {why}; it needs glibc."
            )
        fresh.replace(made)
