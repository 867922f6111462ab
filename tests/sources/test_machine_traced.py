"""Real programs whose references go through a simulated machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.analysis.count import count
from gnomon.errors import GnomonError
from gnomon.instrument.profile import profile
from gnomon.machines.tracing.compiler import compiler_command
from gnomon.recording.contents import Status
from gnomon.sources.base import Command
from gnomon.sources.machine.source import MachineSource

WORDS = 1 << 16
SOURCE = f"""
#include <stdlib.h>
__attribute__((noinline)) void fill(long *a) {{ for (int i = 0; i < {WORDS}; i++) a[i] = i; }}
__attribute__((noinline)) long sum(long *a) {{
  long s = 0;
  for (int i = 0; i < {WORDS}; i++) s += a[i];
  return s;
}}
int main(void) {{
  long *a = malloc({WORDS} * sizeof *a);
  fill(a);
  return (int)(sum(a) % 5) + 3;
}}
"""
STATUS = sum(range(WORDS)) % 5 + 3


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A program that was compiled for tracing, with the compiled runtime beside it."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "program.c").write_text(SOURCE)
    arguments = ["-O1", str(folder / "program.c"), "-o", str(folder / "program")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        try:
            command = compiler_command(arguments, None, cxx=False)
        except GnomonError as error:
            pytest.skip(str(error))
        subprocess.run(command, check=True, timeout=60)
    yield str(folder / "program")


def test_a_real_program_is_counted_on_a_simulated_machine(binary: str) -> None:
    events = "L1-dcache-loads,L1-dcache-stores,L1-dcache-load-misses,cycles,instructions"
    found = count([binary], events, on=MachineSource("laptop"))
    assert found.exit_status == STATUS
    loads, stores = found["L1-dcache-loads"].value, found["L1-dcache-stores"].value
    assert loads is not None and WORDS <= loads < WORDS + 100
    assert stores is not None and WORDS <= stores < WORDS + 100
    assert found["instructions"].status is Status.NOT_SUPPORTED
    assert any("loads and stores of" in text for text in found.warnings)
    assert found.provenance.simulated


def test_a_preset_that_lacks_one_of_its_events_is_a_row_with_its_status(binary: str) -> None:
    asked = "PAPI_L1_TCM,PAPI_L1_DCM"
    found = count([binary], asked, on="niagara2")
    assert [line.event for line in found.counts] == asked.split(",")
    assert found["PAPI_L1_TCM"].value is None
    assert found["PAPI_L1_TCM"].status is Status.NOT_SUPPORTED
    assert found["PAPI_L1_DCM"].value is not None


def test_its_functions_are_named_in_a_profile(binary: str) -> None:
    source = MachineSource("laptop")
    found = profile(Command((binary,)), "L1-dcache-loads", threshold=1009, on=source)
    [hit, *_] = found.by_function()
    assert (Path(hit.module).name, hit.function) == ("program", "sum")
    assert abs(found.samples - WORDS // 1009) <= 1


@pytest.mark.slow
def test_any_program_is_counted_slowly_by_valgrind() -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    found = count(["/bin/true"], "instructions,L1-icache-load-misses", on=MachineSource("laptop"))
    assert all(line.value for line in found.counts)
    assert any("slow" in text for text in found.warnings)
