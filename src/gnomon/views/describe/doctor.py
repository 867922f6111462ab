"""How the doctor's findings look: what stands in the way, with its remedy; then what there is."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.doctor.result import Diagnosis
from gnomon.views import blocks as b

_TONES = {"ok": b.Tone.GOOD, "limited": b.Tone.DOUBT, "missing": b.Tone.BAD}


def describe(result: Diagnosis) -> Iterator[b.Block]:
    """Yield what limits measuring here and what to do about it, then the rest by area."""
    yield b.Headline(result.summary)
    areas: dict[str, list[tuple[str, b.Cell | b.Value]]] = {}
    for each in result.findings:
        if each.state != "ok":
            text = f"{each.area}, {each.subject}: {each.detail}"
            yield b.Finding(text, _TONES[each.state], each.remedy)
        else:
            areas.setdefault(each.area, []).append((each.subject, each.detail))
    for area, rows in areas.items():
        yield b.Facts(tuple(rows), area)
    columns = (
        b.Column("area"),
        b.Column("what", "subject"),
        b.Column("state", lambda each: b.Cell(each.state.value, tone=_TONES[each.state])),
        b.Column("found", "detail", flex=True),
        b.Column("remedy", flex=True, drop=1),
    )
    table = b.Table.of(result.findings, *columns, name="findings")
    yield b.Fold(f"all {len(result.findings)} findings in one table", (table,))
