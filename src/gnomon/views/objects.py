"""How the use of objects looks: variables, allocation sites, arrays, and who accesses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from gnomon.units import format_bytes
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.analysis.locality.model import LocalityResult

_LONGEST = 40  # characters of a name


def print_objects(
    result: LocalityResult, stream: TextIO, shown: Sequence[int], *, top: int
) -> None:
    """Write which objects were accessed, by whom; `shown` nodes or threads have a column."""
    uses = result.objects[:top]
    if not uses:
        return
    tells_home = result.tells_homes
    table = Table(
        (
            Column("object"),
            Column("from"),
            Column("size", True),
            *(Column(f"{result.origin.asker} {each}", True) for each in shown),
            *((Column("remote", True),) if tells_home else ()),
            Column("writes", True),
            Column("accesses", True),
            Column("share", True),
        )
    )
    total = sum(use.total for use in result.objects)
    for use in uses:
        table.add(
            short_name(use.name),
            use.where or str(use.kind) * (use.size > 0),
            format_bytes(use.size) if use.size else "",
            *(f"{int(use.accesses[each]):,}" for each in shown),
            *((f"{use.remote:,}",) if tells_home else ()),
            f"{use.writes:,}",
            f"{use.total:,}",
            f"{use.total / total:.1%}",
        )
    count = len(result.objects)
    most = f": the {len(uses)} of {count:,} with most accesses" if count > len(uses) else ""
    stream.write(f"\n  who accesses which object{most}\n")
    table.print(stream)


def short_name(name: str) -> str:
    """Return a name that fits into a table: of a long one the beginning and the end."""
    if len(name) <= _LONGEST:
        return name
    half = (_LONGEST - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
