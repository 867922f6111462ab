"""Debian packages of the guest's architecture, fetched through a private apt root.

The host's own apt configuration decides where packages come from and how they are verified;
state, cache and architecture are ours, so nothing on the host changes and no root is needed.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import GuestUnavailable
from .architectures import Architecture
from .cache import build_once, digest

# What runs in the guest. A shell and the core utilities are there as programs to be measured.
RUNTIME = ("python3.11", "libstdc++6", "dash", "coreutils")
# Only headers are wanted, so these come without what they depend on.
HEADERS = ("libpython3.11-dev",)

_TOOLS = ("apt-get", "apt-cache", "dpkg-deb")

# The file is read after the host's configuration, which keeps proxies and certificates and
# clears hooks: they belong to the host's own package state.
_APT_CONF = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear APT::Architectures;
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State "{root}/state";
Dir::State::status "{root}/status";
Dir::Cache "{root}/cache";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
"""


@dataclass(frozen=True)
class Packages:
    """Where the fetched ``.deb`` files are."""

    folder: Path

    @property
    def runtime(self) -> tuple[Path, ...]:
        """What is unpacked into the guest's file system."""
        return _debs(self.folder / "runtime")

    @property
    def headers(self) -> tuple[Path, ...]:
        """What the cross compiler needs to see of the guest's Python."""
        return _debs(self.folder / "headers")

    @property
    def kernel(self) -> Path:
        """The package of the guest's kernel."""
        (deb,) = _debs(self.folder / "kernel")
        return deb


def fetch(architecture: Architecture) -> Packages:
    """Return the packages of the guest, from the cache or else from the host's mirrors."""
    name = f"packages-{digest(*RUNTIME, '', *HEADERS, '', architecture.kernel)}"
    return Packages(build_once(name, lambda folder: _download(architecture, folder)))


def unpack(debs: tuple[Path, ...], folder: Path) -> None:
    """Unpack the files of packages into one folder, without running their scripts."""
    for deb in debs:
        subprocess.run(["dpkg-deb", "--extract", deb, folder], check=True)


def _download(architecture: Architecture, folder: Path) -> None:
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            raise GuestUnavailable(f"{tool} is not installed: the guest is made of Debian packages")
    root = folder / "apt"
    for sub in ("state/lists/partial", "cache/archives/partial"):
        (root / sub).mkdir(parents=True)
    (root / "status").touch()
    (root / "apt.conf").write_text(_APT_CONF.format(root=root, architecture=architecture.name))

    # A failure of one of the host's other sources is no failure of ours: what counts is
    # whether the packages can then be found.
    update = _apt(root, "apt-get", "update")
    try:
        depends = _checked(_apt(root, "apt-cache", "depends", architecture.kernel))
        kernel = _kernel_name(architecture, depends)
        _checked(_apt(root, "apt-get", "install", "--download-only", "--yes", *RUNTIME))
        for group, names in (("kernel", (kernel,)), ("headers", HEADERS)):
            (folder / group).mkdir()
            _checked(_apt(root, "apt-get", "download", *names, cwd=folder / group))
    except _AptError as error:
        detail = _first_complaint(update.stderr) or _first_complaint(str(error))
        raise GuestUnavailable(
            f"{architecture.name} packages cannot be fetched through apt: {detail}"
        ) from error
    (root / "cache/archives").rename(folder / "runtime")
    shutil.rmtree(root)


class _AptError(Exception):
    """An apt command failed; the message is what it wrote."""


def _apt(root: Path, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    tool, *arguments = command
    return subprocess.run(
        [tool, "-c", root / "apt.conf", "-q", *arguments],
        cwd=cwd or root,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _checked(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode != 0:
        raise _AptError(done.stderr or done.stdout)
    return done.stdout


def _kernel_name(architecture: Architecture, depends: str) -> str:
    """The versioned package that the kernel's meta package stands for."""
    match = re.search(rf"Depends: (linux-image-\d\S*-cloud-{architecture.name})\b", depends)
    if match is None:
        raise _AptError(f"{architecture.kernel} names no kernel")
    return match[1]


def _first_complaint(text: str) -> str:
    """The first warning or error of apt: the later ones follow from it."""
    return next((line for line in text.splitlines() if line.startswith(("W:", "E:"))), "")


def _debs(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob("*.deb")))
