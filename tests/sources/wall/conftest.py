"""Planted programs, recorded here, as another user, or where perf is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Summary = dict[str, Any]
Record = Callable[..., Summary]


@pytest.fixture(scope="session")
def planted() -> Iterator[Path]:
    """The planted program, where every user may run it."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        Path(folder).chmod(0o755)
        made = Path(folder) / "planted"
        source = Path(__file__).with_name("planted.c")
        subprocess.run(
            [compiler, "-O1", "-pthread", "-o", str(made), str(source)], check=True, timeout=60
        )
        yield made


@pytest.fixture(scope="session")
def static(planted: Path) -> Path:
    """The same program without a loader, into which nothing can be preloaded."""
    made = planted.with_name("static")
    source = Path(__file__).with_name("planted.c")
    command = ["cc", "-O1", "-pthread", "-static", "-o", str(made), str(source)]
    if subprocess.run(command, check=False, capture_output=True, timeout=60).returncode:
        pytest.skip("nothing can be linked statically here")
    return made


@pytest.fixture
def record(planted: Path) -> Record:
    """Record a mode of the planted program in a process of its own, and return the summary."""

    def run(*words: str, nobody: bool = False, program: Path = planted, **given: Any) -> Summary:
        command = [sys.executable, "-m", "tests.sources.wall.summary", json.dumps(given)]
        command += [str(program), *words]
        environment = dict(os.environ)
        if nobody:
            if os.geteuid() != 0 or shutil.which("setpriv") is None:
                pytest.skip("only root can become nobody")
            user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
            command = ["setpriv", *user, "--bounding-set=-all", *command]
            environment["HOME"] = "/nonexistent"
            environment.pop("XDG_CACHE_HOME", None)
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=Path(__file__).parents[3],
            env=environment,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found: Summary = json.loads(done.stdout.splitlines()[-1])
        return found

    return run
