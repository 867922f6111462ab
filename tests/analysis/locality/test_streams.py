"""Feeds of the counter array: what a simulated machine, samples, a trace and page tables tell."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon import _native
from gnomon.analysis.locality import LocalityResult
from gnomon.analysis.locality.build import region_map
from gnomon.analysis.locality.counters import RECORD
from gnomon.analysis.locality.pages import parse_range
from gnomon.analysis.locality.samples import SampledStream
from gnomon.analysis.locality.streams import Scope
from gnomon.errors import GnomonError, NotSupportedError, UsageError
from gnomon.events.event import Request
from gnomon.launch import Command
from gnomon.measure.run import Stopper
from gnomon.sources.base import Process
from gnomon.sources.sampling import SampleBatch, Sampling

PAGE = os.sysconf("SC_PAGE_SIZE")
FFT = ["workload:fft", "size=1024"]

needs_tracking = pytest.mark.skipif(
    _native.page_tracking_error() != 0, reason="the kernel cannot track pages"
)
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def counted(result: LocalityResult) -> int:
    return int(result.pages.accesses.sum() + result.wide.accesses.sum())


# -- a simulated machine


@pytest.fixture(scope="module")
def fft() -> LocalityResult:
    return gn.locality(FFT, on="smile-4")


def test_every_remote_access_of_a_machine_is_counted_once(fft: LocalityResult) -> None:
    assert fft.flow.accesses == int(fft.paths.sum()) == counted(fft)
    assert not np.diagonal(fft.paths).any()
    assert fft.regions.accesses.sum() == pytest.approx(fft.flow.accesses)


def test_ctrl_c_shows_what_was_found_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: list[Stopper] = []

    @contextmanager
    def installed(self: Stopper) -> Iterator[Stopper]:
        handlers.append(self)
        yield self

    def stop(_: int) -> None:
        handlers[0].requested = True

    monkeypatch.setattr(Stopper, "installed", installed)
    endless = ["workload:random", "accesses=1000M", "size=64KiB", "placement=interleave"]
    found = gn.locality(endless, on="ring-4", scope="memory", on_piece=stop)
    assert found.interrupted
    assert found.exit_status is None
    assert found.duration_ns > 1
    assert counted(found) == found.flow.accesses


def test_regions_are_no_finer_than_what_was_seen() -> None:
    records = np.zeros(5, RECORD)
    records["start"] = np.array([1, 2, 8, 9, 20]) * 4096
    records["bytes"], records["accesses"], records["end_ns"] = 4096, 1, 100
    found = region_map(records, 100.0)
    assert ((found.end - found.start) % 4096 == 0).all()
    assert found.accesses.sum(axis=1) == pytest.approx(1.0)


def test_pages_are_on_the_nodes_in_turn_and_accessed_by_others(fft: LocalityResult) -> None:
    assert (fft.pages.home == fft.pages.page % 4).all()
    for row, home in enumerate(fft.pages.home):
        assert fft.pages.accesses[row, home] == 0


def test_both_schemes_count_the_same(fft: LocalityResult) -> None:
    hybrid = gn.locality(FFT, on="smile-4", scheme="hybrid")
    assert counted(hybrid) == counted(fft)
    assert (hybrid.paths == fft.paths).all()


def test_a_static_counter_has_all_accesses_to_its_page(fft: LocalityResult) -> None:
    row = int(fft.pages.accesses.sum(axis=1).argmax())
    start = int(fft.pages.page[row]) * 4096
    result = gn.locality(FFT, on="smile-4", counters=16, static=[f"{start}+4096"])
    [static] = result.static
    assert (static.accesses == fft.pages.accesses[row]).all()
    assert static.writes is not None
    assert (static.writes == fft.pages.writes[row]).all()
    assert result.flow.static_accesses + counted(result) == fft.flow.accesses


def test_what_a_full_ring_loses_is_counted(fft: LocalityResult) -> None:
    result = gn.locality(FFT, on="smile-4", counters=4, range=64, ring="64", fetch_delay="1ms")
    assert result.flow.lost > 0
    assert counted(result) + result.flow.lost_accesses == fft.flow.accesses
    assert (result.paths == fft.paths).all()
    assert any("were lost" in text for text in result.warnings)


def test_a_machine_with_one_node_says_what_is_seen() -> None:
    result = gn.locality(["workload:triad", "size=4096"], on="laptop")
    assert any("has one node" in text for text in result.warnings)
    assert result.flow.accesses > 0


def test_a_recording_gives_the_same_result(fft: LocalityResult, tmp_path: Path) -> None:
    made = gn.locality(FFT, on="smile-4", output=tmp_path / "fft")
    found = gn.locality(tmp_path / "fft.gnomon")
    assert found.flow == made.flow == fft.flow
    assert (found.pages.accesses == made.pages.accesses).all()
    assert (found.pages.home == made.pages.home).all()
    assert (found.regions.accesses == made.regions.accesses).all()


# -- address samples

LOCAL, REMOTE = 0x80 << 5, 0x100 << 5
LOAD, STORE = 0x02, 0x04


class Sampler:
    """Samples that were made up; one drain has them all."""

    exit_status, lost, throttled = 0, 3, 1

    def __init__(self, batch: SampleBatch) -> None:
        self._batch = batch

    def __enter__(self) -> Sampler:
        return self

    def __exit__(self, *_: object) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def wait(self, timeout: float | None = None) -> bool:
        return True

    def drain(self) -> SampleBatch:
        batch, self._batch = self._batch, SampleBatch()
        return batch


def source_with(rows: list[tuple[int, int, int]]) -> Any:
    """A source whose samples are (address, what answered, CPU)."""
    batch = SampleBatch()
    for number, (address, served, cpu) in enumerate(rows):
        batch.time.append((1 << 62) + number)
        batch.address.append(address)
        batch.data_source.append(served)
        batch.cpu.append(cpu)
        batch.tid.append(7)
    event = SimpleNamespace(name="loads")
    request: Any = SimpleNamespace(event=event, label="loads")
    carrying = Sampling(request, period=10, address=True, weight=True, data_source=True)
    facility = SimpleNamespace(sampled=lambda threshold, period: (carrying,))

    def resolve(name: str) -> list[Request]:
        raise UsageError(f"there is no {name}")

    return SimpleNamespace(
        name="made up",
        latency_facility=lambda: facility,
        availability=lambda requests: [SimpleNamespace(countable=True, reason="")] * len(requests),
        resolve=resolve,
        sample=lambda samplings, target: Sampler(batch),
    )


def sampled(rows: list[tuple[int, int, int]], scope: Scope) -> tuple[SampledStream, list[Any]]:
    nodes: dict[int, tuple[int, ...]] = {0: (0, 1), 1: (2, 3)}
    stream = SampledStream(source_with(rows), Command(("x",)), nodes, period=10, scope=scope)
    return stream, [piece for piece in stream if len(piece)]


ROWS = [
    (0x1000, LOAD | LOCAL, 0),
    (0x2000, LOAD | REMOTE, 0),
    (0x3008, STORE | REMOTE, 3),
    (0, LOAD | REMOTE, 1),  # the PMU did not tell where
    (0x4000, LOAD, 1),  # a cache answered
]


def test_samples_that_another_node_answered_are_kept_with_both_nodes() -> None:
    stream, [piece] = sampled(ROWS, Scope.REMOTE)
    assert piece.address.tolist() == [0x2000, 0x3008]
    assert piece.source.tolist() == [0, 1]
    assert piece.home.tolist() == [1, 0]
    assert piece.write.tolist() == [False, True]
    assert any("3 samples were lost" in text for text in stream.warnings)


def test_samples_of_all_memory_have_the_local_ones_too() -> None:
    _, [piece] = sampled(ROWS, Scope.MEMORY)
    assert piece.address.tolist() == [0x1000, 0x2000, 0x3008]
    assert piece.home.tolist() == [0, 1, 0]


# -- a trace

WALK = """
#include <stdlib.h>
int main(void) {
    volatile double *a = malloc(80000), s = 0;
    for (int i = 0; i < 10000; i++) a[i] = i;
    for (int i = 0; i < 10000; i++) s += a[i];
    return 0;
}
"""


@needs_compiler
def test_a_program_compiled_for_it_is_traced_by_itself(tmp_path: Path) -> None:
    from gnomon.machines.tracing.compiler import compiler_command

    (tmp_path / "walk.c").write_text(WALK)
    arguments = ["-O0", "-o", str(tmp_path / "walk"), str(tmp_path / "walk.c")]
    subprocess.run(compiler_command(arguments, None, cxx=False), check=True)
    result = gn.locality([str(tmp_path / "walk")])
    assert result.origin.kind == "traced"
    assert counted(result) == result.flow.accesses
    full = result.pages.accesses.sum(axis=1) == 2 * 4096 / 8  # written once and read once
    assert full.sum() >= 18


def test_a_process_cannot_be_traced() -> None:
    with pytest.raises(UsageError, match="--by pages"):
        gn.locality(Process(os.getpid()), by="trace")


# -- page tables

WRITER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
long written;
int main(void) {
    char *a = aligned_alloc(4096, 100 * 4096);
    for (int i = 0; i < 100; i += 2) { a[i * 4096] = 1; __atomic_fetch_add(&written, 1, 5); }
    printf("%lu\\n", (unsigned long)a);
    fflush(stdout);
    _Exit(4);
}
"""


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writer")
    (folder / "writer.c").write_text(WRITER)
    subprocess.run(["cc", "-O1", "-o", folder / "writer", folder / "writer.c"], check=True)
    return folder / "writer"


@needs_tracking
@needs_compiler
def test_page_tables_tell_all_written_pages_and_breakpoints_count_exactly(
    writer: Path, tmp_path: Path
) -> None:
    with (tmp_path / "out").open("w+") as output:
        command = Command((str(writer),), stdout=output.fileno())
        try:
            result = gn.locality(command, by="pages", static=["written"], output=tmp_path / "kept")
        except GnomonError as error:
            if "no breakpoint" not in str(error):
                raise
            pytest.skip(str(error))
        output.seek(0)
        base = int(output.read()) // PAGE
    assert result.exit_status == 4
    assert result.origin.kind == "tracked"
    inside = (result.pages.page >= base) & (result.pages.page < base + 100)
    assert (result.pages.page[inside] - base).tolist() == list(range(0, 100, 2))
    [static] = result.static
    assert static.name == "written"
    assert static.writes is not None
    assert (int(static.accesses.sum()), int(static.writes.sum())) == (50, 50)
    again = gn.locality(tmp_path / "kept.gnomon")
    assert again.mappings == result.mappings
    assert again.static[0].name == "written"
    assert any(use.written >= 50 for use in result.mappings)


@needs_tracking
@needs_compiler
def test_a_variable_that_is_not_there_is_said(writer: Path) -> None:
    command = Command((str(writer),), stdout=os.open(os.devnull, os.O_WRONLY))
    result = gn.locality(command, by="pages", static=["nowhere"])
    assert not result.static
    assert any("no variable 'nowhere'" in text for text in result.warnings)


@needs_tracking
def test_a_running_process_is_watched_for_a_time() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        result = gn.locality(Process(process.pid), by="pages", interval="2ms", duration=0.02)
        assert process.poll() is None
        process.kill()
    assert result.exit_status is None
    assert result.duration_ns >= 20_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0x1000-0x2000", (0x1000, 0x2000)),
        ("0x1000+4KiB", (0x1000, 0x2000)),
        ("16+8", (16, 24)),
        ("counter", None),
        ("x+y", None),
    ],
)
def test_ranges_are_read(text: str, expected: tuple[int, int] | None) -> None:
    assert parse_range(text) == expected


@pytest.mark.parametrize("wrong", [{"by": "magic"}, {"period": 0}, {"interval": "10ns"}])
def test_feeds_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        gn.locality(["true"], **wrong)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errno.ENOSYS, "CONFIG_USERFAULTFD"),
        (errno.EINVAL, "Linux 6.7"),
        (errno.EPERM, "forbidden here"),
    ],
)
def test_a_kernel_that_cannot_track_pages_says_why_and_what_else_works(
    error: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native, "page_tracking_error", lambda: error)
    with pytest.raises(NotSupportedError, match=words) as caught:
        gn.locality(["true"], by="pages")
    assert "--by trace" in str(caught.value)


def test_more_static_counters_than_registers_are_refused() -> None:
    with pytest.raises(UsageError, match="4 breakpoint registers"):
        gn.locality(["true"], by="pages", static=list("abcde"))
