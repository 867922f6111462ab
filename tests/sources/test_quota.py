"""What cgroups allow, of both versions, in folders made up for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.sources.quota import Quota, quota_of


def place(tmp_path: Path, cgroup: str, files: dict[str, str]) -> Quota:
    """Return the quota of process 7, whose cgroup is told like this."""
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/cgroup").write_text(cgroup)
    (tmp_path / "fs").mkdir()
    for name, text in files.items():
        (tmp_path / "fs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fs" / name).write_text(text)
    return quota_of(7, tmp_path / "fs", tmp_path / "proc")


def test_the_least_of_all_cgroups_around_a_process_counts(tmp_path: Path) -> None:
    files = {
        "a/cpu.max": "150000 100000\n",
        "a/b/cpu.max": "max 100000\n",
        "a/b/c/cpu.max": "250000 100000\n",
        "a/b/c/cpu.stat": "",
    }
    found = place(tmp_path, "0::/a/b/c\n", files)
    assert found.cpus == pytest.approx(1.5)
    assert found.files == (tmp_path / "fs/a/b/c/cpu.stat", tmp_path / "fs/a/cpu.stat")


def test_version_1_has_its_own_files(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct/x/cpu.cfs_quota_us": "50000",
        "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
        "cpu,cpuacct/x/cpu.stat": "",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "cpu,cpuacct/cpu.cfs_period_us": "100000",
    }
    found = place(tmp_path, "4:memory:/x\n3:cpu,cpuacct:/x\n", files)
    assert found == Quota(0.5, (tmp_path / "fs/cpu,cpuacct/x/cpu.stat",))


def test_a_container_sees_its_own_cgroup_as_the_top(tmp_path: Path) -> None:
    found = place(tmp_path, "0::/not/here\n", {"cpu.max": "200000 100000", "cpu.stat": ""})
    assert found == Quota(2.0, (tmp_path / "fs/cpu.stat",))


def test_without_a_limit_there_is_nothing_to_watch(tmp_path: Path) -> None:
    assert place(tmp_path, "0::/\n", {"cpu.max": "max 100000"}) == Quota()
    assert quota_of(8, tmp_path, tmp_path) == Quota()
