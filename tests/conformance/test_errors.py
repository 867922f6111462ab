"""What cannot be done is said in one sentence, as one of the few errors a user sees."""

from __future__ import annotations

import os

import pytest

from gnomon.errors import CommandError, GnomonError, UnknownEventError, UsageError
from gnomon.sources.base import Command, Cpus, Process, Thread

from .case import Bench
from .checks import check_one_sentence


def _ended_pid() -> int:
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {})
    os.waitpid(pid, 0)
    return pid


def test_an_unknown_event_is_named_in_the_error(bench: Bench) -> None:
    with pytest.raises(UnknownEventError) as caught:
        bench.source.resolve(bench.case.unknown)
    assert caught.value.name == bench.case.unknown
    assert bench.case.unknown in str(caught.value)
    check_one_sentence(caught.value)


def test_a_slip_of_the_pen_brings_the_right_name(bench: Bench) -> None:
    name = bench.case.events[0].partition(":")[0]
    with pytest.raises(UnknownEventError) as caught:
        bench.source.resolve(name[:-2] + name[-1] + name[-2])
    assert any(name in suggestion for suggestion in caught.value.suggestions)


@pytest.mark.parametrize("name", ["", " ", ":", "a:b", "/", "//", "\0", "ä:ö", "x" * 5000])
def test_nonsense_names_are_errors_of_ours(bench: Bench, name: str) -> None:
    with pytest.raises(GnomonError):
        bench.source.resolve(name)


@pytest.mark.parametrize("name", ["a:" + "x" * 5000, "a/b/", "a\0:b"])
def test_nonsense_names_with_punctuation_are_errors_of_ours(bench: Bench, name: str) -> None:
    with pytest.raises(GnomonError):
        bench.source.resolve(name)


def test_a_process_that_ended_cannot_be_counted(bench: Bench) -> None:
    if not bench.case.processes:
        pytest.skip("the source cannot count processes")
    pid = _ended_pid()
    with pytest.raises(GnomonError, match=str(pid)) as caught:
        bench.open(Process(pid))
    check_one_sentence(caught.value)


def test_a_thread_that_ended_cannot_be_counted(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    tid = _ended_pid()
    with pytest.raises(GnomonError, match=str(tid)) as caught:
        bench.open(Thread(tid))
    check_one_sentence(caught.value)


@pytest.mark.parametrize("number", [-1, 0, 2**31, 2**70])
def test_impossible_process_numbers_are_errors_of_ours(bench: Bench, number: int) -> None:
    if not bench.case.processes:
        pytest.skip("the source cannot count processes")
    with pytest.raises(GnomonError) as caught:
        bench.open(Process(number))
    check_one_sentence(caught.value)


@pytest.mark.parametrize("number", [-1, 2**31, 2**70])
def test_impossible_thread_numbers_are_errors_of_ours(bench: Bench, number: int) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    with pytest.raises(GnomonError) as caught:
        bench.open(Thread(number))
    check_one_sentence(caught.value)


@pytest.mark.parametrize("cpus", [(), (-1,), (100_000,), (0, 2**40)])
def test_cpus_that_are_not_there_are_usage_errors(bench: Bench, cpus: tuple[int, ...]) -> None:
    if not bench.case.cpus:
        pytest.skip("the source cannot count whole CPUs")
    with pytest.raises(UsageError) as caught:
        bench.open(Cpus(cpus))
    check_one_sentence(caught.value)


@pytest.mark.parametrize("argv", [(), ("",), ("/no/such/program",), ("no-such-program-anywhere",)])
def test_a_command_that_cannot_start_says_so(bench: Bench, argv: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as caught, bench.open(Command(argv)) as counting:
        counting.start()
    check_one_sentence(caught.value)
    assert caught.value.exit_code == 127


def test_a_command_that_cannot_start_ends_its_ticks(bench: Bench) -> None:
    for _ in range(20):
        with (
            pytest.raises(CommandError),
            bench.open(Command(("/no/such/program",))) as counting,
        ):
            list(counting.ticks(50_000, lambda: False))


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_arguments_that_no_program_can_get_are_refused(bench: Bench, text: str) -> None:
    if not bench.case.runs_programs:
        pytest.skip("the source runs no programs")
    for command in (
        Command(("/bin/sh", "-c", ":", text)),
        Command(("/bin/sh", "-c", ":"), {"NAME": text}),
        Command(("/bin/sh", "-c", ":"), None, text),
    ):
        with pytest.raises(CommandError) as caught:
            bench.open(command)
        check_one_sentence(caught.value)
