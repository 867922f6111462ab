"""What holds for all results: SIMULATED, warnings, provenance; and one way to each renderer."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gnomon.result import Result, Simulated
from gnomon.views.blocks import (
    Block,
    Cell,
    Composition,
    Facts,
    Finding,
    Fold,
    Graph,
    Headline,
    Table,
    Text,
    Value,
    missing,
)
from gnomon.views.describe import describer

if TYPE_CHECKING:
    from gnomon.recording.contents import Provenance

_LABEL = "SIMULATED"
_FIRST = (Headline, Composition, Finding, Text)
_PARTLY = "SIMULATED in part: what comes from where is said below"


def blocks(result: Result, name: str = "") -> Iterator[Block]:
    """Yield what a result is shown as; its first line says when it is simulated, and its name."""
    found = describer(result.kind)(result)
    first = next(found, None)
    if name and isinstance(first, Headline):
        first = first._replace(title=f"{name}: {first.title}")
    simulated = result.simulated
    if simulated is not Simulated.NO:
        if not isinstance(first, Headline):
            found, first = itertools.chain((first,) if first else (), found), Headline("")
        if simulated is Simulated.YES:
            first = first._replace(title=f"{_LABEL} {first.title}".rstrip())
        else:
            first = first._replace(lines=(*first.lines, _PARTLY))
    if first is not None:
        yield first
    yield from found


def provenance(result: Result) -> Facts:
    """Return where a result comes from, enough to doubt it or to repeat it.

    What the sides of a result have in common is said once, the rest for each side.
    """
    sides = [(side, dict(_facts(origin))) for side, origin in result.provenances()]
    rows: list[tuple[str, Cell | Value]] = []
    for name in dict.fromkeys(name for _, facts in sides for name in facts):
        values = [facts.get(name) for _, facts in sides]
        if all(value == values[0] for value in values):
            rows.append((name, values[0]))
        else:
            told = ((f"{name} of {side}", facts.get(name)) for side, facts in sides)
            rows += [row for row in told if row[1]]
    return Facts(tuple(rows), "Provenance")


def _facts(origin: Provenance) -> list[tuple[str, Cell | Value]]:
    rows: list[tuple[str, Cell | Value]] = [
        ("command", " ".join(origin.command)),
        ("counted", origin.target),
        ("source", origin.source + " (simulated)" * origin.simulated),
        ("machine", origin.machine),
        ("host", origin.host),
        ("processor", origin.cpu),
        ("CPUs", origin.cpus or None),
        ("kernel", origin.kernel),
        ("recorded", origin.created),
        ("interval", Cell(origin.interval, "ns") if origin.interval else None),
        ("always counted", ", ".join(origin.always)),
        ("sets", len(origin.sets) or None),
        ("estimated by", origin.model),
        ("seed", origin.seed),
        ("settings", " ".join(f"{k}={v}" for k, v in origin.environment.items())),
        ("gnomon", origin.gnomon),
        ("Python", origin.python),
        ("imported from", origin.imported_from),
    ]
    return [row for row in rows if row[1] is not None and row[1] != ""]


def show(
    result: Result,
    stream: TextIO | None = None,
    *,
    everything: bool = False,
    colour: str = "auto",
    brief: bool = False,
) -> None:
    """Write a result to a terminal or into a pipe, and its warnings to standard error.

    `everything` unfolds what is folded, shows all rows and all charts, and where it comes from.
    `brief` shows the answer and the findings alone, in the same lines on every screen.

    >>> gn.show(gn.sim.list("workloads"), open("workloads.txt", "w"))
    """
    from gnomon.views.terminal import lines, screen_of

    stream = stream if stream is not None else sys.stdout
    if brief:
        _show_brief(result, stream)
        return
    shown = [*blocks(result)]
    if everything and (origin := provenance(result)).rows:
        shown.append(origin)
    screen = screen_of(stream, everything=everything, colour=colour)
    stream.writelines(f"{line}\n" for line in lines(shown, screen))
    warn(result.warnings)


def _show_brief(result: Result, stream: TextIO) -> None:
    from gnomon.views.terminal import Screen, lines, screen_of

    first = itertools.takewhile(lambda block: isinstance(block, _FIRST), blocks(result))
    plain = Screen(encoding=screen_of(stream).encoding)
    stream.writelines(f"{line}\n" for line in lines(first, plain) if line)


def say(text: str, stream: TextIO | None = None) -> None:
    """Write a line that is no part of a result; whatever it quotes does nothing to a terminal."""
    from gnomon.views.terminal import Screen

    stream = stream if stream is not None else sys.stdout
    stream.writelines(f"{Screen().clean(line)}\n" for line in text.split("\n"))
    stream.flush()


def warn(texts: Iterable[str]) -> None:
    """Write warnings to standard error, where they do not disturb what is read by programs."""
    for text in texts:
        say(f"warning: {text}", sys.stderr)


def page(
    *results: Result, title: str = "", names: Sequence[str] = (), following: bool = False
) -> str:
    """Return a page of one result, or of several below each other, each under its name.

    A page that is `following` asks the server that it came from whether there is something new.
    """
    from gnomon.views.html import render

    called = itertools.chain(names, itertools.repeat(""))
    told = [
        (_with_machines(each, name), each.warnings, provenance(each))
        for each, name in zip(results, called, strict=False)
    ]
    return render(told, title=title, following=following)


def _with_machines(result: Result, name: str) -> list[Block]:
    """Return the blocks of a result, and its simulated machines where these show no graph."""
    from gnomon.views.describe.machine import machines_of

    found = [*blocks(result, name)]
    if not any(isinstance(block, Graph) for block in found):
        found += machines_of(origin for _, origin in result.provenances())
    return found


def write_page(
    path: str | Path, *results: Result, title: str = "", names: Sequence[str] = ()
) -> None:
    """Write a page in place of what may be there, as a whole or not at all."""
    from gnomon.recording.files import replacing_text, write_error

    text = page(*results, title=title, names=names)
    try:
        with replacing_text(Path(path)) as stream:
            stream.write(text)
    except OSError as error:
        raise write_error(Path(path), error) from None


def fragment(result: Result) -> str:
    """Return a piece of HTML for a notebook: complete, and without scripts."""
    from gnomon.views.html import fragment as fragment_of

    return fragment_of(blocks(result), result.warnings, provenance(result))


# ---- tables as files ------------------------------------------------------------------------


def tables(result: Result) -> dict[str, Table]:
    """Return all tables by name, those in folds too, for files and data frames."""
    found: dict[str, Table] = {}
    for table in _tables(blocks(result)):
        name = table.name or f"table-{len(found) + 1}"
        found[name if name not in found else f"{name}-{len(found) + 1}"] = table
    return found


def _tables(some: Iterator[Block]) -> Iterator[Table]:
    for block in some:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Fold):
            yield from _tables(iter(block.blocks))


def csv_of(result: Result, name: str = "") -> str:
    """Return a table as CSV; without a name all of them, each below a line with its name."""
    from gnomon.errors import UsageError

    found = tables(result)
    if name and name not in found:
        raise UsageError(f"there is no table '{name}': there is {', '.join(found) or 'none'}.")
    if name or len(found) == 1:
        return csv(found[name] if name else next(iter(found.values())))
    return "\n".join(f"# {each}\n{csv(table)}" for each, table in found.items())


def csv(table: Table) -> str:
    """Return a table as CSV: raw values; units, ends and statuses in columns of their own."""
    import csv as writer
    import io

    fields: list[tuple[str, int, str]] = []  # the heading, the place of the column, and what of it
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        if any(cell.course for cell in cells):
            continue
        units = {cell.unit for cell in cells if isinstance(cell.value, int | float)}
        name = column.heading or f"column {place + 1}"
        needed = {
            "unit": len(units) > 1,
            "low": any(cell.low is not None for cell in cells),
            "high": any(cell.high is not None for cell in cells),
            "status": any(cell.estimated for cell in cells),
        }
        unit = "".join(units) if len(units) == 1 else ""
        fields.append((f"{name} [{unit}]" if unit else name, place, "value"))
        fields += [(f"{name} {what}", place, what) for what, there in needed.items() if there]
    out = io.StringIO()
    rows = writer.writer(out, lineterminator="\n")
    rows.writerow([heading for heading, _, _ in fields])
    rows.writerows([_raw(row[place], what) for _, place, what in fields] for row in table.rows)
    return out.getvalue()


def _raw(cell: Cell, what: str) -> Value:
    value: Value = getattr(cell, what)
    counted = what == "status" and not cell.estimated
    return "" if missing(value) or counted else value
