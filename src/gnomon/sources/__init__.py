"""Where counts come from, and finding a source by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.lazy import lazy_names

if TYPE_CHECKING:
    from gnomon.sources.base import Source
    from gnomon.sources.machine import MachineSource
    from gnomon.sources.sampling import Sampling

__all__ = ["SOURCES", "MachineSource", "Sampling", "find_source", "local_sources", "source_of"]

SOURCES = ("perf", "valgrind", "machine")


def find_source(name: str, **options: Any) -> Source:
    """Return the source of this name; the options are those of its class.

    Sources are imported when they are asked for: most commands need one of them.
    """
    match name:
        case "perf":
            from gnomon.sources.perf import PerfSource

            return PerfSource(**options)
        case "valgrind":
            from gnomon.sources.valgrind import ValgrindSource

            return ValgrindSource(**options)
        case "machine" if "machine" in options:
            from gnomon.sources.machine import MachineSource

            return MachineSource(**options)
        case "machine":
            from gnomon.errors import UsageError

            raise UsageError("a simulated machine has a name: give --on, as in --on laptop.")
    from gnomon.errors import UsageError

    raise UsageError(f"there is no source '{name}': there are {', '.join(SOURCES)}.")


def local_sources() -> list[Source]:
    """Return the sources that count real programs here: perf, and others that are installed."""
    from gnomon.sources.perf import PerfSource
    from gnomon.sources.valgrind import ValgrindSource
    from gnomon.sources.valgrind.installation import installed

    return [PerfSource(), ValgrindSource()] if installed() else [PerfSource()]


def source_of(events: str | None) -> Source:
    """Return the source that counts the events of a list; valgrind's are told by their prefix."""
    from gnomon.errors import UsageError
    from gnomon.events.syntax import split_items

    theirs: list[str] = []
    others: list[str] = []
    for item in split_items((events or "").replace("{", ",").replace("}", ",")):
        (theirs if item.lower().startswith("valgrind::") else others).append(item)
    others = [item for item in others if not item.startswith(":")]  # modifiers of a group
    if theirs and others:
        raise UsageError(
            f"'{theirs[0]}' is counted by valgrind and '{others[0]}' by perf: "
            "count them in two runs, one for each."
        )
    return find_source("valgrind" if theirs else "perf")


__getattr__, _ = lazy_names(__name__, {"MachineSource": "machine", "Sampling": "sampling"})
