"""Facts about this host, against other ways to learn them."""

from __future__ import annotations

import os
from pathlib import Path

from gnomon.sources.host import Host


def test_the_cpus_that_we_may_use_are_online() -> None:
    assert os.sched_getaffinity(0) <= set(Host().online_cpus)


def test_every_cpu_of_a_node_is_online() -> None:
    for cpus in Host().nodes.values():
        assert set(cpus) <= set(Host().online_cpus)


def test_every_cpu_is_in_a_socket() -> None:
    host = Host()
    assert all(host.socket_of(cpu) >= 0 for cpu in host.online_cpus)
    assert host.socket_of(10**6) == 0


def test_the_cpu_and_the_kernel_have_names() -> None:
    host = Host()
    assert host.cpu_model
    assert host.architecture == os.uname().machine
    assert os.uname().release in host.kernel


def test_paranoia_is_what_the_kernel_says() -> None:
    path = Path("/proc/sys/kernel/perf_event_paranoid")
    assert Host().paranoid == (int(path.read_text()) if path.exists() else None)


def test_root_may_measure() -> None:
    if os.geteuid() == 0:
        assert Host().may_measure
