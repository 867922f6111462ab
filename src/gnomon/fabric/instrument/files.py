"""An acquisition as two files, one for each board, and back.

Each begins with a line of text: what it is, the board, the place of the probe and the layout. Then
there are six bytes a sample, high byte first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, UsageError
from gnomon.fabric.instrument.board import HALVES, SAMPLE_BYTES, Trace
from gnomon.fabric.instrument.samples import Point

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAGIC = "gnomon-half-trace"
_LONGEST_HEAD = 200


@dataclass(frozen=True, slots=True, eq=False)
class Rejoined:
    """Samples of 96 bits from the two files of an acquisition."""

    point: Point
    layout: str
    words: NDArray[np.uint16]


def halves(prefix: str | Path) -> tuple[Path, Path]:
    """Return the names of the two files of an acquisition."""
    return Path(f"{prefix}.board1"), Path(f"{prefix}.board2")


def write_trace(trace: Trace, prefix: str | Path, layout: str, *, force: bool = False) -> None:
    """Write the two files of an acquisition, each whole or not at all."""
    import os

    names = halves(prefix)
    if not force and (there := next((name for name in names if name.exists()), None)):
        raise UsageError(f"{there} exists: choose another name, or replace it with force.")
    temporary = [name.with_name(f".{name.name}.{os.getpid()}") for name in names]
    try:
        for board, file in enumerate(temporary):
            head = f"{_MAGIC} {board + 1} {trace.point.value} {layout}\n".encode()
            file.write_bytes(head + trace.board(board).astype(">u2").tobytes())
        for file, name in zip(temporary, names, strict=True):
            file.replace(name)
    except OSError as error:
        raise GnomonError(f"{names[0]} cannot be written: {error.strerror}.") from None
    finally:
        for file in temporary:
            file.unlink(missing_ok=True)


def read_trace(prefix: str | Path) -> Rejoined:
    """Return the samples of an acquisition, rejoined from its two files."""
    import numpy as np

    parts, heads = [], []
    for board, name in enumerate(halves(prefix), 1):
        try:
            content = name.read_bytes()
        except OSError as error:
            raise UsageError(f"{name} cannot be read: {error.strerror}.") from None
        head, newline, samples = content.partition(b"\n")
        words = head[:_LONGEST_HEAD].decode("ascii", "replace").split(" ")
        if not newline or len(words) != 4 or words[0] != _MAGIC:
            raise UsageError(f"{name} is not a half of a trace.")
        if words[1] != str(board):
            raise UsageError(f"{name} is of board {words[1]}, not of board {board}.")
        if len(samples) % SAMPLE_BYTES:
            raise UsageError(f"{name} ends within a sample: it is cut short.")
        heads.append(words[2:])
        parts.append(np.frombuffer(samples, ">u2").reshape(-1, SAMPLE_BYTES // 2))
    if heads[0] != heads[1] or heads[0][0] not in set(Point):
        raise UsageError(f"the two halves of {prefix} are not of one acquisition.")
    if len(parts[0]) != len(parts[1]):
        raise UsageError(
            f"board 1 of {prefix} has {len(parts[0]):,} samples and board 2 {len(parts[1]):,}: one "
            "of them is cut short."
        )
    assert len(parts) == HALVES
    words_ = np.concatenate(parts, axis=1).astype(np.uint16)
    return Rejoined(Point(heads[0][0]), heads[0][1], words_)
