"""The runs of unfinished campaigns in the user's cache, a folder each."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
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
