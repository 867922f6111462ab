"""Definition files: TOML that is checked key by key, with errors that say where and why.

A `Collection` has those that come with gnomon, by name, beside those of users, by path.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.resources.abc import Traversable


class DefinitionError(UsageError):
    """A definition file has a mistake; the message names the file, the key and the reason."""

    def __init__(self, file: str, key: str, reason: str, line: int | None = None) -> None:
        self.file = file
        self.key = key
        self.reason = reason
        self.line = line
        place = f"{file}:{line}" if line else file
        end = "" if reason.endswith(("?", ".")) else "."
        super().__init__(f"{place}: {f'{key}: ' if key else ''}{reason}{end}")


class Section:
    """One table of a definition file, whose keys are asked for by type.

    After the last question, `finish` complains about keys that nobody asked for, so that a
    misspelt key is an error rather than a silent default.
    """

    def __init__(
        self, file: str, text: str, data: dict[str, Any], path: tuple[str, ...] = ()
    ) -> None:
        self.file = file
        self.source = text
        self.data = data
        self.path = path
        self.asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string; without a default the key must be there."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self.error("must be a string" if key in self.data else "is missing", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings, empty if the key is absent."""
        value = self._get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error("must be a list of strings", key)
        return tuple(value)

    def integer(self, key: str) -> int | None:
        """Return a whole number, or None if the key is absent."""
        value = self._get(key, None)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise self.error("must be a whole number", key)
        return value

    def section(self, key: str) -> Section:
        """Return a table inside this one, empty if the key is absent."""
        value = self._get(key, {})
        if not isinstance(value, dict):
            raise self.error("must be a table", key)
        return Section(self.file, self.source, value, (*self.path, key))

    def sections(self) -> Iterator[tuple[str, tuple[Section, ...]]]:
        """Give each key's tables: one for `[a.key]`, several for repeated `[[a.key]]`."""
        for key in self.data:
            value = self._get(key, None)
            entries = value if isinstance(value, list) else [value]
            if not entries or not all(isinstance(each, dict) for each in entries):
                raise self.error("must be a table", key)
            path = (*self.path, key)
            yield key, tuple(Section(self.file, self.source, each, path) for each in entries)

    def finish(self) -> None:
        """Refuse keys that are not part of the format, with the nearest ones that are."""
        for key in self.data:
            if key not in self.asked:
                raise self.error(f"is not a known key{suggestion(key, self.asked)}", key)

    def error(self, reason: str, key: str = "") -> DefinitionError:
        """Return the error to raise for this table or for one of its keys."""
        path = (*self.path, key) if key else self.path
        return DefinitionError(self.file, ".".join(path), reason, self._line(key))

    @property
    def line(self) -> int | None:
        """The line on which the table begins, where it can be told."""
        return self._line("")

    def _get(self, key: str, default: object) -> Any:
        self.asked.add(key)
        return self.data.get(key, default)

    def _line(self, key: str) -> int | None:
        # The parser of the standard library keeps no positions, so look for the header.
        header = r"\s*\.\s*".join(rf"[\"']?{re.escape(part)}[\"']?" for part in self.path)
        start = 0
        if self.path:
            found = re.search(rf"^\s*\[\[?\s*{header}\s*\]", self.source, re.MULTILINE)
            if found is None:
                return None
            start = found.end()
        if key:
            within = re.compile(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", re.MULTILINE)
            following = re.compile(r"^\s*\[", re.MULTILINE).search(self.source, start)
            found = within.search(self.source, start, following.start() if following else 2**31)
            start = found.end() if found else start
        return self.source.count("\n", 0, start) + 1 if start else None


def read_definitions(path: Path | str) -> Section:
    """Return the top table of a TOML file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise DefinitionError(str(path), "", f"cannot be read: {reason}") from None
    return parse_definitions(text, str(path))


def parse_definitions(text: str, file: str) -> Section:
    """Return the top table of a TOML text; `file` is what messages call it."""
    try:
        return Section(file, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*?)\s*\(at (?:line (\d+), column \d+|end of document)\)", str(error))
        if found is None:
            raise DefinitionError(file, "", f"is not valid TOML: {error}") from None
        line = int(found[2]) if found[2] else text.count("\n") + 1
        raise DefinitionError(file, "", f"is not valid TOML: {found[1]}", line) from None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean ...?` for the nearest known words, or nothing."""
    near = nearest(word, known)
    return f": did you mean {' or '.join(near)}?" if near else ""


def nearest(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three known words that look like this one, ignoring case."""
    spelling = {each.lower(): each for each in known}
    return tuple(spelling[each] for each in difflib.get_close_matches(word.lower(), spelling, 3))


def quote(text: str) -> str:
    """Return a text as a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m[0]):04X}", escaped) + '"'


class Collection(NamedTuple):
    """A folder of TOML files in a package; `noun` is what one of them describes."""

    noun: str
    package: str
    folder: str

    def names(self) -> tuple[str, ...]:
        """Return the names of all that come with gnomon."""
        names = (each.name for each in self._files().iterdir())
        return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))

    def read(self, name: str | Path) -> tuple[Section, str]:
        """Return the top table of one, or of a file of the user's, and its name."""
        if is_file(name):
            return read_definitions(name), Path(name).stem
        known = self.names()
        if name not in known:
            near = ", ".join(nearest(str(name), known) or known)
            raise UsageError(
                f"there is no {self.noun} '{name}': choose from {near}, or name a .toml file."
            )
        file = self._files() / f"{name}.toml"
        return parse_definitions(file.read_text("utf-8"), f"{name}.toml"), str(name)

    def _files(self) -> Traversable:
        from importlib.resources import files

        return files(self.package) / self.folder


def is_file(name: str | Path) -> bool:
    """Return whether this is a file of the user's, and not the name of what comes with gnomon."""
    return isinstance(name, Path) or name.endswith(".toml")
