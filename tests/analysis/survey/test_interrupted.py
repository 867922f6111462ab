"""A real survey, interrupted at any point, ends with the same readings as one that was not."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnomon.recording import Recording

pytestmark = pytest.mark.slow

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    long *memory = malloc(4096 * sizeof *memory), sum = 0;
    for (int i = 0; i < 4096; ++i) memory[i] = i;
    for (int i = 0; i < 4096; ++i) sum += memory[i];
    usleep(1900 * 1000);
    return sum == 0;
}
"""


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "gnomon", *words]


def _readings(path: Path) -> set[tuple[int, int, str]]:
    with Recording.open(path) as recording:
        return {(r.run, r.batch, r.event) for r in recording.readings()}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that takes two seconds, most of which it sleeps."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("program")
    source, made = folder / "two.c", folder / "two"
    source.write_text(PROGRAM)
    subprocess.run(
        _command("sim", "compile", "-O2", str(source), "-o", str(made)), check=True, timeout=120
    )
    return made


def test_a_survey_of_sixty_events_survives_an_interruption(tmp_path: Path, program: Path) -> None:
    words = _command("survey", "-r", "1", "--on", "laptop")
    whole, cut = tmp_path / "whole.gnomon", tmp_path / "cut.gnomon"
    began = time.monotonic()
    subprocess.run([*words, "-o", str(whole), "--", str(program)], check=True, timeout=300)
    took = time.monotonic() - began

    process = subprocess.Popen([*words, "-o", str(cut), "--", str(program)])
    time.sleep(random.uniform(0.2, 0.6) * took)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    with Recording.open(cut) as recording:
        assert len(recording.runs) < len(recording.provenance.plan)
        assert not recording.complete

    subprocess.run(_command("survey", "--resume", str(cut)), check=True, timeout=300)
    expected = _readings(whole)
    assert _readings(cut) == expected
    assert len({event for _, _, event in expected}) >= 60
    with Recording.open(cut) as recording:
        assert recording.complete
