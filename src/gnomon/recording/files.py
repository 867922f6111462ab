"""Files that are either there as a whole or not at all, and why they could not be written.

Everything that writes a file of its own for a user writes it here: a new file beside the old one
takes its place once it is whole. What is no regular file (a device, a FIFO, `/dev/stdout`) is
written through, and never replaced; of a symbolic link the target is replaced, never the link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gnomon.errors import GnomonError, RecordingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPORARY = ".part-"
"""How the names of files begin that are still being written."""

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space or choose another disk"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or choose another disk"),
    errno.EFBIG: ("a file may not grow this large here", "raise the file size limit (ulimit -f)"),
    errno.EACCES: ("permission denied", "choose a folder you can write to"),
    errno.EPERM: ("permission denied", "choose a folder you can write to"),
    errno.EROFS: ("the file system is read-only", "choose a folder you can write to"),
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
        return RecordingError(f"cannot read '{path}': permission denied; ask its owner.")
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


def check_new(path: Path, what: str, *, force: bool) -> None:
    """Raise why a file cannot be written, or is there already and not to be replaced."""
    if path.is_dir() or not path.name:
        raise UsageError(f"'{path}' is a folder: name a file for {what}.")
    if _written_through(path):
        if not os.access(path, os.W_OK):
            raise write_error(path, PermissionError(errno.EACCES, ""))
        return
    folder = _target(path).parent
    if not folder.is_dir():
        named = folder if path.is_symlink() else path.parent
        raise UsageError(f"there is no folder '{named}' for {what}: make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise GnomonError(
            f"cannot write '{path}': permission denied; choose a folder you can write to."
        )
    if path.exists() and not force:
        raise UsageError(f"'{path}' already exists: choose another name, or --force.")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which becomes `path` once the body has succeeded.

    OSErrors pass through; whatever happens, no temporary file is left behind.
    """
    if _written_through(path):
        with _through(path) as temporary:
            yield temporary
        return
    target = _target(path)
    temporary = _new_file(target.parent, target.suffix)
    try:
        yield temporary
        sync(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(target.parent)


_DESCRIPTOR = re.compile(r"/(?:dev/fd|proc/self/fd)/([0-9]+)")
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def _descriptor(path: Path) -> int | None:
    """Return the descriptor of this process that a path stands for; None if it is none."""
    name = str(path.absolute())
    match = _DESCRIPTOR.fullmatch(name)
    return int(match[1]) if match else _STREAMS.get(name)


def _written_through(path: Path) -> bool:
    """Whether there is something at `path` that no file may take the place of."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _target(path: Path) -> Path:
    """Return what is replaced: the end of a symbolic link, also where nothing is there yet."""
    return path.resolve() if path.is_symlink() else path.absolute()


def _new_file(folder: Path, suffix: str) -> Path:
    """Make an empty file that nobody can have foreseen, with the rights that files get here."""
    name = folder / f"{TEMPORARY}{os.urandom(8).hex()}{suffix}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(name, flags, 0o666))
    return name


@contextlib.contextmanager
def _through(path: Path) -> Iterator[Path]:
    """Give a temporary path whose content is written into what is at `path` afterwards."""
    import shutil
    import sys
    import tempfile

    with tempfile.TemporaryDirectory(prefix="gnomon-") as folder:
        temporary = _new_file(Path(folder), path.suffix)
        yield temporary
        sys.stdout.flush()
        own = _descriptor(path)
        # A copy of the descriptor goes on where the stream stands; opening the name would not.
        to = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if own is None else os.dup(own)
        with temporary.open("rb") as source, os.fdopen(to, "wb") as sink:
            shutil.copyfileobj(source, sink)


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
