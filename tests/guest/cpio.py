"""Write ``newc`` cpio archives, the format of a Linux initramfs.

Entries belong to root and carry no time, so equal trees give equal bytes whoever builds them.
The format is described in the kernel's Documentation/driver-api/early-userspace/buffer-format.
"""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_ALIGNMENT = 4


@dataclass(frozen=True)
class Entry:
    """One file, folder, link or device: its type and permissions, and what it holds."""

    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def file(data: bytes, *, executable: bool = False) -> Entry:
    """A regular file that everyone may read."""
    return Entry(stat.S_IFREG | (0o755 if executable else 0o644), data)


def link(target: str) -> Entry:
    """A symbolic link."""
    return Entry(stat.S_IFLNK | 0o777, target.encode())


def folder(permissions: int = 0o755) -> Entry:
    """A folder, needed only where it is empty or has unusual permissions."""
    return Entry(stat.S_IFDIR | permissions)


def character_device(major: int, minor: int) -> Entry:
    """A device node; writing one into an archive needs no privilege."""
    return Entry(stat.S_IFCHR | 0o600, device=(major, minor))


def archive(tree: Mapping[str, Entry]) -> bytes:
    """Return the archive of a tree, given as entries by their path without leading slash.

    Folders that a path needs and the tree does not name are added.
    """
    complete = dict(tree)
    for name in tree:
        for parent in PurePosixPath(name).parents:
            if str(parent) != ".":
                complete.setdefault(str(parent), folder())
    chunks: list[bytes] = []
    # Sorted by parts, because the kernel wants a folder before what is in it.
    for number, name in enumerate(sorted(complete, key=lambda name: PurePosixPath(name).parts)):
        chunks += _record(number, name, complete[name])
    chunks += _record(0, "TRAILER!!!", Entry(0))
    return b"".join(chunks)


def _record(number: int, name: str, entry: Entry) -> tuple[bytes, bytes]:
    path = name.encode() + b"\0"
    fields = (
        number,
        entry.mode,
        0,  # user
        0,  # group
        2 if stat.S_ISDIR(entry.mode) else 1,  # links
        0,  # time of change
        len(entry.data),
        0,  # device that holds the file
        0,
        *entry.device,
        len(path),
        0,  # checksum, of another variant of the format
    )
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + path), _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGNMENT)
