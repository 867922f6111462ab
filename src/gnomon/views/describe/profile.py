"""How a profile looks: the places with most samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.instrument.result import Hit, Profile


def describe(result: Profile) -> Iterator[b.Block]:
    """Yield how many samples there are, and where most of them fell."""
    yield b.Headline(result.summary, tuple(filter(None, (_what(result),))))
    places = result.grouped()
    yield _table(result, places[: result.top], "places")
    if rest := places[result.top :]:
        yield b.Fold(f"{len(rest):,} more places", (_table(result, rest, "more"),))


def _what(result: Profile) -> str:
    origin = result.provenance
    if origin is None:
        return ""
    where = f" on {origin.machine}" if origin.machine else ""
    return f"{' '.join(origin.command) or origin.target}{where}"


def _table(result: Profile, hits: Iterable[Hit], name: str) -> b.Table:
    samples, by = result.samples, result.by.value
    columns = (
        b.Column("share", lambda hit: hit.samples / samples, "%", bar=True, digits=3),
        b.Column("samples", drop=2),
        b.Column("address", _address, drop=1) if by == "address" else None,
        b.Column("function"),
        b.Column("line", _line) if by != "function" else None,
        b.Column("module", lambda hit: PurePath(hit.module).name, drop=3),
    )
    return b.Table.of(hits, *columns, name=name)


def _address(hit: Hit) -> str:
    return "" if hit.address is None else f"{hit.address:#x}"


def _line(hit: Hit) -> b.Cell:
    text = f"{PurePath(hit.source).name}:{hit.line}" if hit.source else ""
    return b.Cell(text, hint=hit.source)
