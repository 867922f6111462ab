"""How the listing of studies looks."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study.result import Studies
from gnomon.views import blocks as b


def describe(result: Studies) -> Iterator[b.Block]:
    """Yield a line for each study."""
    count = len(result.studies)
    yield b.Headline(f"{count} stud{'y' if count == 1 else 'ies'}: `gnomon lab study NAME`")
    yield b.Table.of(
        result.studies,
        b.Column("study", "name"),
        b.Column("experiments", lambda each: " ".join(one.id for one in each.experiments)),
        b.Column("title", flex=True),
        b.Column("document", flex=True, drop=1),
        name="studies",
    )
