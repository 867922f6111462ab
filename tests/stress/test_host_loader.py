"""Load generators of this host: what they report, where their memory is, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from gnomon.errors import GnomonError, UsageError
from gnomon.stress.host_loader import HostLoader
from gnomon.stress.nodes import Channel, Node, Nodes, parse_channel, read_nodes
from gnomon.stress.streams import Stream

from .processes import children, cpu_seconds, gone, running

SIZE = 8 << 20
NODE = read_nodes().with_memory[0].number
LOCAL = Channel(NODE, NODE)


def test_generators_report_every_pass_and_their_placement() -> None:
    with HostLoader(size=SIZE) as loader:
        loader.set(LOCAL, 2)
        readings = loader.measure(0.05)
        assert len(readings[LOCAL]) == 2
        assert all(rate > 0 for rate in readings[LOCAL])
        # Two remote arrays and a local one of half a pass each, all pages proven to be there.
        page = os.sysconf("SC_PAGE_SIZE")
        assert loader.pages()[LOCAL] == 2 * 3 * SIZE // 2 // page
        assert all(rate > 0 for rate in loader.latest()[LOCAL])


def test_a_duty_limits_how_long_a_generator_is_busy() -> None:
    """Rates would tell of the machine's load as well; time on a CPU does not grow with that."""
    with HostLoader(size=SIZE, stream=Stream.READ) as loader:
        loader.set(LOCAL, 1, 0.2)
        loader.measure(0.01)  # it has begun to read
        (generator,) = loader._running[LOCAL]
        busy, begin = cpu_seconds(generator.process.pid), time.monotonic()
        assert sum(loader.measure(0.5)[LOCAL]) > 0
        busy, passed = cpu_seconds(generator.process.pid) - busy, time.monotonic() - begin
    assert busy < 0.6 * passed


def test_generators_end_when_they_are_taken_away_and_with_the_loader() -> None:
    loader = HostLoader(size=SIZE)
    loader.set(LOCAL, 2)
    loader.busy(NODE, 1)
    loader.measure(0.01)
    before = children(os.getpid())
    loader.set(LOCAL, 1)
    assert loader.loads == {LOCAL: 1}
    assert len(children(os.getpid())) == len(before) - 1
    loader.close()
    assert not running(before)


_PARENT = """
import sys, time
from gnomon.stress.nodes import Channel
from gnomon.stress.host_loader import HostLoader
loader = HostLoader(size=8 << 20)
loader.set(Channel({node}, {node}), 2)
loader.busy({node}, 1)
loader.measure(0.01)
print("loaded", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_generator_outlives_a_parent_that_is_killed(how: signal.Signals) -> None:
    code = _PARENT.format(node=NODE)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"loaded\n"
    load = children(parent.pid)
    assert len(load) == 3
    parent.send_signal(how)
    parent.wait()
    parent.stdout.close()
    assert gone(load)


def test_a_generator_ends_with_its_pipe_alone() -> None:
    """The second safeguard, for when the kernel does not tell of the parent's end."""
    with HostLoader(size=SIZE) as loader:
        loader.set(LOCAL, 1)
        loader.measure(0.01)
        (generator,) = loader._running[LOCAL]
        assert generator.process.stdin is not None
        generator.process.stdin.close()
        assert generator.process.wait(120) == 0


def test_a_generator_that_is_killed_is_reported() -> None:
    with HostLoader(size=SIZE) as loader:
        loader.set(LOCAL, 1)
        loader.measure(0.01)
        loader._running[LOCAL][0].process.kill()
        with pytest.raises(GnomonError, match="has ended: something has killed it"):
            for _ in range(100):
                loader.measure(0.05)


def test_memory_that_does_not_fit_is_reported() -> None:
    with HostLoader(size=1 << 46) as loader:
        loader.set(LOCAL, 1)
        with pytest.raises(GnomonError, match="do not fit node"):
            loader.measure(0.01)


def test_bad_channels_are_refused() -> None:
    nodes = Nodes((Node(0, (0,), 1 << 30, 1 << 30), Node(1, (), 1 << 30, 0), Node(2, (1,), 0, 0)))
    with HostLoader(size=SIZE, nodes=nodes) as loader:
        with pytest.raises(UsageError, match="there is no NUMA node 7"):
            loader.set(Channel(0, 7), 1)
        with pytest.raises(UsageError, match="node 1 has no CPUs to read with"):
            loader.set(Channel(1, 0), 1)
        with pytest.raises(UsageError, match="node 2 has no memory to read"):
            loader.set(Channel(0, 2), 1)
        with pytest.raises(UsageError, match="21 generators on channel 0->0"):
            loader.set(Channel(0, 0), 21)
        with pytest.raises(UsageError, match="the duty must be above 0"):
            loader.set(Channel(0, 0), 1, 2.0)


def test_channels_are_written_with_a_dash_or_an_arrow() -> None:
    assert parse_channel("0-1") == parse_channel("0->1") == Channel(0, 1)
    assert str(Channel(0, 1).reverse) == "1->0"
    with pytest.raises(UsageError, match="'north' is not a channel"):
        parse_channel("north")
