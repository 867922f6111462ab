"""SMiLE's monitor on the simulated Blink, and its registers in the global address space."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.analysis.locality.blink import BlinkMonitor, Register, RemoteMonitor, accesses_of
from gnomon.errors import UsageError
from gnomon.fabric import FabricRun, Listed, Load, load_fabric, operation


def _hot(count: int = 400) -> Listed:
    """Node 1 writes 64 words of one page of node 0, one after the other; node 2 reads elsewhere."""
    at = np.arange(count)
    offset = np.where(at % 2 == 0, 0x2000 + at // 2 % 64 * 16, 0x9000)
    return Listed(
        (at * 400 + 10_000).astype(np.float64),
        np.where(at % 2 == 0, 1, 2).astype(np.uint16),
        np.zeros(count, np.uint16),
        (at % 2).astype(np.int64),
        offset.astype(np.uint64),
        (operation("write16"), operation("read64")),
    )


def test_it_is_configured_and_read_from_another_node() -> None:
    run = FabricRun(load_fabric("ring-8"), _hot(), blink=True)
    monitors = {0: BlinkMonitor(0), 5: BlinkMonitor(5)}
    remote = RemoteMonitor(run, monitors, asking=3)
    assert remote.read(0, Register.ENABLE) == 0
    for register, value in (
        (Register.COUNTERS, 4),
        (Register.RANGE_BYTES, 1024),
        (Register.STATIC_START, 0x9000),
        (Register.STATIC_END, 0x9040),
        (Register.ENABLE, 1),
    ):
        arrived = remote.write(0, register, value)
    assert arrived < 10_000  # before the load, and later than it was sent
    remote.advance(100_000)
    assert run.ended
    assert remote.read(0, Register.ACCESSES) == 400
    assert remote.read(0, Register.STATIC_COUNT) == 200
    assert remote.read(0, Register.FLUSHED) == 0
    assert remote.read(0, Register.EXTENSIONS) == 63
    assert remote.read(0, Register.COUNTERS) == 4
    assert not monitors[5].enabled and monitors[5].read(Register.ACCESSES) == 0
    records = monitors[0].records()
    assert records["accesses"].sum() == records["writes"].sum() == 200
    assert (records["start"].min(), records["bytes"].sum()) == (0x2000, 1024)


def test_what_happens_before_the_packet_arrives_is_not_counted() -> None:
    """A monitor that is enabled in the middle counts from the moment when the packet is there."""
    run = FabricRun(load_fabric("ring-8"), _hot(), blink=True)
    remote = RemoteMonitor(run, {0: BlinkMonitor(0)}, asking=7)
    remote.advance(30_000)
    remote.write(0, Register.ENABLE, 1)
    remote.advance(100_000)
    counted = remote.read(0, Register.ACCESSES)
    assert 150 < counted < 250


def test_what_makes_no_sense_is_refused() -> None:
    run = FabricRun(load_fabric("ring-8"), Load("none"), blink=True)
    remote = RemoteMonitor(run, {0: BlinkMonitor(0)}, asking=0)
    with pytest.raises(UsageError, match="node 4 has no monitor"):
        remote.read(4, Register.ENABLE)
    with pytest.raises(UsageError, match="without the fabric"):
        remote.read(0, Register.ENABLE)
    monitor = BlinkMonitor(0)
    with pytest.raises(UsageError, match="LOST can only be read"):
        monitor.write(Register.LOST, 1)
    monitor.write(Register.PAGE_BYTES, 1000)
    with pytest.raises(UsageError, match="1000 bytes"):
        monitor.write(Register.ENABLE, 1)


def test_only_requests_that_arrive_are_accesses() -> None:
    run = FabricRun(load_fabric("ring-8"), _hot(20), records=True, blink=True)
    run.advance(50_000)
    found = accesses_of(run.take())
    assert len(found) == 20
    assert set(found.home.tolist()) == {0}
    assert found.write.sum() == 10
    assert set(found.size.tolist()) == {16, 64}


def test_locality_of_a_fabric_says_which_pages_are_accessed_remotely() -> None:
    result = gn.locality(
        ["traffic:uniform", "duration=200us", "mix=read64:1,write64:1", "to=2"], on="fabric:ring-8"
    )
    assert result.origin.simulated
    assert result.flow.accesses > 300
    paths = np.asarray(result.paths)
    assert paths[:, 2].sum() >= 0.8 * paths.sum()
    with pytest.raises(UsageError, match="for this host"):
        gn.locality(["traffic:uniform"], on="fabric:ring-8", by="trace")
