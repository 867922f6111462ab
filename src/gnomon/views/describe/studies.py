"""How the listing of studies looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.study.result import Studies


def describe(result: Studies) -> Iterator[b.Block]:
    """Yield a line for each study."""
    count = len(result.studies)
    yield b.Headline(f"{count} stud{'y' if count == 1 else 'ies'}: `gnomon lab study NAME`")
    yield b.Table.of(
        result.studies,
        (
            b.Column("study", lambda each: each.name),
            b.Column("experiments", lambda each: " ".join(one.id for one in each.experiments)),
            b.Column("title", lambda each: each.title, flex=True),
            b.Column("document", lambda each: each.document, flex=True, drop=1),
        ),
        name="studies",
    )
