"""What the wall time of a run is recorded as."""

from gnomon._native import record_layout
from gnomon.recording.wall import Moment, dtypes


def test_the_kernel_and_numpy_agree_on_every_row() -> None:
    layout = record_layout()
    for name, dtype in zip(("moments", "waits", "frames"), dtypes(), strict=True):
        assert dtype.fields is not None
        places = {field: place[1] for field, place in dtype.fields.items()}
        assert layout[name] == places | {"": dtype.itemsize}
    assert layout["kinds"][""] == max(Moment)
