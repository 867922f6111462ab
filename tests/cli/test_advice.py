"""`gnomon locality --advise`: what it proposes for programs with a mistake, and complaints."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .running import Run

EXAMPLE = Path(__file__).parents[2] / "examples" / "placement.c"
ON = ("locality", "--advise", "--on", "ring-4")
SHARING = ("workload:false-sharing", "threads=4", "iterations=2000")


@pytest.fixture(scope="module")
def placement(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example program, compiled for tracing."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    from gnomon.machines.tracing.compiler import compiler_command

    program = tmp_path_factory.mktemp("advice") / "placement"
    arguments = ["-g", "-O1", str(EXAMPLE), "-o", str(program), "-lpthread"]
    subprocess.run(compiler_command(arguments, None, cxx=False), check=True)
    return str(program)


def advice_of(gnomon: Run, *command: str) -> dict[str, Any]:
    done = gnomon(*ON, "--json", "--", *command)
    assert done.code == 0, done.err
    assert done.json["simulated"]
    advice: dict[str, Any] = done.json["results"]
    return advice


@pytest.mark.parametrize(
    ("mistaken", "cured", "action", "name"),
    [
        (
            ("first-touch", "8", "4096"),
            ("healthy", "8", "4096"),
            "first touch",
            "allocated in main",
        ),
        (("padding",), ("padded",), "pad", "hits"),
    ],
)
def test_a_mistake_is_cured_and_the_cured_program_keeps_the_promise(
    gnomon: Run,
    placement: str,
    mistaken: tuple[str, ...],
    cured: tuple[str, ...],
    action: str,
    name: str,
) -> None:
    advice = advice_of(gnomon, placement, *mistaken)
    [proposal] = advice["proposals"]
    assert (proposal["action"], proposal["thing"]["name"]) == (action, name)
    if name.startswith("allocated"):
        assert proposal["thing"]["where"].startswith("placement.c:")
    assert advice["speedup"] > 3
    assert advice["remote_after"] < advice["remote_before"]
    healthy = advice_of(gnomon, placement, *cured)
    assert healthy["proposals"] == healthy["alternatives"] == []
    assert healthy["speedup"] == 1
    assert advice["after_ns"] == pytest.approx(healthy["before_ns"], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "action"),
    [
        ("interleave", "interleave"),
        ("replicate", "replicate"),
        ("migrate", "migrate"),
        ("bind", "migrate"),
    ],
)
def test_other_mistakes_of_a_real_program_are_cured(
    gnomon: Run, placement: str, mode: str, action: str
) -> None:
    advice = advice_of(gnomon, placement, mode)
    assert [each["action"] for each in advice["proposals"]] == [action]
    assert advice["speedup"] > 1.2


def test_a_program_without_threads_is_left_alone(gnomon: Run, placement: str) -> None:
    done = gnomon(*ON, "--", placement, "healthy", "1", "512")
    assert done.code == 0
    assert "Keep the placement" in done.out


def test_what_to_do_is_said_in_words(gnomon: Run) -> None:
    done = gnomon(*ON, "--", *SHARING)
    assert done.code == 0
    assert done.out.startswith("SIMULATED workload:false-sharing")
    assert "times as fast" in done.out
    assert "pad: counters" in done.out
    assert "alignas" in done.out


def test_one_node_says_what_still_works(gnomon: Run) -> None:
    done = gnomon("locality", "--advise", "--on", "laptop", "--", *SHARING)
    assert "pad: counters" in done.out
    assert "laptop has one node" in done.err


def test_a_page_is_written(gnomon: Run, folder: Path) -> None:
    done = gnomon(*ON, "--html", "advice.html", "--", *SHARING)
    assert done.code == 0
    text = (folder / "advice.html").read_text()
    assert "pad: counters" in text
    assert "SIMULATED" in text


def test_a_program_that_crashes_is_advised_on_what_it_did(gnomon: Run, folder: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    source = folder / "crash.c"
    source.write_text(
        "#include <stdlib.h>\nint table[9999];\n"
        "int main(void) { for (int i = 0; i < 9999; ++i) table[i] = i; abort(); }\n"
    )
    assert gnomon("sim", "compile", str(source), "-o", "crash").code == 0
    done = gnomon(*ON, "--", "./crash")
    assert done.code == 134
    assert "Keep the placement" in done.out
    assert "exit status 134" in done.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--advise", "--", "workload:triad"), "--on"),
        (("--advise", "--on", "ring-4"), "needs a program"),
        (("--advise", "--on", "ring-4", "kept.gnomon"), "needs a program"),
        (("--advise", "--on", "nowhere", "--", "workload:triad"), "nowhere"),
        (("--advise", "--on", "ring-4", "--", "workload:none"), "none"),
        (("--advise", "--on", "ring-4", "--", "./there-is-none"), "there-is-none"),
        (("--advise", "--on", "ring-4", "--", "signal:loads"), "signal"),
        (("--advise", "--on", "ring-4", "--counters", "8", "--", "workload:triad"), "--counters"),
        (("--advise", "--on", "ring-4", "--margin", "x", "--", "workload:triad"), "percent"),
        (("--advise", "--on", "ring-4", "--margin", "0", "--", "workload:triad"), "percent"),
        (("--margin", "5", "--on", "ring-4", "--", "workload:triad"), "--advise"),
    ],
)
def test_mistakes_get_one_clear_sentence(
    gnomon: Run, arguments: tuple[str, ...], complaint: str
) -> None:
    done = gnomon("locality", *arguments)
    assert done.code in (1, 2, 127)
    assert done.err.startswith("gnomon: ")
    assert complaint in done.err
    assert "Traceback" not in done.err
