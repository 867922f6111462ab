"""Where files are written: beside what they replace, through what is no file, never over it."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gnomon.errors import GnomonError, UsageError
from gnomon.recording.files import check_new, replacing_text

GNOMON = [sys.executable, "-m", "gnomon"]


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _write(path: Path, text: str) -> None:
    with replacing_text(path) as stream:
        stream.write(text)


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A null device of our own: a mistake must not replace that of the machine."""
    path = tmp_path / "null"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root may make devices")
    return path


def test_a_device_is_written_through_and_stays_a_device(device: Path, tmp_path: Path) -> None:
    check_new(device, "the page", force=False)
    _write(device, "gone")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert _names(tmp_path) == ["null"]


def test_a_fifo_gets_what_is_written(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()))
    reader.start()
    check_new(fifo, "the page", force=True)
    _write(fifo, "through")
    reader.join(60)
    assert read == ["through"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_of_a_link_the_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "page.html", tmp_path / "link.html"
    link.symlink_to("elsewhere/page.html")
    _write(link, "one")  # also where nothing is there yet
    assert target.read_text() == "one"
    with pytest.raises(UsageError, match="already exists"):
        check_new(link, "the page", force=False)
    _write(link, "two")
    assert link.is_symlink()
    assert target.read_text() == "two"
    assert _names(tmp_path / "elsewhere") == ["page.html"]


def test_a_link_into_nowhere_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to("missing/page.html")
    with pytest.raises(UsageError, match="there is no folder"):
        check_new(link, "the page", force=True)


def test_what_stands_at_a_name_that_is_easily_foreseen_is_left_alone(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".part-page.html").symlink_to(victim)
    _write(tmp_path / "page.html", "page")
    assert victim.read_text() == "precious"
    assert (tmp_path / "page.html").read_text() == "page"


def test_files_get_the_rights_that_new_files_have(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        _write(tmp_path / "page.html", "page")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing_text(path) as stream:
        stream.write("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert _names(tmp_path) == ["page.html"]


def test_a_socket_cannot_be_written_and_says_so(tmp_path: Path) -> None:
    import socket

    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(path))
        with pytest.raises((GnomonError, OSError)):
            _write(path, "page")
    assert stat.S_ISSOCK(path.stat().st_mode)


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_page_goes_to_the_standard_output_in_its_place(
    tmp_path: Path, force: tuple[str, ...]
) -> None:
    log = tmp_path / "log"
    with log.open("w") as stream:
        stream.write("before\n")
        stream.flush()
        command = [*GNOMON, "sim", "show", "ring-4", "--html", "/dev/stdout", *force]
        done = subprocess.run(
            command, stdout=stream, stderr=subprocess.PIPE, text=True, check=False
        )
        if force and done.returncode == 2:
            pytest.skip("the command has no --force")
        assert done.returncode == 0, done.stderr
        stream.seek(0, os.SEEK_END)
        stream.write("after\n")
    text = log.read_text()
    assert text.startswith("before\n")
    assert "<html" in text
    assert text.endswith("after\n")


def test_every_way_to_name_an_output_leaves_a_device_in_place(device: Path) -> None:
    for command in (
        ["doctor", "--html", str(device)],
        ["sim", "show", "ring-4", "--svg", str(device), "--force"],
        ["count", "-e", "task-clock", "--html", str(device), "--force", "--", "true"],
    ):
        done = subprocess.run([*GNOMON, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
        assert stat.S_ISCHR(device.stat().st_mode), command
