"""Report what the guest's kernel says about its processors, nodes and PMU."""

import os
import platform
from pathlib import Path

from .report import emit

_NODES = Path("/sys/devices/system/node")
_EVENT_SOURCES = Path("/sys/bus/event_source/devices")


def main() -> None:
    """Send one description of the machine."""
    nodes = sorted(_NODES.glob("node[0-9]*"))
    emit(
        {
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "cpus of nodes": [(node / "cpulist").read_text().strip() for node in nodes],
            "distances": [
                [int(value) for value in (node / "distance").read_text().split()] for node in nodes
            ],
            "event sources": sorted(path.name for path in _EVENT_SOURCES.iterdir()),
            "tracing": Path("/sys/kernel/tracing/events/sched").is_dir(),
        }
    )


if __name__ == "__main__":
    main()
