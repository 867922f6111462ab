"""What cgroups allow a process of the CPUs, and where they tell how often it was held back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Quota:
    """CPUs allowed, None where nothing limits them, and the files that tell of throttling."""

    cpus: float | None = None
    files: tuple[Path, ...] = ()


def quota_of(pid: int, root: Path = _CGROUPS, proc: Path = Path("/proc")) -> Quota:
    """Return the limit of a process: the least of its cgroup and of those around it."""
    limits: list[float] = []
    files: list[Path] = []
    for folder in _folders(pid, root, proc):
        limit = _limit(folder)
        if limit is not None:
            limits.append(limit)
            files.append(folder / "cpu.stat")
    return Quota(min(limits, default=None), tuple(files))


def _folders(pid: int, root: Path, proc: Path) -> list[Path]:
    """Return the cgroup of a process and those around it, of either version."""
    folders: list[Path] = []
    with suppress(OSError):
        for line in (proc / str(pid) / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                tops = [root, root / "unified"]
            elif "cpu" in controllers.split(","):
                tops = [root / controllers, root / "cpu"]
            else:
                continue
            for top in tops:
                # A container sees its own cgroup as the top one, whatever path it is told.
                inner = top / path.strip("/")
                inner = inner if inner.is_dir() else top
                folders += [inner, *(p for p in inner.parents if p.is_relative_to(top))]
                if (inner / "cpu.stat").exists():
                    break
    return list(dict.fromkeys(folders))


def _limit(folder: Path) -> float | None:
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota_us = int((folder / "cpu.cfs_quota_us").read_text())
        period_us = int((folder / "cpu.cfs_period_us").read_text())
        return quota_us / period_us if quota_us > 0 else None
    return None
