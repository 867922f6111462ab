"""What the guest's kernel says about its processors, nodes and PMU."""

import os
import platform
from pathlib import Path
from typing import Any

_NODES = Path("/sys/devices/system/node")
_EVENT_SOURCES = Path("/sys/bus/event_source/devices")


def description() -> dict[str, Any]:
    """A description of the machine."""
    nodes = sorted(_NODES.glob("node[0-9]*"))
    return {
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "cpus of nodes": [(node / "cpulist").read_text().strip() for node in nodes],
        "distances": [
            [int(value) for value in (node / "distance").read_text().split()] for node in nodes
        ],
        "event sources": sorted(path.name for path in _EVENT_SOURCES.iterdir()),
        "tracing": Path("/sys/kernel/tracing/events/sched").is_dir(),
    }
