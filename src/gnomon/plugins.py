"""What other packages add to gnomon, found by entry points and imported when it is asked for.

The groups are `gnomon.sources` (see `gnomon.sources.registry`), `gnomon.commands` (a module with
`configure` and `run`), `gnomon.results` (the class of a kind of result, or its module) and
`gnomon.describe` (what says how a kind looks).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.errors import GnomonError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def load(group: str, name: str, what: str) -> Any:  # Any: what the package refers to
    """Return what a package adds to a group under a name; None where none does.

    `what` says what that is in errors, as in `command`. Two packages that add the same name are an
    error, and so is one that cannot be imported.
    """
    from importlib.metadata import entry_points

    points = tuple(entry_points(group=f"gnomon.{group}", name=name))
    if len(points) > 1:
        packages = " and ".join(map(package_of, points))
        raise UsageError(
            f"the {what} '{name}' is there {len(points)} times, in the packages {packages}: "
            "uninstall one of them."
        )
    return load_point(points[0], what) if points else None


def load_point(point: EntryPoint, what: str) -> Any:
    """Return what an entry point refers to, or say in a sentence why that cannot be imported."""
    try:
        return point.load()
    except Exception as error:  # whatever a module of somebody else's raises
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise GnomonError(
            f"the {what} '{point.name}' of the package {package_of(point)} cannot be imported "
            f"({why}): repair or uninstall it."
        ) from None


def package_of(point: EntryPoint) -> str:
    """Return the name of the package that an entry point is of."""
    return point.dist.name if point.dist is not None else point.module
