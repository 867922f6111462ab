"""How much memory this process may still take: limits of its control group and its own."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")
_UNLIMITED = 1 << 60  # the first version of control groups writes a number beyond this


def room_left(root: Path = _ROOT) -> int | None:
    """Return the bytes that limits leave, or None where there are none.

    To take more would end this process (control groups) or fail (limits of its addresses).
    """
    rooms = [*_group_rooms(root), *_address_rooms(root)]
    return max(0, min(rooms)) if rooms else None


def _group_rooms(root: Path) -> Iterator[int]:
    """Look at the group of this process and all above it: each may have a limit."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if not controllers:
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
            names = ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            tops = [root / "sys/fs/cgroup/memory"]
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        parts = [part for part in path.split("/") if part and part != ".."]
        for top in tops:
            for depth in range(len(parts) + 1):
                yield from _group_room(top.joinpath(*parts[:depth]), *names)


def _group_room(folder: Path, limit: str, usage: str, reclaimable: str) -> Iterator[int]:
    most, used = _text(folder / limit), _text(folder / usage)
    if most.isdigit() and used.isdigit() and int(most) < _UNLIMITED:
        # Contents of files are given up before anything is refused.
        files = re.search(rf"^{reclaimable} ([0-9]+)$", _text(folder / "memory.stat"), re.MULTILINE)
        yield int(most) - int(used) + (int(files[1]) if files else 0)


def _address_rooms(root: Path) -> Iterator[int]:
    """Look at limits of addresses and of data, which a mapping counts towards."""
    status = _text(root / "proc/self/status")
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(limit)[0]
        used = re.search(rf"^{name}:\s+([0-9]+) kB", status, re.MULTILINE)
        if most != resource.RLIM_INFINITY and used:
            yield most - 1024 * int(used[1])


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
