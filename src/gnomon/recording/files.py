"""Files that are either there as a whole or not at all, and why they could not be written."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gnomon.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPORARY = ".part-"
"""How the names of files begin that are still being written."""

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space or choose another disk"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or choose another disk"),
    errno.EFBIG: ("a file may not grow this large here", "raise the file size limit (ulimit -f)"),
    errno.EACCES: ("permission is denied", "choose a place that you may write to"),
    errno.EPERM: ("permission is denied", "choose a place that you may write to"),
    errno.EROFS: ("the file system is read-only", "choose a place that you may write to"),
    errno.ENOENT: ("its folder does not exist", "create the folder first or choose another"),
    errno.ENOTDIR: ("part of its path is a file", "choose another path"),
    errno.ENAMETOOLONG: ("its name is too long", "choose a shorter one"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n)"),
}


def exists(path: Path) -> bool:
    """Tell whether there is something at `path`; what may not be looked at counts as no."""
    try:
        return path.exists()
    except OSError:
        return False


def write_error(path: Path, error: OSError) -> RecordingError:
    """Return the error to show when `path` could not be written."""
    reason, remedy = _REASONS.get(
        error.errno or 0, (error.strerror or str(error), "check the disk and its permissions")
    )
    return RecordingError(f"cannot write '{path}': {reason}; {remedy}.")


def read_error(path: Path, error: OSError) -> RecordingError:
    """Return the error to show when `path` could not be read."""
    if isinstance(error, FileNotFoundError):
        return RecordingError(f"cannot read '{path}': there is no such file; check the path.")
    if isinstance(error, PermissionError):
        return RecordingError(f"cannot read '{path}': permission is denied; ask its owner.")
    if isinstance(error, IsADirectoryError):
        return RecordingError(f"cannot read '{path}': it is a folder; name a file in it.")
    reason = error.strerror or str(error)
    return RecordingError(f"cannot read '{path}': {reason}; check the disk.")


def sync(path: Path) -> None:
    """Make sure that a file, or the list of names in a folder, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which becomes `path` once the body has succeeded.

    OSErrors pass through; whatever happens, no temporary file is left behind.
    """
    temporary = path.with_name(TEMPORARY + path.name)
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


@contextlib.contextmanager
def replacing_text(path: Path) -> Iterator[IO[str]]:
    """Give a text stream whose content becomes the file `path` once the body has succeeded."""
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as stream,
    ):
        yield stream


def lock(folder: Path) -> int:
    """Take the right to write to `folder` and return the descriptor that holds it.

    The system gives the right back when the descriptor is closed or its process ends.
    """
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise write_error(folder, error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RecordingError(
            f"'{folder}' is being written by another process: wait for it or choose another name."
        ) from None
    except OSError:
        pass  # some network file systems have no locks: then writers must not meet
    return descriptor
