"""Which of its callers an allocation is attributed to."""

from __future__ import annotations

import pytest

from gnomon.analysis.locality.naming import sites_of
from gnomon.instrument.symbols import AddressSpace
from gnomon.sources.allocation_log import Allocation, Allocations
from gnomon.sources.sampling import Place

PLACES = {
    0x10: Place("/lib/library.so", "reserve"),
    0x20: Place("/lib/library.so", "grow"),
    0x30: Place("/bin/program", "work", "/home/me/work.c", 7),
    0x40: Place("/bin/program", "_start"),
    0x50: Place("/lib/stripped.so", "+0x7f"),
}


@pytest.mark.parametrize(
    ("callers", "name", "line"),
    [
        ((0x10, 0x20, 0x30, 0x40), "allocated in work", "work.c:7"),
        ((0x10, 0x20, 0x40), "allocated in reserve", ""),
        ((0x50, 0x40), "allocated in stripped.so+0x7f", ""),
        ((0x40,), "allocated in _start", ""),
        ((), "allocated somewhere", ""),
    ],
)
def test_a_site_is_the_first_code_of_the_program_itself_after_its_start(
    monkeypatch: pytest.MonkeyPatch, callers: tuple[int, ...], name: str, line: str
) -> None:
    monkeypatch.setattr(AddressSpace, "find", lambda _, address: PLACES[address + 1])
    made = Allocation(0x1000, 64, 0, 1, callers)
    site = sites_of(Allocations((made,), (), 0, 0, True), "/bin/program")[callers]
    assert (site.name, site.line) == (name, line)
