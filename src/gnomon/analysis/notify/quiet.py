"""Whether this host was left alone while messages were timed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_BUSY = 0.15  # CPUs of other programs
_STOLEN = 0.02


@contextmanager
def watching() -> Iterator[list[str]]:
    """Watch the load; at the end, the list has a warning where others were busy."""
    from gnomon.stress.load import LoadWatch

    watch = LoadWatch()
    warnings: list[str] = []
    yield warnings
    load = watch.load()
    if load.others > _BUSY or load.steal > _STOLEN:
        warnings.append(
            f"this machine was not quiet ({load}): times are too long, and intervals too wide; "
            "measure again when nothing else runs"
        )
