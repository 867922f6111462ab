"""Running a traced program to its end and keeping all that it did."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnomon.machines.operations import OPERATION, Code
from gnomon.machines.tracing import TracedProgram, trace

LIMIT = 120.0  # seconds, for programs that take milliseconds


@dataclass(frozen=True)
class Run:
    """The operations of each thread that had any, and what else can be seen of a program."""

    threads: dict[int, NDArray[np.void]]
    output: str
    status: int | None
    warnings: tuple[str, ...]

    def count(self, *codes: Code) -> int:
        """Return how many operations have one of these codes, in all threads."""
        return sum(int(np.isin(ops["code"], codes).sum()) for ops in self.threads.values())

    def codes(self, thread: int) -> Counter[Code]:
        """Return how often a thread had each code."""
        return Counter(Code(code) for code in self.threads[thread]["code"])


def collected(traced: TracedProgram) -> dict[int, NDArray[np.void]]:
    """Pull all feeds in turn until all of them have ended."""
    pieces: dict[int, list[bytes]] = {}
    open_feeds = dict(enumerate(traced.program.feeds))
    deadline = time.monotonic() + LIMIT
    while open_feeds:
        assert time.monotonic() < deadline, "the program does not end"
        any_given = False
        for number, feed in list(open_feeds.items()):
            piece, supply = feed.pull(1 << 14)
            if piece:
                any_given = True
                pieces.setdefault(number, []).append(piece)
            if supply == 2:
                del open_feeds[number]
        if not any_given:
            time.sleep(0.001)
    return {n: np.frombuffer(b"".join(p), dtype=OPERATION) for n, p in sorted(pieces.items())}


def run(
    program: Path | Sequence[str],
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    method: str = "auto",
    inherit: bool = True,
) -> Run:
    """Trace a program from beginning to end; its environment is added to ours, if inherited."""
    command = [str(program)] if isinstance(program, Path) else list(program)
    reading, writing = os.pipe()
    with (
        os.fdopen(reading) as output,
        trace(
            [*command, *arguments],
            environment={**(os.environ if inherit else {}), **(environment or {})},
            stdout=writing,
            method=method,
        ) as traced,
    ):
        os.close(writing)
        traced.release()
        threads = collected(traced)
        assert traced.wait(LIMIT)
        return Run(threads, output.read(), traced.exit_status, traced.warnings)
