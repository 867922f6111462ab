"""Timing several things in turn, so that a busy machine disturbs all of them alike."""

from __future__ import annotations

import os
import shlex
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import FailedError

T = TypeVar("T")

Timed = Callable[[], float]
"""Does something once and returns the seconds it took."""


def in_turn(sides: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Return what each side gave, a value a round.

    The order turns round every time (A B, B A, A B), so that no side always follows the
    same neighbour. A first round warms up and is not counted.
    """
    names = list(sides)
    given: dict[str, list[T]] = {name: [] for name in names}
    for number in range(-1, rounds):
        for name in names if number % 2 else reversed(names):
            value = sides[name]()
            if number >= 0:
                given[name].append(value)
    return given


def interleaved(sides: Mapping[str, Timed], rounds: int) -> dict[str, NDArray[np.float64]]:
    """Return the seconds of each side, measured in turn."""
    return {name: np.asarray(values) for name, values in in_turn(sides, rounds).items()}


def per_call(function: Callable[[], object], calls: int) -> Timed:
    """Return a side that calls a Python function in a tight loop: seconds a call."""
    timer = timeit.Timer(function)
    return lambda: timer.timeit(calls) / calls


def process(argv: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Timed:
    """Return a side that runs a program to its end, its output thrown away."""
    variables = os.environ if environment is None else environment
    arguments = [str(argument) for argument in argv]
    flags = os.O_RDWR
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, flags, 0o600) for fd in (0, 1, 2)]

    def run() -> float:
        start = time.perf_counter()
        try:
            pid = os.posix_spawn(arguments[0], arguments, variables, file_actions=silent)
        except OSError as error:
            raise FailedError(f"`{arguments[0]}` cannot be run: {error.strerror}") from None
        _, status = os.waitpid(pid, 0)
        seconds = time.perf_counter() - start
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise FailedError(f"`{shlex.join(arguments)}` ended with status {code}")
        return seconds

    return run
