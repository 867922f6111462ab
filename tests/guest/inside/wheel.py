"""Unpack a wheel, and use what is in it: nothing of the repository is on the path.

Parameters: ``wheel``, the name of its file in the guest's copy of the repository.
"""

import os
import subprocess
import sys
import tempfile
import zipfile

from .report import emit, params

SCRIPT = """
import gnomon, gnomon._native, sys
from gnomon.cli import main
print(gnomon._native.__file__, file=sys.stderr)
sys.exit(main(["count", "-e", "instructions:u,page-faults", "--json", "--", "/bin/true"]))
"""

with tempfile.TemporaryDirectory() as folder:
    with zipfile.ZipFile(params()["wheel"]) as wheel:
        wheel.extractall(folder)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": folder},
    )
    emit(
        {
            "status": done.returncode,
            "output": done.stdout,
            "errors": done.stderr,
            "folder": folder,
        }
    )
