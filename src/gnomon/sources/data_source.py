"""What answered a memory access, from the word in which the kernel packs it into a sample.

The layout is that of `perf_mem_data_src` in linux/perf_event.h; all vendors' encodings come to us
in it. Older kernels and CPUs fill in the bits of levels, newer ones the number of a level.
"""

from __future__ import annotations

from typing import NamedTuple

_OPERATIONS = ((0x02, "load"), (0x04, "store"), (0x08, "prefetch"), (0x10, "execute"))
_HIT, _MISS = 0x02, 0x04
_LEVELS = (
    (0x0008, "L1"),
    (0x0010, "fill buffer"),
    (0x0020, "L2"),
    (0x0040, "L3"),
    (0x0080, "local memory"),
    (0x0100, "memory one hop away"),
    (0x0200, "memory two hops away"),
    (0x0400, "cache one hop away"),
    (0x0800, "cache two hops away"),
    (0x1000, "input and output"),
    (0x2000, "uncached memory"),
)
_CACHES = ("L1", "L2", "L3")
_NUMBERS = {
    0x1: "L1",
    0x2: "L2",
    0x3: "L3",
    0x4: "L4",
    0x5: "L2 miss buffer",
    0x6: "memory-side cache",
    0x8: "uncached memory",
    0x9: "CXL memory",
    0xA: "input and output",
    0xB: "cache",
    0xC: "fill buffer",
    0xD: "memory",
    0xE: "persistent memory",
}
_HOPS = {
    1: "another core of the node",
    2: "another node of the socket",
    3: "another socket",
    4: "another board",
}
_MODIFIED = 0x10
_FORWARDED, _PEER = 0x1, 0x2
UNKNOWN = "unknown"


class DataSource(NamedTuple):
    """What a sample tells about a memory access."""

    operation: str
    level: str
    snoop: str = ""
    remote: bool = False
    locked: bool = False
    tlb_miss: bool = False

    @property
    def text(self) -> str:
        """Where the data came from, in a few words."""
        return f"{self.level}, {self.snoop}" if self.snoop else self.level


def decode(word: int) -> DataSource:
    """Return what a word of the kernel says; what it leaves open is `unknown`."""
    operation = _first(_OPERATIONS, word & 0x1F) or UNKNOWN
    levels, snoop = word >> 5 & 0x3FFF, word >> 19 & 0x1F
    number, far = word >> 33 & 0xF, bool(word >> 37 & 1)
    forwarded, hops = word >> 38 & 0x3, word >> 43 & 0x7
    level = _by_bits(levels) or _by_number(number, hops, remote=far) or UNKNOWN
    return DataSource(
        operation,
        level,
        _snooped(snoop, forwarded),
        remote=far or level.endswith("away") or hops >= 2,
        locked=bool(word >> 24 & 2),
        tlb_miss=bool(word >> 26 & _MISS),
    )


def _first(names: tuple[tuple[int, str], ...], bits: int) -> str:
    return next((name for bit, name in names if bits & bit), "")


def _by_bits(levels: int) -> str:
    """Return the level of the older bits, empty where they leave it open."""
    name = _first(_LEVELS, levels)
    if name in _CACHES and levels & _MISS and not levels & _HIT:
        return f"beyond {name}"  # and nobody knows where
    return name


def _by_number(number: int, hops: int, *, remote: bool) -> str:
    name = _NUMBERS.get(number, "")
    if not name:
        return "another node" if remote else ""
    if name == "memory":
        name = "remote memory" if remote else "local memory"
    elif remote:
        name = f"remote {name}"
    return f"{name} of {_HOPS[hops]}" if hops in _HOPS else name


def _snooped(snoop: int, forwarded: int) -> str:
    if snoop & _MODIFIED:
        return "modified elsewhere"
    if forwarded & (_FORWARDED | _PEER):
        return "forwarded by another cache"
    return ""
