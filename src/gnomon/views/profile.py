"""How profiles look in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any, TextIO

from gnomon.instrument.profile import Hit, Profile
from gnomon.views.table import Column, Table


def _by_address(profile: Profile) -> list[Hit]:
    return [hit for _, hit in profile.addresses]


VIEWS: dict[str, Callable[[Profile], list[Hit]]] = {
    "function": Profile.by_function,
    "line": Profile.by_line,
    "module": Profile.by_module,
    "address": _by_address,
}


def print_profile(profile: Profile, stream: TextIO, *, by: str, top: int) -> None:
    """Write the places with most samples, and how the samples relate to the count."""
    if not profile.samples:
        stream.write(f"no samples of {profile.event}: try a smaller threshold with -c\n")
        return
    table = Table(
        (
            Column("share", right=True),
            Column("samples", right=True),
            Column("function"),
            Column("line"),
            Column("module"),
        )
    )
    hits = VIEWS[by](profile)
    for hit in hits[:top]:
        place = hit.place
        line = f"{PurePath(place.source).name}:{place.line}" if place.source else ""
        table.add(
            f"{hit.samples / profile.samples:.1%}",
            f"{hit.samples:,}",
            place.function,
            line if by != "function" else "",
            PurePath(place.module).name,
        )
    table.print(stream)
    more = len(hits) - top
    if more > 0:
        stream.write(f"  … and {more:,} more\n")
    counted = f"{profile.counted:,}" if profile.counted is not None else "unknown"
    stream.write(
        f"\n  {profile.samples:,} samples of {profile.event}, one every {profile.threshold:,}; "
        f"counted {counted}\n"
    )


def profile_as_json(profile: Profile, by: str, top: int) -> dict[str, Any]:
    """Return a profile in the form that scripts read."""
    return {
        "event": profile.event,
        "threshold": profile.threshold,
        "samples": profile.samples,
        "counted": profile.counted,
        "lost": profile.lost,
        "throttled": profile.throttled,
        "by": by,
        "hits": [
            {
                "module": hit.place.module,
                "function": hit.place.function,
                "source": hit.place.source,
                "line": hit.place.line,
                "samples": hit.samples,
                "events": hit.events,
            }
            for hit in VIEWS[by](profile)[:top]
        ],
    }
