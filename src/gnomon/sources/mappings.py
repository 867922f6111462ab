"""What a process has mapped, and which of it was referenced lately."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mapping:
    """Addresses of a process that belong together; `name` is a file, or as [heap], or empty."""

    start: int
    end: int
    rights: str
    offset: int
    name: str

    @property
    def writable(self) -> bool:
        """Whether the process may write there."""
        return "w" in self.rights


def read_mappings(pid: int) -> tuple[Mapping, ...]:
    """Return what a process has mapped now, nothing when it has ended."""
    try:
        text = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")
    except (OSError, ProcessLookupError):
        return ()
    return parse_mappings(text)


def parse_mappings(text: str) -> tuple[Mapping, ...]:
    """Return the mappings of a text in the format of /proc/PID/maps."""
    mappings = []
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) < 5 or "-" not in fields[0]:
            continue
        first, _, last = fields[0].partition("-")
        name = fields[5] if len(fields) > 5 else ""
        mappings.append(Mapping(int(first, 16), int(last, 16), fields[1], int(fields[2], 16), name))
    return tuple(mappings)


def parse_referenced(text: str) -> dict[tuple[int, int], int]:
    """Return the referenced bytes of each mapping from a text in the format of smaps."""
    referenced: dict[tuple[int, int], int] = {}
    where: tuple[int, int] | None = None
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "Referenced:" and where is not None:
            referenced[where] = int(rest.split()[0]) << 10
        elif not word.endswith(":") and "-" in word:
            first, _, last = word.partition("-")
            where = (int(first, 16), int(last, 16))
    return referenced


class ReferencedBits:
    """The processor's referenced bits, which the kernel shows a mapping and can clear."""

    def __init__(self, pid: int) -> None:
        self._smaps = Path(f"/proc/{pid}/smaps")
        self._clear = Path(f"/proc/{pid}/clear_refs")

    def take(self) -> dict[tuple[int, int], int]:
        """Return the bytes of each mapping that were referenced since the last call."""
        try:
            referenced = parse_referenced(self._smaps.read_text(errors="surrogateescape"))
            self._clear.write_text("1")
        except (OSError, ProcessLookupError):
            return {}
        return {where: size for where, size in referenced.items() if size}
