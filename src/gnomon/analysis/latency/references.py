"""Latencies that a machine itself shows, by which the peaks of a histogram are named.

On a simulated machine pointers are followed through each level of its caches and through the
memory of each of its nodes. For a host a file of a measurement tells them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.analysis.latency.model import Reference
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.machines.machine import Machine

_ROUNDS = 4
_TIMES = 8
_BEYOND = 4 << 20  # bytes of memory that no cache has seen yet, in more pages than are translated
_HOPS = {0: "local memory", 1: "memory one hop away", 2: "memory two hops away"}


def chased(machine: Machine, *, seed: int = 1) -> tuple[Reference, ...]:
    """Return what following pointers shows on a simulated machine, from its first core."""
    found = []
    smaller = 0
    for number, cache in enumerate(machine.levels, 1):
        size = (smaller + cache.size) // 2
        if smaller:
            size = min(size, _TIMES * smaller)  # enough to miss the level below nearly always
        once, more = (_cycles(machine, size, rounds, 0, seed) for rounds in (1, 1 + _ROUNDS))
        steps = _ROUNDS * (size // cache.line)
        found.append(Reference(f"L{number}", (more - once) / steps))
        smaller = cache.size
    by_hops: dict[int, list[float]] = {}
    routes = machine.routes()
    steps = _BEYOND // machine.levels[-1].line
    for node, described in enumerate(machine.nodes):
        if described.memory is not None:
            cycles = _cycles(machine, _BEYOND, 1, node, seed) / steps
            by_hops.setdefault(len(routes[machine.core_nodes[0], node]), []).append(cycles)
    for hops, latencies in sorted(by_hops.items()):
        name = _HOPS.get(hops, f"memory {hops} hops away")
        found.append(Reference(name, sum(latencies) / len(latencies)))
    return tuple(found)


def _cycles(machine: Machine, size: int, rounds: int, node: int, seed: int) -> float:
    """Return how many cycles it takes to follow all pointers in so much memory of a node."""
    from gnomon.machines.execution import Execution
    from gnomon.machines.workloads import build

    parameters = {
        "size": str(size),
        "spacing": str(machine.levels[-1].line),
        "iterations": str(rounds),
        "placement": f"bind:{node}",
        "cpus": "0",
    }
    with Execution(machine, build("chase", parameters, seed=seed), seed=seed) as execution:
        execution.advance()
        return execution.now_ns * machine.core.clock_ghz


def read_references(path: str) -> tuple[Reference, ...]:
    """Return the latencies in a JSON file: names with cycles, by themselves or as `latencies`.

    What `gnomon memory -o` writes is understood, as is what `gnomon ... --json` prints: the names
    are then looked for in its results.
    """
    try:
        content: Any = json.loads(Path(path).read_text("utf-8"))
    except ValueError:
        raise UsageError(
            f"'{path}' is no JSON: give names with cycles, as in {{\"L1\": 4}}."
        ) from None
    for key in ("results", "latencies"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping | list):
            content = content[key]
    if isinstance(content, list) and all(isinstance(row, Mapping) for row in content):
        content = {str(row.get("name")): row.get("cycles") for row in content}
    return references_of(content, path)


def references_of(content: Any, where: str = "latencies") -> tuple[Reference, ...]:
    """Return a mapping of names to cycles as references."""
    usable = isinstance(content, Mapping) and content
    if not usable or not all(
        isinstance(cycles, int | float) and not isinstance(cycles, bool) and cycles > 0
        for cycles in content.values()
    ):
        raise UsageError(
            f"'{where}' has no latencies: give names with cycles above zero, as in "
            '{"L1": 4, "local memory": 230}.'
        )
    return tuple(Reference(str(name), float(cycles)) for name, cycles in content.items())
