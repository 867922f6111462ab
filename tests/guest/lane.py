"""Everything that a test needs to run a job in a guest, prepared once."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import cross, image, packages, qemu
from .image import GUEST_REPOSITORY, REPOSITORY
from .qemu import GuestError, GuestResult, Machine

INSIDE = Path(__file__).resolve().parent / "inside"

_UNUSED_SUFFIXES = (".pyc", ".so")


@dataclass(frozen=True)
class Lane:
    """A bootable image without its project layer, and the extension for the guest."""

    base: image.Base
    extension: Path | None = None

    def run_guest(
        self,
        job: str | Path,
        *,
        params: Mapping[str, Any] | None = None,
        files: Sequence[str] = (),
        smp: int = 1,
        nodes: int = 1,
        icount: int | None = 0,
        memory: int = 1024,
        timeout: float = 120,
        check: bool = True,
    ) -> GuestResult:
        """Boot a guest, run a Python file in it as root and return what it reported.

        ``job`` is a file, or the name of one in ``inside``. ``files`` are further files and
        folders that it needs, relative to the repository. Unless ``check`` is false, a job
        that does not exit with 0 is an error.
        """
        script = INSIDE / f"{job}.py" if isinstance(job, str) else job
        layer = image.project_layer(
            {
                "command": ["/usr/bin/python3.11", "-m", f"guest.inside.{script.stem}"],
                "environment": {"PYTHONPATH": f"/{GUEST_REPOSITORY}/src:/{GUEST_REPOSITORY}/tests"},
                "folder": f"/{GUEST_REPOSITORY}",
                "params": dict(params or {}),
            },
            self._files(script, files),
        )
        machine = Machine(smp=smp, nodes=nodes, icount=icount, memory=memory)
        with tempfile.NamedTemporaryFile(prefix="gnomon-initrd-") as initrd:
            for part in self.base.layers:
                initrd.write(part.read_bytes())
            initrd.write(layer)
            initrd.flush()
            result = qemu.boot(self.base.kernel, Path(initrd.name), machine, timeout=timeout)
        if check and result.exit_status != 0:
            raise GuestError(f"the job exited with {result.exit_status}\n{result.console_tail}")
        return result

    def _files(self, script: Path, wanted: Sequence[str]) -> dict[str, Path]:
        """The files of the project layer, by their path in the repository."""
        files = dict(_below(REPOSITORY / "src", REPOSITORY))
        for folder in ("tests/guest/__init__.py", "tests/guest/inside", *wanted):
            files |= _below(REPOSITORY / folder, REPOSITORY)
        files[f"tests/guest/inside/{script.name}"] = script
        if self.extension is not None:
            files[f"src/gnomon/{self.extension.name}"] = self.extension
        return files


def prepare(libraries: Sequence[str] = (), sources: Path = REPOSITORY / "native") -> Lane:
    """Fetch, build and compile what is not cached yet; ``sources`` are those of the extension."""
    qemu.require()
    cross.require()
    fetched = packages.fetch()
    base = image.base(fetched, libraries)
    return Lane(base, cross.extension(fetched, sources) if any(sources.glob("*.cc")) else None)


def _below(path: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """A file, or all files of a folder, except those that were made on and for the host."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        unused = file.suffix in _UNUSED_SUFFIXES or "__pycache__" in file.parts
        if file.is_file() and not unused:
            yield str(file.relative_to(root)), file
