"""The user's cache: the runs of unfinished campaigns, a folder each, and the lock of this host.

One campaign at a time: programs that run beside each other disturb each other.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.errors import GnomonError

MOST_CAMPAIGNS = 16
MOST_BYTES = 1 << 30
_ABOUT = "campaign.json"


def cache_folder() -> Path:
    """Return the folder of gnomon in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "gnomon"


def campaigns_folder() -> Path:
    """Return the folder that has one folder for each unfinished campaign."""
    return cache_folder() / "campaigns"


@dataclass(slots=True)
class CampaignFolder:
    """The folder of one campaign; whoever has it open is the only one who writes to it."""

    path: Path
    descriptor: int

    def close(self) -> None:
        """Let others have it; may be called again."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def remove(self) -> None:
        """Delete it: the campaign has ended well."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.close()


def open_folder(name: str, identity: Mapping[str, str], *, anew: bool = False) -> CampaignFolder:
    """Open the folder of a campaign, with what it has, or an empty one; `anew` empties it."""
    path = campaigns_folder() / name
    try:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise GnomonError(
            f"the runs of the campaign cannot be kept in '{path}': {error.strerror}; set "
            "XDG_CACHE_HOME to a folder that can be written, or give -o."
        ) from None
    folder = CampaignFolder(path, descriptor)
    if not _locked(descriptor):
        folder.close()
        raise GnomonError(f"'{path}' is being written by another process: wait until it has ended.")
    if anew or read_identity(path) != dict(identity):
        for entry in path.iterdir():
            entry.unlink()
        written = path / f".{_ABOUT}"
        written.write_text(json.dumps(dict(identity), indent=1), encoding="utf-8")
        written.replace(path / _ABOUT)
    os.utime(path)
    _make_room(path)
    return folder


def read_identity(path: Path) -> dict[str, str] | None:
    """Return the identity of the campaign in a folder; None where there is none."""
    try:
        found: Any = json.loads((path / _ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def similar(kind: str, identity: Mapping[str, str]) -> tuple[Path, dict[str, str]] | None:
    """Return the latest unfinished campaign of a kind with the same command, if there is one."""
    for path in sorted(_folders(), key=_age, reverse=True):
        found = read_identity(path) if path.name.startswith(f"{kind}-") else None
        if found and all(found.get(name) == identity.get(name) for name in ("command", "folder")):
            return path, found
    return None


def _make_room(own: Path) -> None:
    """Delete the oldest campaigns that nobody works on until the rest is within the bounds."""
    folders = sorted((path for path in _folders() if path != own), key=_age)
    sizes = {path: folder_size(path) for path in folders}
    total = sum(sizes.values())
    while folders and (len(folders) >= MOST_CAMPAIGNS or total > MOST_BYTES):
        oldest = folders.pop(0)
        with suppress(OSError):
            descriptor = os.open(oldest, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            folder = CampaignFolder(oldest, descriptor)
            if _locked(descriptor):
                folder.remove()
                total -= sizes[oldest]
            folder.close()


def _folders() -> list[Path]:
    try:
        return [entry for entry in campaigns_folder().iterdir() if entry.is_dir()]
    except OSError:
        return []


def folder_size(path: Path) -> int:
    """Return the bytes of the files in a folder."""
    size = 0
    with suppress(OSError):
        size = sum(entry.stat().st_size for entry in path.iterdir())
    return size


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # no locks on this file system
    return True


@contextmanager
def exclusive(what: str, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold this host for a campaign; while another one holds it, say so and wait.

    A campaign inside a campaign, as in a study or where the measured program is gnomon, does
    not wait for the one around it. Where no lock can be had, nothing is exclusive.
    """
    descriptor = _open()
    if descriptor is None:
        yield
        return
    try:
        if not _taken(descriptor):
            holder, described = _holder(descriptor)
            if holder in _ancestors():
                yield
                return
            on_wait(f"waiting until another campaign has ended: {described}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        began = time.strftime("%H:%M")
        os.ftruncate(descriptor, 0)
        text = f"{os.getpid()} {what}, process {os.getpid()}, since {began}"
        os.pwrite(descriptor, text.encode(errors="backslashreplace"), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def lock_path() -> Path:
    """Return the file that is locked; a home that several hosts share has one for each."""
    return cache_folder() / f"campaign-{os.uname().nodename}.lock"


def _open() -> int | None:
    path = lock_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


def _taken(descriptor: int) -> bool:
    """Take the lock if it is free; some network file systems have none, which counts as free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _holder(descriptor: int) -> tuple[int, str]:
    text = os.pread(descriptor, 4096, 0).decode(errors="replace")
    pid, _, what = text.partition(" ")
    return (int(pid), what) if pid.isdecimal() and what else (0, "one that has just begun")


def _ancestors() -> set[int]:
    """Return this process and those that it descends from."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            break
        pid = int(stat.rpartition(")")[2].split()[1])
    return found
