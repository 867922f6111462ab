"""Making, replacing and tidying the folder of a recording without ever harming another one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.files import TEMPORARY, exists, lock, write_error
from gnomon.recording.header import HEADER, PART_NAME, SUFFIX, read_header

if TYPE_CHECKING:
    from gnomon.recording.header import Header


def recording_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a recording: absolute, and with `.gnomon` added where it lacks."""
    result = Path(path)
    if result.name in ("", ".."):
        raise UsageError(f"'{path}' is no name for a recording: write one such as run1{SUFFIX}.")
    if result.suffix != SUFFIX:
        result = result.with_name(result.name + SUFFIX)
    result = result.absolute()
    return result.resolve() if exists(result) and result.is_symlink() else result


def create_folder(path: Path, header: Header, overwrite: bool) -> int:
    """Make the folder of a new recording with its header, and return its write lock.

    The folder appears under its name only with the header in it. A recording that it
    replaces is taken away after that, so that a failure leaves the old one in place.
    """
    replaced = exists(path)
    if replaced:
        check_replaceable(path, overwrite)
    token = secrets.token_hex(4)
    new = path.with_name(f".{path.name}.new-{token}")
    old = path.with_name(f".{path.name}.old-{token}")
    descriptor = None
    try:
        new.mkdir()
        header.write(new)
        descriptor = lock(new)
        if replaced:
            path.rename(old)
        new.rename(path)
    except OSError as error:
        if descriptor is not None:
            os.close(descriptor)
        if exists(old) and not exists(path):
            old.rename(path)
        if exists(new):
            remove_folder(new)
        raise write_error(path, error) from None
    if replaced:
        remove_folder(old)
    return descriptor


def check_replaceable(path: Path, overwrite: bool) -> None:
    """Raise why what is there under a name cannot be replaced by a recording."""
    if not overwrite:
        raise RecordingError(
            f"'{path}' already exists: choose another name, or replace it "
            "(--force, overwrite=True)."
        )
    try:
        read_header(path)
    except RecordingError as error:
        raise RecordingError(f"'{path}' is not overwritten, because {error}") from None
    try:
        strangers = [entry.name for entry in path.iterdir() if not _is_ours(entry)]
    except OSError as error:
        raise write_error(path, error) from None
    if strangers:
        raise RecordingError(
            f"'{path}' is not overwritten, because '{min(strangers)}' in it is no part of a "
            "recording: move that elsewhere or choose another name."
        )
    os.close(lock(path))


def _is_ours(entry: Path) -> bool:
    name = entry.name
    known = name == HEADER or name.startswith(TEMPORARY) or PART_NAME.fullmatch(name)
    return bool(known) and entry.is_file() and not entry.is_symlink()


def remove_folder(path: Path) -> None:
    """Delete a recording: only the files that are its own, and the folder if that empties it."""
    # What cannot be deleted stays: nothing that matters depends on its being gone.
    with suppress(OSError):
        # The header goes last, so that what is left can be told to be a recording.
        for entry in sorted(path.iterdir(), key=lambda entry: entry.name == HEADER):
            if _is_ours(entry):
                entry.unlink()
        path.rmdir()


def remove_leftovers(path: Path, header: Header) -> None:
    """Delete what a killed process left: files half-written, or not listed in the header."""
    listed = {part.file for parts in header.tables.values() for part in parts} | {HEADER}
    with suppress(OSError):
        for entry in list(path.iterdir()):
            if _is_ours(entry) and entry.name not in listed:
                entry.unlink(missing_ok=True)


def next_number(path: Path) -> int:
    """Return a number that no part in the folder bears."""
    matches = (PART_NAME.fullmatch(entry.name) for entry in path.iterdir())
    return max((int(match[2]) + 1 for match in matches if match), default=0)
