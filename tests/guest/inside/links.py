"""Discover the guest's nodes with the project's own command and code, and prove placements."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.analysis.links.result import Matrices
from gnomon.analysis.links.topology import host_topology
from gnomon.stress.host_loader import HostLoader
from gnomon.stress.memory import Buffer
from gnomon.stress.nodes import Channel, read_nodes
from gnomon.stress.streams import Stream

from .report import params
from .sections import run_sections
from .tool import gnomon

_SIZE = 2 << 20
_QUICK = ("--size", "2MiB", "--time", "1ms")


def reported() -> dict[str, Any]:
    """What the kernel says, as the command shows it."""
    return gnomon("links")


def measured() -> dict[str, Any]:
    """Latencies of all channels beside the distances; an emulated machine has no slow ways.

    Bandwidths are left out: a generator for each channel takes minutes to start under emulation.
    """
    nodes = read_nodes()
    numbers = [node.number for node in nodes.nodes]
    with HostLoader(size=_SIZE) as loader:
        latencies = np.array(
            [[loader.latency_ns(Channel(a, b)) for b in numbers] for a in numbers], float
        )
    matrices = Matrices(latencies, np.full_like(latencies, np.nan))
    return host_topology(nodes, matrices).to_json()


def matrix() -> dict[str, Any]:
    """What `gnomon memory matrix` finds between nodes, and whether pages were proven there."""
    result = gn.memory("matrix", array="1MiB", time="1ms")
    return {
        "pairs": [
            {
                "way": [pair.cpus, pair.memory],
                "verified": pair.verified,
                "measured": pair.latency.best > 0 and pair.bandwidth.best > 0,
            }
            for pair in result.matrix
        ],
        "pages": result.pages_confirmed,
        "warnings": list(result.warnings),
    }


def absent() -> dict[str, Any]:
    """A channel to a node that there is not."""
    return gnomon("links", "saturate", "0-7", *_QUICK)


def idle_reader() -> dict[str, Any]:
    """A channel whose reader is the last node, which may have no processors."""
    return gnomon("links", "saturate", "3-0", "--most", "1", "--repeat", "1", *_QUICK)


def loaded() -> dict[str, Any]:
    """A program beside load on a channel between two nodes."""
    return gnomon("links", "--load", "0-1:1", *_QUICK, "--", "/bin/true")


def buffers() -> list[dict[str, Any]]:
    """Memory bound to each node: pages by move_pages and, as a second witness, by numa_maps."""
    found = []
    for node in read_nodes().with_memory:
        with Buffer(_SIZE, node.number, huge=False) as buffer:
            buffer.verify()
            found.append(
                {
                    "node": node.number,
                    "asked": {str(n): pages for n, pages in buffer.placement().items()},
                    "shown": _numa_maps(os.getpid(), buffer.address),
                    "pages": _SIZE // os.sysconf("SC_PAGE_SIZE"),
                }
            )
    return found


def generators() -> list[dict[str, Any]]:
    """A generator on every channel of a node, one at a time: pages proven, and by numa_maps."""
    found = []
    reader = read_nodes().with_cpus[-1]
    with HostLoader(stream=Stream.READ, size=_SIZE) as loader:
        for channel in (Channel(reader.number, home) for home in loader.homes):
            loader.set(channel, 1)
            (rate,) = loader.measure(0)[channel]
            (generator,) = loader._running[channel]
            pid = generator.process.pid
            found.append(
                {
                    "channel": list(channel),
                    "proven": loader.pages()[channel],
                    "shown": _numa_maps(pid),
                    "pages": _SIZE // os.sysconf("SC_PAGE_SIZE"),
                    "pinned": os.sched_getaffinity(pid) == set(reader.cpus),
                    "reads": rate > 0,
                }
            )
            loader.set(channel, 0)
    return found


def _numa_maps(pid: int, address: int | None = None) -> dict[str, int]:
    """Pages by node of a process's mappings, or of the one at an address, that are bound."""
    pages: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        start, policy, *rest = line.split()
        if not policy.startswith("bind") or (address is not None and int(start, 16) != address):
            continue
        for node, count in re.findall(r"\bN([0-9]+)=([0-9]+)", " ".join(rest)):
            pages[node] = pages.get(node, 0) + int(count)
    return pages


if __name__ == "__main__":
    parts = (reported, buffers, generators, measured, matrix, absent, idle_reader, loaded)
    run_sections(*(part for part in parts if part.__name__ in params()["parts"]))
