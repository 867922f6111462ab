"""Definition files that come with gnomon, by name, beside those of users, by path."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UsageError
from gnomon.events.tomlfile import nearest, parse_definitions, read_definitions

if TYPE_CHECKING:
    from gnomon.events.tomlfile import Section


class Collection(NamedTuple):
    """A folder of TOML files in a package; `noun` is what one of them describes."""

    noun: str
    package: str
    folder: str

    def names(self) -> tuple[str, ...]:
        """Return the names of all that come with gnomon."""
        names = (each.name for each in (resources.files(self.package) / self.folder).iterdir())
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
        file = resources.files(self.package) / self.folder / f"{name}.toml"
        return parse_definitions(file.read_text("utf-8"), f"{name}.toml"), str(name)


def is_file(name: str | Path) -> bool:
    """Return whether this is a file of the user's, and not the name of what comes with gnomon."""
    return isinstance(name, Path) or name.endswith(".toml")
