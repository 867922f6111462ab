"""Names of addresses in the kernel, where it shows them."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from pathlib import Path


class KernelSymbols:
    """The functions of /proc/kallsyms, read when the first one is asked for."""

    def __init__(self, path: Path = Path("/proc/kallsyms")) -> None:
        self._path = path

    @cached_property
    def _functions(self) -> tuple[list[int], list[str]]:
        try:
            lines = self._path.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        rows = (line.split() for line in lines)
        found = sorted(
            (int(words[0], 16), words[2]) for words in rows if len(words) > 2 and words[1] in "tTwW"
        )
        if not found or not found[-1][0]:  # all zeros: hidden from this user
            return [], []
        return [address for address, _ in found], [name for _, name in found]

    def find(self, address: int) -> tuple[str, int] | None:
        """Return the name and the start of the function of an address."""
        starts, names = self._functions
        place = bisect_right(starts, address) - 1
        return None if place < 0 else (names[place], starts[place])
