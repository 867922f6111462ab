"""Compile Python files for the guest, because compiling under emulation takes many seconds."""

import py_compile
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path, PurePosixPath

from . import cpio

GUEST_PYTHON = (3, 11)


def compiled(tree: Mapping[str, cpio.Entry]) -> dict[str, cpio.Entry]:
    """Return the bytecode files that belong beside the Python files of a tree.

    Bytecode is specific to a minor version of Python: on any other one there is none, and the
    guest compiles what it imports.
    """
    if sys.version_info[:2] != GUEST_PYTHON:
        return {}
    sources = {name: entry.data for name, entry in tree.items() if name.endswith(".py")}
    with ProcessPoolExecutor() as pool:
        results = pool.map(_compile, sources.keys(), sources.values(), chunksize=32)
        return {
            _bytecode_name(name): cpio.file(data)
            for name, data in zip(sources, results, strict=True)
            if data is not None
        }


def _bytecode_name(source: str) -> str:
    path = PurePosixPath(source)
    return str(path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc")


def _compile(name: str, source: bytes) -> bytes | None:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "source.py")
        path.write_bytes(source)
        try:
            result = py_compile.compile(
                str(path),
                dfile=f"/{name}",
                doraise=True,
                # The image has no times of change, and what it holds does not change.
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
        except py_compile.PyCompileError:
            return None  # A template or a deliberately broken file; importing it tells.
        return Path(result).read_bytes() if result else None
