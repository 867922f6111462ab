"""Programs that are compiled for tracing, once each."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gnomon.errors import GnomonError
from gnomon.machines.tracing.compiler import compiler_command

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for programs, with the compiled runtime beside them."""
    return tmp_path_factory.mktemp("traced")


@pytest.fixture(scope="session")
def compiled(place: Path) -> Compile:
    """Return a function that compiles a text for tracing, or natively with `traced=False`."""

    def compile_text(text: str, *options: str, ending: str = ".c", traced: bool = True) -> Path:
        key = hashlib.sha256(repr((text, options, ending, traced)).encode()).hexdigest()[:12]
        program, source = place / key, place / f"{key}{ending}"
        if program.exists():
            return program
        source.write_text(text)
        arguments = [*options, str(source), "-o", str(program)]
        command = ["g++" if ending == ".cpp" else "gcc", *arguments]
        if traced:
            before = os.environ.get("XDG_CACHE_HOME")
            os.environ["XDG_CACHE_HOME"] = str(place)
            try:
                command = compiler_command(arguments, None, cxx=False)
            except GnomonError as error:
                pytest.skip(str(error))
            finally:
                os.environ.pop("XDG_CACHE_HOME")
                if before is not None:
                    os.environ["XDG_CACHE_HOME"] = before
        subprocess.run(command, check=True, timeout=60)
        return program

    return compile_text
