"""Limits of control groups and of addresses, from made-up trees."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from gnomon.errors import GnomonError
from gnomon.stress import memory
from gnomon.stress.memory import Buffer, free_memory, room_left


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limits of the process that runs the tests."""
    monkeypatch.setattr(
        resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )


def make(root: Path, files: dict[str, str]) -> Path:
    """Write files of a tree."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    return root


def test_without_limits_there_is_none(tmp_path: Path) -> None:
    assert room_left(tmp_path) is None
    make(tmp_path, {"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/memory.max": "max"})
    assert room_left(tmp_path) is None


def test_the_tightest_group_above_counts_and_files_can_be_given_up(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "proc/self/cgroup": "0::/a/b",
            "sys/fs/cgroup/a/memory.max": "1000",
            "sys/fs/cgroup/a/memory.current": "400",
            "sys/fs/cgroup/a/memory.stat": "anon 300\ninactive_file 50",
            "sys/fs/cgroup/a/b/memory.max": "900",
            "sys/fs/cgroup/a/b/memory.current": "10",
        },
    )
    assert room_left(tmp_path) == 650


def test_the_first_version_of_groups_is_read(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "proc/self/cgroup": "3:cpuset:/\n4:hugetlb,memory:/job",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "5",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "500",
            "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "700",
        },
    )
    assert room_left(tmp_path) == 0


def test_limits_of_addresses_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"proc/self/status": "VmSize:\t    100 kB\nVmData:\t    10 kB"})
    monkeypatch.setattr(
        resource,
        "getrlimit",
        lambda limit: (1 << 20 if limit == resource.RLIMIT_AS else resource.RLIM_INFINITY, 0),
    )
    assert room_left(tmp_path) == (1 << 20) - 100 * 1024


def test_a_buffer_beyond_the_limits_is_refused_before_it_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "room_left", lambda: 100 << 20)
    assert free_memory() == 36 << 20
    with pytest.raises(GnomonError, match=r"limits of this process .*has 36 MiB free"):
        Buffer(64 << 20)
