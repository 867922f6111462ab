"""Compiling programs for tracing: gcc with our runtime in place of its thread sanitizer's."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from gnomon.errors import GnomonError, UsageError

_SOURCES = Path(__file__).parent / "runtime"
_UNITS = ("runtime", "references", "atomics", "threads", "sleeping", "openmp")
_OPTIONS = (
    "-O2",
    "-fPIE",
    "-ftls-model=local-exec",
    "-fno-builtin",
    "-fno-tree-loop-distribute-patterns",
)
_CXX_ENDINGS = (".cc", ".cpp", ".cxx", ".c++", ".C", ".cp", ".CPP", ".ii")


def compiler_command(arguments: Sequence[str], compiler: str | None, *, cxx: bool) -> list[str]:
    """Return the call of a compiler that makes traced programs of what it is given."""
    name = compiler or ("g++" if cxx or _is_cxx(arguments) else "gcc")
    path = shutil.which(name)
    if path is None:
        raise UsageError(
            f"there is no compiler '{name}': install gcc, or name one with --compiler."
        )
    folder = runtime_folder(path)
    return [path, f"-specs={folder / 'gnomon.specs'}", f"-B{folder}", *arguments]


def _is_cxx(arguments: Sequence[str]) -> bool:
    return any(not a.startswith("-") and a.endswith(_CXX_ENDINGS) for a in arguments)


def runtime_folder(compiler: str) -> Path:
    """Return where the runtime is that this compiler has made, now or in an earlier call."""
    digest = hashlib.sha256(f"{_version(compiler)} {_target(compiler)}".encode())
    for source in sorted(_SOURCES.iterdir()):
        if source.is_file():
            digest.update(source.name.encode() + source.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "gnomon" / f"tracing-{digest.hexdigest()[:16]}"
    if not folder.is_dir():
        _build(compiler, folder)
    return folder


@cache
def _description(compiler: str) -> str:
    """Return what a compiler says of itself; gcc and g++ of one version say the same."""
    done = None
    with suppress(OSError):
        done = subprocess.run(
            [compiler, "-v"], capture_output=True, text=True, check=False, errors="replace"
        )
    if done is None or "gcc version" not in done.stderr:
        raise UsageError(f"'{compiler}' is not gcc, which tracing needs: name one with --compiler.")
    return done.stderr


def _version(compiler: str) -> str:
    return next(t for t in _description(compiler).splitlines() if t.startswith("gcc version"))


def _target(compiler: str) -> str:
    lines = _description(compiler).splitlines()
    return next((t.split()[-1] for t in lines if t.startswith("Target:")), "")


def _build(compiler: str, folder: Path) -> None:
    """Compile the runtime next to its place, then move it there in one step."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="tracing-", dir=folder.parent) as place:
            made = Path(place) / "made"
            made.mkdir()
            shutil.copy(_SOURCES / "gnomon.specs", made)
            for unit in _UNITS:
                _compile(compiler, unit, made)
            try:
                made.rename(folder)
            except OSError:
                if not folder.is_dir():  # otherwise another call was faster
                    raise
    except OSError as error:
        raise GnomonError(
            f"the tracing runtime cannot be kept in '{folder.parent}': {error.strerror}; set "
            "XDG_CACHE_HOME to a folder that can be written."
        ) from None


def _compile(compiler: str, unit: str, folder: Path) -> None:
    command = [compiler, *_OPTIONS, *_machine_options(compiler)]
    command += ["-x", "c", "-c", str(_SOURCES / f"{unit}.c")]
    command += ["-o", str(folder / f"gnomon-{unit}.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        why = lines[0] if lines else f"exit status {done.returncode}"
        raise GnomonError(
            f"'{compiler}' cannot compile the tracing runtime: {why}; it needs gcc 9 or later on "
            "x86-64 or aarch64."
        )


def _machine_options(compiler: str) -> tuple[str, ...]:
    """Return what makes atomic operations of 16 bytes possible."""
    return ("-mcx16",) if _target(compiler).startswith("x86_64") else ()
