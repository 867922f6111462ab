"""Environments of their own for peers that are Python packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness.result import FailedError, MissingError
from benchmarks.harness.tools import PROGRAMS

Ask = Callable[..., dict[str, Any]]

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


@contextmanager
def peer_program(
    name: str, packages: Sequence[str], script: str, environment: Mapping[str, str] | None = None
) -> Iterator[Ask]:
    """Yield a function that puts a question to a program of ours that uses a peer's packages.

    Questions and answers are lines of JSON.
    """
    with subprocess.Popen(
        [peer_python(name, packages), PROGRAMS / script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        text=True,
    ) as process:
        questions, answers = process.stdin, process.stdout
        assert questions is not None
        assert answers is not None

        def ask(**question: Any) -> dict[str, Any]:
            questions.write(json.dumps(question) + "\n")
            questions.flush()
            line = answers.readline()
            if not line:
                raise FailedError(f"{question.get('peer', name)} ended before it answered")
            answer: dict[str, Any] = json.loads(line)
            return answer

        yield ask
        questions.close()
