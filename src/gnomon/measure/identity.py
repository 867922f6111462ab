"""What must be the same for a campaign to go on: programs, arguments, options, source, machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.sources.base import Command, Cpus, Described

if TYPE_CHECKING:
    from gnomon.recording.contents import Provenance
    from gnomon.sources.base import Source, Target

Identity = dict[str, str]
"""Parts with a value each: `command`, `program ./a`, `source`, `machine`, `--repeat`, ..."""

_SCRIPTS = re.compile(r"\.(awk|bash|jar|jl|js|lua|m|mjs|php|pl|py|pyz|r|rb|sh|tcl)", re.IGNORECASE)


def identify(
    targets: Sequence[Target],
    sources: Sequence[tuple[Source, Provenance]],
    options: Mapping[str, object],
) -> Identity:
    """Return the identity of a campaign that measures these targets.

    `options` are those that decide what is measured, as the command line spells them.
    """
    from gnomon import __version__

    identity = {"command": " and ".join(map(_text, targets)), "folder": str(Path.cwd())}
    for target in targets:
        command = target.command if isinstance(target, Cpus) else target
        if isinstance(command, Command):
            identity |= {f"program {name}": digest for name, digest in programs(command)}
            if command.input:
                identity[f"input {command.input}"] = _digest(Path(command.input))
    identity["source"] = ", ".join(dict.fromkeys(_source(each) for _, each in sources))
    identity |= {f"machine {each.name}": _machine(each, origin) for each, origin in sources}
    identity |= {name: _value(value) for name, value in options.items()}
    return identity | {"gnomon": __version__}


def programs(command: Command) -> Iterator[tuple[str, str]]:
    """Yield the files that decide what a command does, each with a digest of its content.

    That is its executable and, for interpreters and wrappers, the scripts and executables among
    its arguments. Other arguments may be files that the program writes.
    """
    for place, word in enumerate(command.argv):
        path = _executable(command, word) if place == 0 else _script(command, word)
        if path is None:
            continue
        yield word, _digest(path)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "blake2b").hexdigest()[:32]
    except OSError:
        return "unreadable"


def folder_digest(folder: Path) -> str:
    """Return a digest of the Python sources in a folder."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def digest_of(identity: Mapping[str, str]) -> str:
    """Return a short name for an identity: another one has another."""
    text = json.dumps(identity, sort_keys=True)
    return hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=6).hexdigest()


def change(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return in words what differs first between two identities, empty when nothing does."""
    for name in dict.fromkeys((*now, *before)):
        was, becomes = before.get(name, ""), now.get(name, "")
        if was == becomes:
            continue
        kind, _, rest = name.partition(" ")
        if kind == "input" and not (was and becomes):
            return f"the input '{rest}' was {'given' if was else 'not given'} when it began"
        if kind in ("program", "input"):
            return f"the {kind} '{rest}' has changed"
        if kind == "machine":
            return f"it began on {was or 'another machine'} and this is {becomes or 'another'}"
        if kind == "folder":
            return f"it was started in '{was}'"
        return f"{_titled(name)} was {was or 'not given'} and is now {becomes or 'not given'}"
    return ""


def _titled(name: str) -> str:
    return name if name.startswith("-") or name == "gnomon" else f"the {name}"


def _text(target: Target) -> str:
    command = target.command if isinstance(target, Cpus) else target
    words = shlex.join(command.argv) if isinstance(command, Command) else ""
    if isinstance(target, Cpus):
        return f"{words} on CPUs {target.cpus or 'all'}".strip()
    return words or str(target)


def _source(provenance: Provenance) -> str:
    seed = "" if provenance.seed is None else f" (seed {provenance.seed})"
    return f"{provenance.source}{seed}"


def _machine(source: Source, provenance: Provenance) -> str:
    if provenance.simulated:
        own = f" ({source.fingerprint()})" if isinstance(source, Described) else ""
        return f"{provenance.machine or provenance.cpu}{own}"
    about = f"{provenance.cpu}, {provenance.cpus} CPUs, {provenance.kernel}"
    return f"{provenance.host} ({about})"


def _value(value: object) -> str:
    return "" if value is None or value is False else str(value)


def _executable(command: Command, word: str) -> Path | None:
    if "/" in word:
        places = [Path(command.directory or ".") / word]
    else:
        places = [Path(folder) / word for folder in os.get_exec_path()]
    return next((place for place in places if _is_file(place) and os.access(place, os.X_OK)), None)


def _script(command: Command, word: str) -> Path | None:
    path = Path(command.directory or ".") / word
    if not _is_file(path):
        return None
    if _SCRIPTS.fullmatch(path.suffix) or os.access(path, os.X_OK):
        return path
    try:
        with path.open("rb") as stream:
            return path if stream.read(2) == b"#!" else None
    except OSError:
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no permission, or no text that can be a path
        return False
