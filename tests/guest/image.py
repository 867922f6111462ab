"""The guest's kernel and initramfs, in layers.

Linux unpacks concatenated archives one after another. The base layer (Debian and pytest) is
cached, a layer of further libraries too; the project layer is small and made for each boot.
"""

import json
import re
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from . import cpio, init, libraries
from .architectures import Architecture
from .bytecode import compiled
from .cache import build_once, digest
from .packages import Packages, unpack

# Where the guest has its copy of the repository.
GUEST_REPOSITORY = "gnomon"
# Part of the name of cached layers: raise it when the same packages give another layer.
_FORMAT = 3

_MERGED = ("bin", "sbin", "lib", "lib64")
_UNUSED = (
    "etc/",
    "usr/include/",
    "usr/lib/dpkg/",
    "usr/lib/mime/",
    "usr/lib/python3.11/ensurepip/",
    "usr/lib/python3.11/idlelib/",
    "usr/lib/python3.11/lib2to3/",
    "usr/lib/python3.11/pydoc_data/",
    "usr/lib/python3.11/test/",
    "usr/lib/python3.11/tkinter/",
    "usr/sbin/",
    "usr/share/",
    "var/",
)
_UNUSED_LIBRARIES = ("gconv/", "libdb-5.3.so")  # in the folder of the architecture
_ETC = {
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hostname": "guest\n",
    "etc/hosts": "127.0.0.1 localhost guest\n",
    "etc/passwd": "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n",
}


@dataclass(frozen=True)
class Base:
    """The cached part of an image: the kernel, and layers that hold no file of the project."""

    kernel: Path
    layers: tuple[Path, ...]


def base(architecture: Architecture, packages: Packages, extra: Sequence[str] = ()) -> Base:
    """Return the kernel and base layers, with the libraries named in ``extra``."""
    tests = libraries.closure(["pytest"], architecture)
    known = {distribution.name for distribution in tests}
    wanted = libraries.closure(extra, architecture)
    further = [each for each in wanted if each.name not in known]

    def build_system(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            unpack((packages.kernel,), Path(scratch))
            (kernel,) = Path(scratch, "boot").glob("vmlinuz-*")
            (folder / "vmlinuz").write_bytes(kernel.read_bytes())
            modules = _modules(architecture, Path(scratch, "lib/modules"))
        system = _system(architecture, packages)
        _write_layer(folder, {**system, **modules, **libraries.tree(tests, architecture)})

    def build_further(folder: Path) -> None:
        _write_layer(folder, libraries.tree(further, architecture))

    debs = [deb.name for deb in (packages.kernel, *packages.runtime)]
    folders = [build_once(f"base-{_key([*debs, *architecture.modules], tests)}", build_system)]
    if further:
        folders.append(build_once(f"libraries-{_key([architecture.name], further)}", build_further))
    layers = tuple(folder / "layer.cpio" for folder in folders)
    return Base(folders[0] / "vmlinuz", layers)


def project_layer(job: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """Return the layer of one boot: what to do, and files for the guest's copy of the repository.

    ``job`` has what ``init`` reads: the command, its environment and the folder to start in.
    """
    tree = {f"{GUEST_REPOSITORY}/{name}": cpio.file(data) for name, data in files.items()}
    tree |= compiled(tree)
    tree["init"] = cpio.file(Path(init.__file__).read_bytes(), executable=True)
    tree["job.json"] = cpio.file(json.dumps(job).encode())
    return cpio.archive(tree)


def _key(names: Iterable[str], parts: Iterable[Distribution]) -> str:
    versions = (f"{part.name} {part.version}" for part in parts)
    return digest(str(_FORMAT), *names, "", *versions)


def _write_layer(folder: Path, tree: Mapping[str, cpio.Entry]) -> None:
    (folder / "layer.cpio").write_bytes(cpio.archive({**tree, **compiled(tree)}))


def _system(architecture: Architecture, packages: Packages) -> dict[str, cpio.Entry]:
    """Debian without what no job needs, and what an installation would have added."""
    with tempfile.TemporaryDirectory() as scratch:
        unpack(packages.runtime, Path(scratch))
        tree = dict(_walk(architecture, Path(scratch)))
    tree |= {name: cpio.file(text.encode()) for name, text in _ETC.items()}
    tree |= {name: cpio.link(f"usr/{name}") for name in _MERGED}
    tree["dev/console"] = cpio.character_device(5, 1)
    tree["root"] = cpio.folder(0o700)
    tree["usr/bin/python3"] = cpio.link("python3.11")
    tree["usr/bin/sh"] = cpio.link("dash")
    return tree


def _modules(architecture: Architecture, folder: Path) -> dict[str, cpio.Entry]:
    """The modules that ``init`` loads, in that order; some kernels have them built in."""
    found = {path.stem: path.read_bytes() for path in folder.rglob("*.ko")}
    ordered: list[str] = []

    def add(name: str) -> None:
        if name in found and name not in ordered:
            for other in _needs(found[name]):
                add(other)
            ordered.append(name)

    for name in architecture.modules:
        add(name)
    return {
        f"usr/lib/modules/{number}-{name}.ko": cpio.file(found[name])
        for number, name in enumerate(ordered)
    }


def _needs(module: bytes) -> list[str]:
    """The modules that a module says it needs; kernels of one version differ in that."""
    match = re.search(rb"\0depends=([^\0]+)\0", module)
    return match[1].decode().split(",") if match else []


def _walk(architecture: Architecture, folder: Path) -> Iterable[tuple[str, cpio.Entry]]:
    unused = _UNUSED + tuple(f"usr/lib/{architecture.triple}/{name}" for name in _UNUSED_LIBRARIES)
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        # Packages still have /lib beside /usr/lib; an installed system has one of them.
        merged = f"usr/{name}" if name.parts[0] in _MERGED else str(name)
        if merged.startswith(unused) or "__pycache__" in name.parts:
            continue
        if path.is_symlink():
            yield merged, cpio.link(str(path.readlink()))
        elif path.is_file():
            executable = bool(path.stat().st_mode & stat.S_IXUSR)
            yield merged, cpio.file(path.read_bytes(), executable=executable)
