"""Python libraries for the guest, in the versions that the running environment has.

Pure ones are copied from the environment; for compiled ones the wheel of the same version for the
guest's architecture is fetched once.
"""

import importlib.metadata
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from . import GuestUnavailable, cpio
from .architectures import Architecture
from .cache import build_once, digest

# A folder that Debian's Python searches without being told.
SITE = "usr/lib/python3/dist-packages"

# Of the guest, not of the running interpreter: marker values that differ between the two.
_GUEST_MARKERS = {
    "python_version": "3.11",
    "python_full_version": "3.11.2",
    "extra": "",
}
_UNUSED = ("tests", "testing", "__pycache__", "include")
_UNUSED_SUFFIXES = (".pyi", ".pyc", ".a", ".h", ".pxd")


def closure(names: Iterable[str], architecture: Architecture) -> list[Distribution]:
    """The named distributions and all that they require, by name."""
    found: dict[str, Distribution] = {}
    pending = list(names)
    while pending:
        name = canonicalize_name(pending.pop())
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise GuestUnavailable(f"{name} is not installed: the guest needs it too") from None
        pending += _requirements(found[name], architecture)
    return [found[name] for name in sorted(found)]


def tree(
    distributions: Iterable[Distribution], architecture: Architecture
) -> dict[str, cpio.Entry]:
    """The files of distributions, as the guest should have them."""
    files: dict[str, cpio.Entry] = {}
    for distribution in distributions:
        if _is_pure(distribution):
            found = _installed_files(distribution)
        else:
            found = _wheel_files(distribution, architecture)
        for name, data in found:
            if not _unused(Path(name)):
                files[f"{SITE}/{name}"] = cpio.file(data)
    return files


def _requirements(distribution: Distribution, architecture: Architecture) -> Iterator[str]:
    markers = {**_GUEST_MARKERS, "platform_machine": architecture.machine}
    for text in distribution.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(markers):
            yield requirement.name


def _is_pure(distribution: Distribution) -> bool:
    return "Root-Is-Purelib: true" in (distribution.read_text("WHEEL") or "")


def _installed_files(distribution: Distribution) -> Iterator[tuple[str, bytes]]:
    for file in distribution.files or ():
        # Scripts and manual pages lie outside of the folder of libraries.
        if ".." not in file.parts:
            yield str(file), Path(str(file.locate())).read_bytes()


def _wheel_files(
    distribution: Distribution, architecture: Architecture
) -> Iterator[tuple[str, bytes]]:
    pinned = f"{distribution.name}=={distribution.version}"

    def download(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11"]
        command += [f"--platform={name}" for name in architecture.wheels]
        done = subprocess.run(
            [*command, f"--dest={folder}", pinned],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            raise GuestUnavailable(f"no {architecture.name} wheel of {pinned}: {reason}")

    (wheel,) = build_once(f"wheel-{digest(pinned, *architecture.wheels)}", download).glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        for name in content.namelist():
            if not name.endswith("/"):
                yield name, content.read(name)


def _unused(path: Path) -> bool:
    return path.suffix in _UNUSED_SUFFIXES or any(part in _UNUSED for part in path.parts)
