"""Small programs for tests of executions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gnomon.machines import (
    Cache,
    Core,
    Execution,
    Machine,
    MemoryController,
    Node,
    Observed,
    Program,
    RunOptions,
    Watch,
)
from gnomon.machines.operations import OPERATION, Code, fixed_feed

Operations = NDArray[np.void]
ROUND = Core(1.0, mispredict_cycles=10)  # a cycle is a nanosecond

PLAIN = Machine(
    name="plain",
    core=ROUND,
    nodes=(Node(4, MemoryController(100, 50)),),
    l1d=Cache(4096, 4, 64, 2),
)


def op(code: Code, value: int = 0, *, site: int = 0, size: int = 0, flags: int = 0) -> Operations:
    """One operation, as an array of one."""
    return np.array([(value, site, int(code), size, flags, 0)], dtype=OPERATION)


def sequence(*parts: Operations) -> Operations:
    """Operations one after the other."""
    return np.concatenate(parts) if parts else np.zeros(0, dtype=OPERATION)


def many(code: Code, values: NDArray[np.integer] | Sequence[int], size: int = 8) -> Operations:
    """Operations of one kind."""
    operations = np.zeros(len(values), dtype=OPERATION)
    operations["code"], operations["value"], operations["size"] = int(code), values, size
    return operations


def program(
    *threads: Operations, binding: tuple[int, ...] | None = None, dynamic: bool = False
) -> Program:
    """A program with these threads."""
    feeds = tuple(fixed_feed(each) for each in threads)
    return Program("test", feeds, frozenset(Observed), binding=binding, dynamic=dynamic)


def started(
    machine: Machine,
    *threads: Operations,
    binding: tuple[int, ...] | None = None,
    dynamic: bool = False,
    options: RunOptions | None = None,
    watches: Sequence[Watch] = (),
    seed: int = 1,
) -> Execution:
    """An execution that has not begun."""
    made = program(*threads, binding=binding, dynamic=dynamic)
    return Execution(machine, made, seed=seed, options=options, watches=watches)


def executed(
    machine: Machine,
    *threads: Operations,
    binding: tuple[int, ...] | None = None,
    dynamic: bool = False,
    options: RunOptions | None = None,
    watches: Sequence[Watch] = (),
    seed: int = 1,
) -> Execution:
    """An execution that has come to its end."""
    execution = started(
        machine,
        *threads,
        binding=binding,
        dynamic=dynamic,
        options=options,
        watches=watches,
        seed=seed,
    )
    assert execution.advance()
    return execution
