"""Buffers take rows that fit, as a whole, and refuse others without a trace."""

from __future__ import annotations

from typing import Any

import pytest

from gnomon.errors import RecordingError
from gnomon.recording.contents import Reading, Sample, Status
from gnomon.recording.tables import READINGS, SAMPLES, Buffer

from .helpers import make_reading

GOOD: Any = make_reading(1)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (GOOD._replace(value=1.0), "float"),
        (GOOD._replace(time=2**63), "64 bits"),
        (GOOD._replace(value=-(2**63) - 1), "64 bits"),
        (GOOD._replace(time=None), "NoneType"),
        (GOOD._replace(event=None), "None is not a text"),
        (GOOD._replace(scope=5), "5 is not a text"),
        (GOOD._replace(value=None), "status 'counted' has no value"),
        (GOOD._replace(status=Status.NOT_SUPPORTED), "status 'not-supported' has a value"),
        (GOOD._replace(status="guessed"), "'guessed' is not a status"),
        (GOOD[:-1], "shorter"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(row: Any, words: str) -> None:
    buffer = Buffer(READINGS)
    buffer.append([GOOD])
    with pytest.raises(RecordingError) as caught:
        buffer.append([GOOD, row])
    assert words in str(caught.value)
    assert len(buffer) == 1
    buffer.append([GOOD])
    assert list(buffer.arrays()["time"]) == [GOOD.time, GOOD.time]


def test_a_negative_address_is_refused() -> None:
    with pytest.raises(RecordingError):
        Buffer(SAMPLES).append([Sample(0, "loads", 1, 1, 0, ip=-1)])


def test_numpy_integers_are_integers() -> None:
    np = pytest.importorskip("numpy")
    buffer = Buffer(READINGS)
    buffer.append([GOOD._replace(value=np.int64(7), time=np.int32(3))])
    assert buffer.arrays()["value"].tolist() == [7]


def test_plain_texts_will_do_for_a_status() -> None:
    buffer = Buffer(READINGS)
    buffer.append([Reading(0, "x", "process", 1, 0, 0, "counted")])  # type: ignore[arg-type]
    assert list(buffer.arrays()["status"]) == ["counted"]


def test_an_interrupted_append_leaves_no_half_rows() -> None:
    buffer = Buffer(READINGS)
    buffer.append([GOOD])
    # What Ctrl-C between two columns would leave.
    buffer._data[0].append(99)
    buffer.append([GOOD, GOOD])
    assert list(buffer.arrays()["time"]) == [GOOD.time] * 3
    assert {len(array) for array in buffer.arrays().values()} == {3}
