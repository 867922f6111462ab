"""Compile the extension module for the guest with Debian's cross compiler.

The compiler is called directly: the flags are those that nanobind gives for builds without
CMake, and one object is kept for each source so that a changed kernel recompiles alone.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nanobind  # type: ignore[import-untyped]

from . import GuestUnavailable
from .cache import build_once, digest
from .packages import Packages, unpack

COMPILER = "aarch64-linux-gnu-g++"
SHARED = "src/gnomon/machines/tracing/runtime"  # headers that traced programs are compiled with
MODULE = "_native.cpython-311-aarch64-linux-gnu.so"

_COMMON = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-pthread", "-DNDEBUG")
_SECTIONS = ("-ffunction-sections", "-fdata-sections")
# nanobind's own code relies on -fno-strict-aliasing; kernels are compiled without it.
_NANOBIND = (*_COMMON, *_SECTIONS, "-O2", "-fno-strict-aliasing", "-DNB_COMPACT_ASSERTIONS")
_KERNEL = (*_COMMON, *_SECTIONS, "-O3", "-fno-stack-protector", "-Wall", "-Wextra")
_LINK = ("-shared", "-pthread", "-Wl,-s", "-Wl,--gc-sections")


@dataclass(frozen=True)
class _Compiler:
    """A cross compiler with the headers of the guest's Python and of nanobind."""

    version: str
    includes: tuple[str, ...]

    def compile(self, source: Path, flags: Sequence[str], depends: str) -> Path:
        """Return the object of a source; ``depends`` stands for what the source includes."""
        # Include paths are no part of the name: what they hold is, through ``depends``.
        key = digest(self.version, depends, *flags, source.name, source.read_bytes())

        def build(folder: Path) -> None:
            _run([COMPILER, *flags, *self.includes, "-c", source, "-o", folder / "object.o"])

        return build_once(f"object-{key}", build) / "object.o"


def require() -> None:
    """Raise ``GuestUnavailable`` if there is no cross compiler."""
    if shutil.which(COMPILER) is None:
        raise GuestUnavailable(f"{COMPILER} is not installed (Debian: g++-aarch64-linux-gnu)")


def extension(packages: Packages, sources: Path) -> Path:
    """Return the compiled module of all ``*.cc`` files in the folder ``sources``."""
    compiler = _compiler(packages, sources)
    runtime = Path(nanobind.source_dir())
    nanobind_key = digest(nanobind.__version__)
    places = (sources, sources.parent / SHARED)
    headers = sorted(path for place in places for path in place.rglob("*.h*") if path.is_file())
    headers_key = digest(nanobind_key, *(path.read_bytes() for path in headers))

    jobs: list[tuple[Path, Sequence[str], str]] = [
        (runtime / "nb_combined.cpp", _NANOBIND, nanobind_key)
    ]
    jobs += [(source, _KERNEL, headers_key) for source in sorted(sources.glob("*.cc"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda job: compiler.compile(*job), jobs))
    return _link(objects)


def _compiler(packages: Packages, sources: Path) -> _Compiler:
    version = _run([COMPILER, "--version"])
    debs = packages.headers
    folder = build_once(
        f"headers-{digest(*(deb.name for deb in debs))}", lambda folder: unpack(debs, folder)
    )
    places = (
        folder / "usr/include",  # pyconfig.h is found from here by the name of its architecture
        folder / "usr/include/python3.11",
        Path(nanobind.include_dir()),
        Path(nanobind.source_dir()).parent / "ext/robin_map/include",
    )
    # Headers of others may warn; ours may not.
    quiet = [argument for place in places for argument in ("-isystem", str(place))]
    return _Compiler(version, ("-I", str(sources), "-I", str(sources.parent / SHARED), *quiet))


def _link(objects: Sequence[Path]) -> Path:
    # An object's folder is named after its contents.
    key = digest(*_LINK, *(path.parent.name for path in objects))

    def build(folder: Path) -> None:
        _run([COMPILER, *_LINK, *objects, "-o", folder / MODULE])

    return build_once(f"module-{key}", build) / MODULE


def _run(command: Iterable[str | Path]) -> str:
    done = subprocess.run(list(command), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"cross compiling failed:\n{done.stderr}")
    return done.stdout
