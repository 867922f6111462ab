"""The package as `pip install .` leaves it, apart from the one that is being worked on."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gnomon
import gnomon_studies
from gnomon import _native

_SCRIPT = """#!{python}
import sys
from gnomon.cli import main
sys.exit(main())
"""


@contextmanager
def installed() -> Iterator[Path]:
    """Yield the bin folder of a fresh environment with nothing but gnomon in it.

    An editable install puts a finder in front of every import, which users do not have;
    the files are those that a wheel carries.
    """
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        root = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", root], check=True)
        site = next(root.glob("lib/python*/site-packages"))
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        for package in (gnomon, gnomon_studies):
            source = Path(package.__file__ or "").parent
            shutil.copytree(source, site / source.name, ignore=ignored)
        shutil.copy(Path(_native.__file__), site / "gnomon")
        subprocess.run([root / "bin" / "python", "-m", "compileall", "-q", site], check=True)
        script = root / "bin" / "gnomon"
        script.write_text(_SCRIPT.format(python=root / "bin" / "python"))
        script.chmod(0o755)
        yield root / "bin"
