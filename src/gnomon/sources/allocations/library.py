"""The library that is preloaded, compiled when it is first needed."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from gnomon.errors import NotSupportedError

_SOURCE = Path(__file__).parent / "hook.c"
_OPTIONS = ("-O2", "-shared", "-fPIC", "-ftls-model=initial-exec", "-fno-builtin")


def hook_library() -> Path:
    """Return the library, compiled now or in an earlier call; raises NotSupportedError."""
    digest = hashlib.sha256(_SOURCE.read_bytes() + platform.machine().encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    made = Path(home) / "gnomon" / f"allocations-{digest}.so"
    try:
        if not made.is_file():
            _compile(made)
    except OSError as error:
        raise NotSupportedError(
            f"allocation sites cannot be noted: nothing can be kept in '{made.parent}': "
            f"{error.strerror}; set XDG_CACHE_HOME to a folder that can be written."
        ) from None
    return made


def _compile(made: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NotSupportedError(
            "allocation sites need a C compiler, and there is none: install gcc."
        )
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="allocations-", dir=made.parent) as folder:
        fresh = Path(folder) / "hook.so"
        command = [compiler, *_OPTIONS, str(_SOURCE), "-o", str(fresh)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, errors="replace"
        )
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line]
            why = lines[0] if lines else f"exit status {done.returncode}"
            raise NotSupportedError(
                f"allocation sites cannot be noted: '{compiler}' says {why}; it needs glibc."
            )
        fresh.replace(made)
