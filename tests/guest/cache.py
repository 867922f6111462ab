"""A folder of things that are slow to make, each of them made once and then only read."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_root() -> Path:
    """The cache folder of the guest lane; ``GNOMON_CACHE`` moves it."""
    base = os.environ.get("GNOMON_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    root = Path(base).expanduser().resolve() / "gnomon" / "guest"
    root.mkdir(parents=True, exist_ok=True)
    return root


def build_once(name: str, build: Callable[[Path], None]) -> Path:
    """Return the cached folder ``name``, calling ``build`` on an empty one if it is not there.

    The folder appears under its name only when ``build`` has returned, so an interrupted build
    leaves nothing that a later run could take for complete.
    """
    target = cache_root() / name
    if target.exists():
        return target
    with _lock(target):
        if not target.exists():
            scratch = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=target.parent))
            try:
                scratch.chmod(0o755)
                build(scratch)
                scratch.rename(target)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return target


def digest(*parts: str | bytes) -> str:
    """A short name for the given contents; it changes when any of them does."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()[:16]


@contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Let one process build ``target`` while others wait for it."""
    with target.with_name(f".{target.name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
