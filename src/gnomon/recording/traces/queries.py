"""Queries that are known by a name, with parameters that are given when they are asked.

They are data: `queries.toml` beside this module, and files of users in the same form.

    [slowest-echoes]
    says = "the echoes of a node that took longest"
    sql = "SELECT id, dt FROM packets WHERE type IN (9, 18) AND src = $node ORDER BY dt DESC"
    defaults = { node = 0 }
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnomon.errors import UsageError
from gnomon.recording.files import read_error

_LARGEST = 1 << 20
_OWN = Path(__file__).with_name("queries.toml")
_NAME = re.compile(r"[\w-]{1,64}")


@dataclass(frozen=True, slots=True)
class Named:
    """A query with a name."""

    name: str
    says: str
    sql: str
    defaults: Mapping[str, Any] = field(default_factory=dict)


def read_queries(path: str | os.PathLike[str] = _OWN) -> dict[str, Named]:
    """Return the queries in a file; mistakes in it name file and key."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            text = stream.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise UsageError(f"'{path}' is too long for a file of queries.")
        content = tomllib.loads(text.decode())
    except OSError as error:
        raise read_error(path, error) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"'{path}' is no TOML: {error}.") from None
    return {name: _named(name, each, path) for name, each in content.items()}


def _named(name: str, content: Any, path: Path) -> Named:
    def wrong(how: str) -> UsageError:
        return UsageError(f"'{path}', query '{name}': {how}.")

    if not _NAME.fullmatch(name):
        raise wrong("a name has letters, digits, - and _")
    if not isinstance(content, dict) or not {"says", "sql"} <= content.keys():
        raise wrong("it needs says and sql")
    if unknown := sorted(content.keys() - {"says", "sql", "defaults"}):
        raise wrong(f"there is no key '{unknown[0]}'")
    defaults = content.get("defaults", {})
    if not isinstance(content["says"], str) or not isinstance(content["sql"], str):
        raise wrong("says and sql are texts")
    if not isinstance(defaults, dict) or not all(
        isinstance(value, int | float | str) for value in defaults.values()
    ):
        raise wrong("defaults are numbers and texts")
    return Named(name, content["says"], content["sql"], defaults)


def query_of(
    text: str, params: Mapping[str, Any], file: str | os.PathLike[str] | None = None
) -> tuple[str, dict[str, Any]]:
    """Return the SQL and the parameters of a query, which may be known by its name."""
    if not _NAME.fullmatch(text.strip()):
        return text, dict(params)
    known = read_queries() | (read_queries(file) if file is not None else {})
    found = known.get(text.strip())
    if found is None:
        close = difflib.get_close_matches(text.strip(), known, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}."
        raise UsageError(f"there is no query named '{text.strip()}': {hint}")
    wanted = set(re.findall(r"\$(\w+)", found.sql))
    if unknown := sorted(params.keys() - wanted):
        raise UsageError(f"the query '{found.name}' has no parameter '{unknown[0]}'.")
    if lacking := sorted(wanted - params.keys() - found.defaults.keys()):
        raise UsageError(
            f"the query '{found.name}' needs '{lacking[0]}': give --param {lacking[0]}=VALUE."
        )
    return found.sql, {**found.defaults, **params}
