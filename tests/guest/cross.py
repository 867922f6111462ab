"""Compile the extension module for the guest with Debian's cross compiler.

Where the guest is of the host's own kind, the module that is installed here serves it as well.
Otherwise the compiler is called directly: the flags are those that nanobind gives for builds
without CMake, and one object is kept for each source so that a changed kernel recompiles alone.
"""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nanobind  # type: ignore[import-untyped]

from gnomon import _native

from . import GuestUnavailable
from .architectures import Architecture
from .cache import build_once, digest
from .packages import Packages, unpack

SHARED = "src/gnomon/machines/tracing/runtime"  # headers that traced programs are compiled with

_COMMON = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-pthread", "-DNDEBUG")
_SECTIONS = ("-ffunction-sections", "-fdata-sections")
# nanobind's own code relies on -fno-strict-aliasing; kernels are compiled without it.
_NANOBIND = (*_COMMON, *_SECTIONS, "-O2", "-fno-strict-aliasing", "-DNB_COMPACT_ASSERTIONS")
_KERNEL = (*_COMMON, *_SECTIONS, "-O3", "-fno-stack-protector", "-Wall", "-Wextra")
# Lines of CMakeLists.txt that give some files of a folder an option of their own.
_OWN = re.compile(r"^kernels\((\w+) OPTIONS (\S+) FILES ([^)]+)\)", re.MULTILINE)
_LINK = ("-shared", "-pthread", "-Wl,-s", "-Wl,--gc-sections")


@dataclass(frozen=True)
class _Compiler:
    """A cross compiler with the headers of the guest's Python and of nanobind."""

    program: str
    version: str
    includes: tuple[str, ...]

    def compile(self, source: Path, flags: Sequence[str], depends: str) -> Path:
        """Return the object of a source; ``depends`` stands for what the source includes."""
        # Include paths are no part of the name: what they hold is, through ``depends``.
        key = digest(self.version, depends, *flags, source.name, source.read_bytes())

        def build(folder: Path) -> None:
            _run([self.program, *flags, *self.includes, "-c", source, "-o", folder / "object.o"])

        return build_once(f"object-{key}", build) / "object.o"


def require(architecture: Architecture) -> None:
    """Raise ``GuestUnavailable`` if there is neither a module nor a compiler for it."""
    if not _is_ours(architecture) and shutil.which(architecture.compiler) is None:
        raise GuestUnavailable(
            f"{architecture.compiler} is not installed (Debian: {architecture.compiler_package})"
        )


def extension(architecture: Architecture, packages: Packages, sources: Path) -> Path:
    """Return the compiled module of all ``*.cc`` files below the folder ``sources``."""
    if _is_ours(architecture):
        return Path(_native.__file__)
    compiler = _compiler(architecture, packages, sources)
    runtime = Path(nanobind.source_dir())
    nanobind_key = digest(nanobind.__version__)
    places = (sources, sources.parent / SHARED)
    ours = sorted(path for place in places for path in place.rglob("*.h*") if path.is_file())
    headers_key = digest(nanobind_key, *(path.read_bytes() for path in ours))

    jobs: list[tuple[Path, Sequence[str], str]] = [
        (runtime / "nb_combined.cpp", _NANOBIND, nanobind_key)
    ]
    own = _own_options(sources.parent / "CMakeLists.txt")
    jobs += [
        (source, (*_KERNEL, *own.get(f"{source.parent.name}/{source.name}", ())), headers_key)
        for source in sorted(sources.rglob("*.cc"))
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda job: compiler.compile(*job), jobs))
    return _link(architecture, objects)


def headers(packages: Packages) -> Path:
    """Return the folder where the headers of the guest's Python are unpacked."""
    debs = packages.headers
    return build_once(
        f"headers-{digest(*(deb.name for deb in debs))}", lambda folder: unpack(debs, folder)
    )


def _own_options(build: Path) -> dict[str, tuple[str, ...]]:
    """Return the options of files that have some of their own, by folder and name."""
    return {
        f"{folder}/{name}": (option,)
        for folder, option, names in _OWN.findall(build.read_text())
        for name in names.split()
    }


def _is_ours(architecture: Architecture) -> bool:
    """Whether the running Python loads the very modules that the guest's does."""
    return architecture.extension == f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"


def _compiler(architecture: Architecture, packages: Packages, sources: Path) -> _Compiler:
    version = _run([architecture.compiler, "--version"])
    folder = headers(packages)
    places = (
        folder / "usr/include",  # pyconfig.h is found from here by the name of its architecture
        folder / "usr/include/python3.11",
        Path(nanobind.include_dir()),
        Path(nanobind.source_dir()).parent / "ext/robin_map/include",
    )
    # Headers of others may warn; ours may not.
    quiet = [argument for place in places for argument in ("-isystem", str(place))]
    ours = ("-I", str(sources), "-I", str(sources.parent / SHARED))
    return _Compiler(architecture.compiler, version, (*ours, *quiet))


def _link(architecture: Architecture, objects: Sequence[Path]) -> Path:
    # An object's folder is named after its contents.
    key = digest(*_LINK, *(path.parent.name for path in objects))

    def build(folder: Path) -> None:
        output = folder / architecture.extension
        _run([architecture.compiler, *_LINK, *objects, "-o", output])

    return build_once(f"module-{key}", build) / architecture.extension


def _run(command: Iterable[str | Path]) -> str:
    done = subprocess.run(list(command), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"cross compiling failed:\n{done.stderr}")
    return done.stdout
