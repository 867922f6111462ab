"""Records of wall time as tables of a recording, and back; what was stored reads back equal."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from gnomon.errors import RecordingError
from gnomon.recording.wall import WallFacts, WallRecord, dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.recording.reader import Recording
    from gnomon.recording.writer import RecordingWriter

_CHUNK = 1 << 19  # rows that are put on disk at a time


def write_wall(
    writer: RecordingWriter, record: WallRecord, *, run: int = 0, batch: int = 0
) -> None:
    """Add the record of a run to a recording."""

    def put(name: str, columns: Sequence[Any]) -> None:
        import numpy as np

        for start in range(0, len(columns[0]), _CHUNK):
            part = [column[start : start + _CHUNK] for column in columns]
            rows = len(part[0])
            of_run = [np.full(rows, run, np.int64), np.full(rows, batch, np.int64)]
            writer.append_wall_columns(name, part + of_run)

    put("wall_moments", _columns(record.moments))
    put("wall_waits", _columns(record.waits))
    put("wall_frames", _columns(record.frames))
    put("wall_stacks", [record.stack_ends])
    put("wall_stack_frames", [record.stack_frames.astype("int64")])
    put("wall_objects", [[path for path, _ in record.objects], [b for _, b in record.objects]])
    put("wall_functions", _transposed(record.functions, 3))
    put("wall_texts", [record.texts])
    put("wall_facts", [[json.dumps(asdict(record.facts), sort_keys=True)]])


def walls(recording: Recording) -> tuple[tuple[int, int], ...]:
    """Return the runs of a recording that have a record of wall time, as (run, batch)."""
    columns = recording.columns("wall_facts")
    return tuple(sorted(zip(columns["run"].tolist(), columns["batch"].tolist(), strict=True)))


def read_wall(recording: Recording, *, run: int = 0, batch: int = 0) -> WallRecord:
    """Return the record of a run; a run without one is an error."""
    import numpy as np

    def get(name: str) -> dict[str, Any]:
        return recording.columns(name, run=run, batch=batch)

    found = get("wall_facts")["facts"]
    if not len(found):
        raise RecordingError(
            f"run {run} of '{recording.path}' has no record of wall time: survey it again."
        )
    moment, wait, frame = dtypes()
    objects, functions = get("wall_objects"), get("wall_functions")
    return WallRecord(
        moments=_rows(get("wall_moments"), moment),
        waits=_rows(get("wall_waits"), wait),
        texts=tuple(get("wall_texts")["text"].tolist()),
        stack_ends=np.asarray(get("wall_stacks")["end"], np.int64),
        stack_frames=np.asarray(get("wall_stack_frames")["frame"], np.int32),
        frames=_rows(get("wall_frames"), frame),
        objects=tuple(zip(objects["path"].tolist(), objects["build_id"].tolist(), strict=True)),
        functions=tuple(
            zip(
                functions["name"].tolist(),
                functions["file"].tolist(),
                functions["line"].tolist(),
                strict=True,
            )
        ),
        facts=_facts(recording, found[-1]),
    )


def _columns(rows: NDArray[np.void]) -> list[Any]:
    """Return the fields of structured rows as columns; arrays in a field are a column each."""
    import numpy as np

    found: list[Any] = []
    for name in rows.dtype.names or ():
        if name == "unused":
            continue
        field = rows[name]
        kind = np.uint64 if field.dtype == np.uint64 else np.int64
        parts = [field] if field.ndim == 1 else [field[:, i] for i in range(field.shape[1])]
        found += [np.ascontiguousarray(part.astype(kind)) for part in parts]
    return found


def _rows(columns: dict[str, Any], dtype: np.dtype[Any]) -> NDArray[np.void]:
    import numpy as np

    rows: NDArray[np.void] = np.zeros(len(columns["run"]), dtype)
    for name in dtype.names or ():
        if name in columns:
            rows[name] = columns[name]
        elif f"{name}_0" in columns:
            for i in range(rows[name].shape[1]):
                rows[name][:, i] = columns[f"{name}_{i}"]
    return rows


def _transposed(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [[row[i] for row in rows] for i in range(width)]


def _facts(recording: Recording, text: str) -> WallFacts:
    known = {field.name for field in fields(WallFacts)}
    try:
        given: dict[str, Any] = {k: v for k, v in json.loads(text).items() if k in known}
        lists: dict[str, Any] = {k: tuple(v) for k, v in given.items() if isinstance(v, list)}
        return WallFacts(**(given | lists))
    except (TypeError, ValueError, AttributeError):
        raise RecordingError(
            f"'{recording.path}' is damaged: its facts on wall time cannot be read; restore it "
            "from a copy."
        ) from None
