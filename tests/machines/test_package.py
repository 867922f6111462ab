"""The package gives its names on first use, and loads nothing that a command does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gnomon.machines


def test_every_name_is_there() -> None:
    for name in gnomon.machines.__all__:
        assert getattr(gnomon.machines, name) is not None
    assert set(dir(gnomon.machines)) == set(gnomon.machines.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gnomon.machines.nonsense


@pytest.mark.parametrize(
    "command",
    ["sim list", "sim show ring-4", "sim list workloads", "sim compile --version"],
)
def test_commands_that_simulate_nothing_do_without_numpy(command: str) -> None:
    script = (
        "import sys; from gnomon.cli import main\n"
        f"sys.argv = 'gnomon {command}'.split()\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('numpy' in sys.modules, file=sys.stderr)"
    )
    argv = [sys.executable, "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stderr.split()[-1] == "False"
