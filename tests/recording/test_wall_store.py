"""A record of wall time is a part of a recording, and reads back as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnomon.errors import RecordingError
from gnomon.recording import Provenance, Recording, RecordingWriter
from gnomon.recording.wall import WallFacts, WallRecord, dtypes
from gnomon.recording.wall_store import read_wall, walls, write_wall


def made(seed: int) -> WallRecord:
    """A record of random numbers in all of its fields."""
    random = np.random.default_rng(seed)

    def rows(count: int, dtype: np.dtype[np.void]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        found = np.frombuffer(random.bytes(count * dtype.itemsize), dtype).copy()
        if "unused" in (dtype.names or ()):
            found["unused"] = 0
        return found

    moment, wait, frame = dtypes()
    return WallRecord(
        moments=rows(2000, moment),
        waits=rows(50, wait),
        texts=("", "main", "ünïcode\\n", "/a b"),
        stack_ends=np.array([2, 5, 6], np.int64),
        stack_frames=np.array([0, 1, 2, 3, 1, 4], np.int32),
        frames=rows(5, frame),
        objects=(("/usr/bin/true", "ab12"), ("", "")),
        functions=(("work", "/a.py", 7),),
        facts=WallFacts(5, 9, 3, ("true", "x"), (0, 1), 1.5, "switches", ("a limit",), (1, 2)),
    )


def same(a: WallRecord, b: WallRecord) -> None:
    """Both are equal in every field."""
    for name in ("moments", "waits", "frames", "stack_ends", "stack_frames"):
        first, second = getattr(a, name), getattr(b, name)
        assert first.dtype == second.dtype
        assert first.tobytes() == second.tobytes(), name
    for name in ("texts", "objects", "functions", "facts"):
        assert getattr(a, name) == getattr(b, name), name


def test_a_record_reads_back_equal_and_beside_others(tmp_path: Path) -> None:
    first, second = made(1), made(2)
    with RecordingWriter(tmp_path / "r", Provenance("host")) as writer:
        write_wall(writer, first, run=0)
        write_wall(writer, second, run=1, batch=2)
    with Recording.open(tmp_path / "r") as recording:
        assert walls(recording) == ((0, 0), (1, 2))
        same(read_wall(recording, run=0), first)
        same(read_wall(recording, run=1, batch=2), second)
        assert list(read_wall(recording).stack(1)) == [2, 3, 1]
        with pytest.raises(RecordingError, match=r"run 3 of .* has no record of wall time"):
            read_wall(recording, run=3)


def test_a_recording_without_one_has_none(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", Provenance("host")):
        pass
    with Recording.open(tmp_path / "r") as recording:
        assert walls(recording) == ()
