"""How the list of message programs and clusters looks."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.messaging.result import Program, Programs
from gnomon.views import blocks as b


def describe(result: Programs) -> Iterator[b.Block]:
    """Yield the programs with their parameters, and the clusters."""
    yield b.Headline(f"{len(result.programs)} message programs, {len(result.clusters)} clusters")
    yield b.Table.of(
        result.programs,
        b.Column("program", "name"),
        b.Column("what it does", lambda each: each.what.split(";")[0], flex=True),
        name="programs",
    )
    yield b.Facts(
        tuple((each.name, _parameters(each)) for each in result.programs), "Parameters of programs"
    )
    yield b.Table.of(
        result.clusters,
        b.Column("cluster", "name"),
        b.Column("meaning", "title", flex=True),
        b.Column("threads wait by", "waiting"),
        name="clusters",
    )


def _parameters(program: Program) -> str:
    return " ".join(f"{name}={value}" for name, value in program.parameters.items())
