"""Everything that a test needs to run a job in a guest, prepared once."""

import importlib.metadata
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from . import cross, image, packages, qemu
from .architectures import ARM64, Architecture
from .image import GUEST_REPOSITORY
from .qemu import GuestError, GuestResult, Machine

REPOSITORY = Path(__file__).resolve().parents[2]
INSIDE = "tests/guest/inside"

# What tests may import beyond pytest and what the project itself depends on.
TEST_LIBRARIES = ("hypothesis",)
# Large, and of use to analyses only, which run on the host.
LEFT_OUT = {"scipy"}

PATIENCE = 1800  # seconds: a quiet host takes a minute, one with other work to do many

_SEARCHED = ":".join(f"/{GUEST_REPOSITORY}{part}" for part in ("/src", "/tests", ""))
_UNUSED_SUFFIXES = (".pyc", ".so")  # made on the host and for it


@dataclass(frozen=True)
class PytestOutcome:
    """How tests ended in the guest; ``failures`` and ``skips`` have texts by test."""

    passed: int
    failed: int
    skipped: int
    errors: int
    failures: dict[str, str]
    skips: dict[str, str]
    seconds: float


@dataclass(frozen=True)
class Sections:
    """What the parts of a job found, by name."""

    messages: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        message = self.messages[name]
        if "failure" in message:
            raise GuestError(f"the part '{name}' of the job failed\n{message['failure']}")
        return message["found"]


@dataclass(frozen=True)
class Lane:
    """A bootable image without its project layer, and the extension for the guest if any."""

    base: image.Base
    architecture: Architecture = ARM64
    extension: Path | None = None

    def run_guest(
        self,
        job: str | Path,
        *,
        params: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        check: bool = True,
        **machine: Any,
    ) -> GuestResult:
        """Boot a guest, run a Python file in it as root and return what it reported.

        ``job`` is a file, or the name of one in ``inside``. ``files`` go to the guest's copy of
        the repository, which always has ``src`` and ``inside``; see ``repository_files``.
        ``environment`` adds to the variables that the job is started with. Unless ``check`` is
        false, a job that does not exit with 0 is an error. ``machine`` are the fields of
        ``Machine``.
        """
        script = REPOSITORY / INSIDE / f"{job}.py" if isinstance(job, str) else job
        layer = image.project_layer(
            {
                "command": ["/usr/bin/python3.11", "-m", f"guest.inside.{script.stem}"],
                "environment": {"PYTHONPATH": _SEARCHED, **(environment or {})},
                "folder": f"/{GUEST_REPOSITORY}",
                "params": dict(params or {}),
            },
            {
                **repository_files("src", "tests/guest/__init__.py", INSIDE),
                **_metadata(),
                **self._extension(),
                **(files or {}),
                f"{INSIDE}/{script.name}": script.read_bytes(),
            },
        )
        with tempfile.TemporaryFile() as initrd:
            for path in self.base.layers:
                initrd.write(path.read_bytes())
            initrd.write(layer)
            initrd.flush()
            emulated = Machine(architecture=self.architecture, **machine)
            result = qemu.boot(self.base.kernel, initrd, emulated, timeout=timeout)
        if check and result.exit_status != 0:
            raise GuestError(f"the job exited with {result.exit_status}\n{result.console_tail}")
        return result

    def run_pytest(
        self,
        *paths: str,
        arguments: Sequence[str] = (),
        files: Mapping[str, bytes] | None = None,
        **machine: Any,
    ) -> PytestOutcome:
        """Run pytest in a guest on files and folders of the repository.

        ``files``, ``environment`` and the options of the machine are those of ``run_guest``;
        failing tests do not raise.
        """
        result = self.run_guest(
            "run_pytest",
            params={"paths": paths, "arguments": arguments},
            files=repository_files(*paths) if files is None else files,
            check=False,
            **machine,
        )
        if not result.results:
            raise GuestError(f"pytest did not finish\n{result.console_tail}")
        return PytestOutcome(**result.results[-1], seconds=result.seconds)

    def run_sections(self, job: str, **options: Any) -> "Sections":
        """Run a job of several parts in one guest; options are those of ``run_guest``."""
        return Sections({each["name"]: each for each in self.run_guest(job, **options).results})

    def with_extension(self) -> "Lane":
        """The same lane with the project's extension module, compiled for the guest."""
        debs = packages.fetch(self.architecture)
        module = cross.extension(self.architecture, debs, REPOSITORY / "native")
        return replace(self, extension=module)

    def _extension(self) -> dict[str, bytes]:
        if self.extension is None:
            return {}
        return {f"src/gnomon/{self.extension.name}": self.extension.read_bytes()}


def prepare(architecture: Architecture = ARM64, libraries: Sequence[str] | None = None) -> Lane:
    """Fetch and build what is not cached yet; the extension is left to ``with_extension``.

    The guest has the named Python libraries, or else all that the project depends on.
    """
    qemu.require(architecture)
    cross.require(architecture)
    wanted = _dependencies() if libraries is None else libraries
    debs = packages.fetch(architecture)
    return Lane(image.base(architecture, debs, wanted), architecture)


def _dependencies() -> list[str]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    dependencies = [Requirement(text).name for text in project["dependencies"]]
    wanted = [name for name in dependencies if name not in LEFT_OUT]
    return [*wanted, *TEST_LIBRARIES]


def repository_files(*paths: str) -> dict[str, bytes]:
    """Files of the repository, and all files below its folders, by their path in it."""
    found: dict[str, bytes] = {}
    for path in (REPOSITORY / path for path in paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix not in _UNUSED_SUFFIXES:
                found[str(file.relative_to(REPOSITORY))] = file.read_bytes()
            elif not file.exists():
                raise FileNotFoundError(file)
    return found


def _metadata() -> dict[str, bytes]:
    """What the installed package says about itself, so that it knows its version there too."""
    try:
        installed = importlib.metadata.distribution("gnomon")
    except importlib.metadata.PackageNotFoundError:
        return {}
    texts = {name: installed.read_text(name) for name in ("METADATA", "entry_points.txt")}
    folder = f"src/gnomon-{installed.version}.dist-info"
    return {f"{folder}/{name}": text.encode() for name, text in texts.items() if text}
