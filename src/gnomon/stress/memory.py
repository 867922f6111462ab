"""Memory on a chosen node, with huge pages where there are any, and proof of where it is.

Before memory is taken, limits of the control group and of the process itself are looked at.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import time
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from gnomon import _native
from gnomon.errors import GnomonError, NotPermittedError, UsageError
from gnomon.stress.nodes import Nodes, read_nodes
from gnomon.units import format_bytes

_RESERVE = 64 << 20  # left free on a node: a bound allocation that fails ends processes
_PAUSES = (0.001, 0.01, 0.1, 0.5)  # seconds, before asking again where pages are


class PageKind(IntEnum):
    """What pages a buffer got."""

    SMALL = 0
    TRANSPARENT = 1  # 2 MB, made by the kernel where it could
    RESERVED = 2  # 2 MB, from the pool of hugetlbfs


class Buffer:
    """Memory that is there: allocated on `node`, every page written once.

    Without a node the kernel chooses. `huge` asks for pages of 2 MB; `note` says why they are
    not to be had, and `huge_share` how much of the buffer has them.
    """

    def __init__(self, size: int, node: int | None = None, *, huge: bool = True) -> None:
        _check_room(size, node)
        try:
            self._pages = _native.Pages(size, -1 if node is None else node, huge)
        except OSError as error:
            raise _failure(error, size, node) from None
        self.node = node
        self.size = size
        self.address = self._pages.address
        self.kind = PageKind(self._pages.kind)
        self.huge_share = self._huge_share()
        self.note = self._note() if huge else ""

    def __enter__(self) -> Self:
        """Return the buffer; its memory is given back at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the memory back."""
        self.close()

    def close(self) -> None:
        """Give the memory back; nothing may use it any more."""
        self._pages.release()

    @property
    def view(self) -> memoryview:
        """The bytes themselves; not to be used after `close`."""
        return self._pages.view()

    def placement(self) -> Mapping[int, int]:
        """Return how many pages (of the base size) are on which node, as move_pages says.

        Negative nodes are errors. A page that the kernel is just moving, or joining with others
        to a huge one, is on no node for a moment: it is asked for again.
        """
        found = self._placement_now()
        for pause in _PAUSES:
            if min(found) >= 0:
                break
            time.sleep(pause)
            found = self._placement_now()
        return found

    def _placement_now(self) -> Mapping[int, int]:
        try:
            return self._pages.placement()
        except OSError as error:
            raise NotPermittedError(
                f"the node of a page cannot be queried: move_pages failed ({error.strerror})."
            ) from None

    def share_on(self, node: int) -> float:
        """Return the share of pages that are on a node."""
        found = self.placement()
        return found.get(node, 0) / sum(found.values())

    def verify(self) -> None:
        """Raise GnomonError unless all pages are on the node that was asked for."""
        if self.node is None:
            return
        elsewhere = {node: n for node, n in self.placement().items() if node != self.node}
        if elsewhere:
            places = ", ".join(f"{n} pages on {_place(node)}" for node, n in elsewhere.items())
            raise GnomonError(
                f"memory for node {self.node} could not be placed there: {places}. "
                "Free memory on that node and try again."
            )

    def _huge_share(self) -> float:
        if self.kind is not PageKind.TRANSPARENT:
            return float(self.kind is PageKind.RESERVED)
        return min(1.0, _transparent_bytes(self.address) / self.size)

    def _note(self) -> str:
        if self.kind is PageKind.SMALL:
            return f"{self._pages.why_not}: pages are small."
        if self.huge_share < 0.9:
            return (
                f"{self._pages.why_not}, and the kernel made them for only "
                f"{self.huge_share:.0%} of {format_bytes(self.size)}; the rest has small pages."
            )
        return ""


def _place(node: int) -> str:
    return f"node {node}" if node >= 0 else f"no node ({os.strerror(-node)})"


def free_memory(node: int | None = None, nodes: Nodes | None = None) -> int:
    """Return the bytes that a buffer may have: on a node, or anywhere; limits are kept."""
    if node is None:
        page = os.sysconf("SC_PAGE_SIZE")
        free = max(_available(), page * os.sysconf("SC_AVPHYS_PAGES"))
    else:
        free = (nodes or read_nodes())[node].free
    limit = room_left()
    return max(0, (free if limit is None else min(free, limit)) - _RESERVE)


def _check_room(size: int, node: int | None) -> None:
    if size <= 0:
        raise UsageError("a buffer must have at least one byte.")
    place = "this machine"
    if node is not None:
        place = f"node {node}"
        if read_nodes()[node].memory == 0:
            raise UsageError(f"node {node} has no memory: choose another.")
    free = free_memory(node)
    if size > free:
        limit = room_left()
        if limit is not None and free + _RESERVE >= limit:
            place = "the limits of this process (ulimit, control group)"
        raise GnomonError(
            f"{format_bytes(size)} do not fit {place}, which has {format_bytes(free)} free: "
            "ask for less."
        )


def _available() -> int:
    text = Path("/proc/meminfo").read_text()
    match = re.search(r"^MemAvailable:\s+([0-9]+) kB", text, re.MULTILINE)
    return 1024 * int(match[1]) if match else 0


def _failure(error: OSError, size: int, node: int | None) -> GnomonError:
    what = f"{format_bytes(size)}" + ("" if node is None else f" on node {node}")
    if error.errno in (errno.EPERM, errno.ENOSYS):
        return NotPermittedError(
            f"memory cannot be placed on a node ({error.strerror}): a container may forbid mbind."
        )
    if error.errno == errno.EINVAL and node is not None:
        return UsageError(f"{what} cannot be had: this process may not use that node.")
    return GnomonError(f"{what} cannot be had: {error.strerror}. Ask for less.")


def _transparent_bytes(address: int) -> int:
    """Return how much of the mapping that holds an address has transparent huge pages."""
    inside = False
    with Path("/proc/self/smaps").open() as lines:
        for line in lines:
            head = line.split(maxsplit=1)[0]
            if not head.endswith(":"):
                first, last = (int(part, 16) for part in head.split("-"))
                inside = first <= address < last
            elif inside and head == "AnonHugePages:":
                return 1024 * int(line.split()[1])
    return 0


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
