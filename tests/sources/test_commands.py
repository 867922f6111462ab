"""Starting programs: what they are given, and what is said when they cannot start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gnomon.errors import CommandError
from gnomon.sources.base import Command

from .helpers import as_root, open_counting


def _output(
    argv: tuple[str, ...], environment: Mapping[str, str] | None = None, directory: str = ""
) -> bytes:
    """Run a program under counting and return what it wrote."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as output:
        try:
            with open_counting(
                "task-clock", Command(argv, environment, directory, writer)
            ) as counting:
                counting.start()
                counting.wait()
                assert counting.exit_status == 0
        finally:
            os.close(writer)
        return output.read()


def _refusal(command: Command) -> CommandError:
    with pytest.raises(CommandError) as caught, open_counting("task-clock", command) as counting:
        counting.start()
    return caught.value


def test_a_program_that_is_not_in_path() -> None:
    error = _refusal(Command(("no-such-program",)))
    assert str(error) == (
        "cannot run 'no-such-program': it is not in PATH; check the spelling or give its path, "
        "as in ./program."
    )
    assert error.exit_code == 127


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    program = str(tmp_path / "missing")
    error = _refusal(Command((program,)))
    assert str(error) == (
        f"cannot run '{program}': there is no such file; check the spelling or give its path."
    )
    assert error.exit_code == 127


@pytest.mark.parametrize("mode", [0o644, 0o000])
def test_a_file_that_is_not_executable(tmp_path: Path, mode: int) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(mode)
    error = _refusal(Command((str(program),)))
    assert str(error) == f"cannot run '{program}': it is not an executable file."
    assert error.exit_code == 126


def test_a_folder_is_not_executable(tmp_path: Path) -> None:
    error = _refusal(Command((str(tmp_path),)))
    assert str(error) == f"cannot run '{tmp_path}': it is not an executable file."
    assert error.exit_code == 126


def test_a_script_whose_interpreter_is_missing(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    error = _refusal(Command((str(program),)))
    assert str(error) == (
        f"cannot run '{program}': the interpreter that its first line or its header names is "
        "missing."
    )


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    folder = str(tmp_path / "missing")
    error = _refusal(Command(("/bin/sh", "-c", ":"), None, folder))
    assert str(error) == f"cannot run '/bin/sh': there is no folder '{folder}'."


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.touch()
    error = _refusal(Command(("/bin/sh", "-c", ":"), None, str(folder)))
    assert str(error) == f"cannot run '/bin/sh': there is no folder '{folder}'."


def test_a_folder_in_path_that_may_not_be_searched_does_not_hide_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() == 0:
        # Root may search everything; a file in place of a folder is refused to root as well.
        (tmp_path / "closed").write_text("")
    else:
        (tmp_path / "closed").mkdir(mode=0)
    monkeypatch.setenv("PATH", f"{tmp_path / 'closed'}:{os.environ['PATH']}")
    error = _refusal(Command(("no-such-program",)))
    assert "it is not in PATH" in str(error)
    assert error.exit_code == 127


def test_a_script_in_path_whose_interpreter_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program").write_text("#!/no/such/interpreter\n")
    (tmp_path / "program").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "the interpreter that its first line" in str(_refusal(Command(("program",))))


def test_arguments_that_are_too_long() -> None:
    error = _refusal(Command(("/bin/sh", "-c", ":", "x" * 10_000_000)))
    assert str(error) == "cannot run '/bin/sh': Argument list too long."


def test_the_directory_is_where_the_program_starts(tmp_path: Path) -> None:
    assert _output(("/bin/sh", "-c", "pwd -P"), None, str(tmp_path)) == (
        os.fsencode(tmp_path.resolve()) + b"\n"
    )


def test_a_relative_program_is_looked_up_in_its_directory(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nprintf here\n")
    program.chmod(0o755)
    assert _output(("./program",), None, str(tmp_path)) == b"here"


def test_the_environment_is_ours_unless_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNOMON_TEST", "inherited")
    show = ("/bin/sh", "-c", 'printf %s "${GNOMON_TEST-unset}"')
    assert _output(show) == b"inherited"
    assert _output(show, {"GNOMON_TEST": "given"}) == b"given"
    assert _output(show, {}) == b"unset"


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    odd = os.fsdecode(b"\xff\x80 \xc3\xa4=")
    show = ("/bin/sh", "-c", 'printf %s "$ODD"')
    assert _output(show, {"ODD": odd}) == b"\xff\x80 \xc3\xa4="
    assert _output(("/bin/sh", "-c", 'printf %s "$1"', "sh", odd)) == b"\xff\x80 \xc3\xa4="


def test_empty_arguments_are_kept() -> None:
    assert _output(("/bin/sh", "-c", 'printf "%s." "$@"', "sh", "", "a", "")) == b".a.."


def test_signals_are_as_a_shell_leaves_them() -> None:
    script = (
        "import signal; print([n.name for n in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT)"
        " if n in signal.pthread_sigmask(signal.SIG_BLOCK, [])])"
    )
    assert _output((sys.executable, "-c", script)) == b"[]\n"
    status = Path("/proc/self/status")
    ignored = _output(("/bin/sh", "-c", f"while read a b; do echo $a $b; done < {status}"))
    [line] = [line for line in ignored.decode().splitlines() if line.startswith("SigIgn")]
    assert int(line.split()[1], 16) & (1 << 12 | 1 << 24) == 0  # SIGPIPE and SIGXFSZ


def test_no_descriptor_of_ours_reaches_the_program() -> None:
    listing = ("/bin/sh", "-c", "echo /proc/self/fd/*")
    by_itself = subprocess.run(listing, capture_output=True, check=True, close_fds=False)
    assert _output(listing).split() == by_itself.stdout.split()


@as_root
def test_running_out_of_descriptors_is_an_error_of_ours() -> None:
    from .helpers import run_python

    outcomes = run_python(
        """
        import json, os, resource
        from gnomon.errors import GnomonError
        from gnomon.events.syntax import parse_events
        from gnomon.sources.base import Command, Thread
        from gnomon.sources.perf.source import PerfSource

        source = PerfSource()
        groups = parse_events("task-clock,page-faults,context-switches", source.resolve)
        source.host.online_cpus, source.has_core_pmu
        outcomes = []
        held = len(os.listdir("/proc/self/fd")) - 1
        for spare in range(12):
            resource.setrlimit(resource.RLIMIT_NOFILE, (held + spare, 4096))
            for target in (Thread(), Command(("/bin/sh", "-c", ":"))):
                try:
                    with source.open(groups, target) as counting:
                        outcomes.append([len(counting.refused), "; ".join(counting.warnings)])
                except GnomonError as error:
                    outcomes.append([-1, str(error)])
        print(json.dumps(outcomes))
        """
    )
    assert any(count == 0 for count, _ in outcomes)
    refused = [text for count, text in outcomes if count > 0]
    assert refused
    assert all("too many files are open" in text for text in refused)
    failed = [text for count, text in outcomes if count < 0]
    assert failed
    assert all("Too many open files" in text for text in failed)
