"""Ctrl-C and SIGTERM while a campaign runs a program: orderly first, at once when asked again."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
from typing import Any, NamedTuple

import pytest

MEASURE = textwrap.dedent(
    """
    import json, sys
    import gnomon as gn

    interval = int(sys.argv[1]) or None
    result = gn.count(["/bin/sh", "-c", sys.argv[2]], "task-clock", repeat=3, interval=interval)
    print(json.dumps({
        "interrupted": result.interrupted,
        "exit_status": result.exit_status,
        "runs": len(result.runs),
        "values": [line.value for line in result.counts],
    }), flush=True)
    """
)
INTERVALS = pytest.mark.parametrize("interval", [0, 5_000_000], ids=["whole", "intervals"])


class Measuring:
    """A Python that measures a shell script, with the script's output as its own."""

    def __init__(self, script: str, interval: int) -> None:
        # A session of its own has no terminal, so that signals come from this test only.
        self.process = subprocess.Popen(
            [sys.executable, "-c", MEASURE, str(interval), script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # where the output of several runs goes
            text=True,
            start_new_session=True,
        )

    def hear(self, word: str) -> None:
        """Wait until the script says a word."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == word

    def result(self) -> Any:
        """Return what came out."""
        output, _ = self.process.communicate()
        assert self.process.returncode == 0
        return json.loads(output.splitlines()[-1])


@INTERVALS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_reaches_the_program_and_readings_come_out(
    number: signal.Signals, interval: int
) -> None:
    name = number.name.removeprefix("SIG")
    measuring = Measuring(f"trap 'exit 42' {name}; echo ready; while :; do :; done", interval)
    measuring.hear("ready")
    measuring.process.send_signal(number)
    result = measuring.result()
    assert result["interrupted"]
    assert result["exit_status"] == 42
    assert result["runs"] == 1
    assert sum(result["values"]) > 0


@INTERVALS
def test_the_second_signal_ends_a_program_that_does_not_listen(interval: int) -> None:
    measuring = Measuring("trap 'echo heard' INT; echo ready; while :; do :; done", interval)
    measuring.hear("ready")
    measuring.process.send_signal(signal.SIGINT)
    measuring.hear("heard")
    measuring.process.send_signal(signal.SIGINT)
    result = measuring.result()
    assert result["interrupted"]
    assert result["exit_status"] == 128 + signal.SIGKILL
    assert sum(result["values"]) > 0


def test_a_program_that_is_interrupted_may_finish_in_peace() -> None:
    measuring = Measuring(
        "trap 'echo heard; i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; exit 5' INT; "
        "echo ready; while :; do :; done",
        0,
    )
    measuring.hear("ready")
    measuring.process.send_signal(signal.SIGINT)
    measuring.hear("heard")
    assert measuring.result()["exit_status"] == 5


class Heard(NamedTuple):
    """What came over a terminal."""

    text: str
    status: int


def _at_a_terminal(script: str, interval: int) -> Heard:
    """Measure a script at a terminal of its own and press Ctrl-C when it says that it is ready."""
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.execv(sys.executable, [sys.executable, "-c", MEASURE, str(interval), script])
        finally:
            os._exit(127)
    text = b""
    pressed = False
    with os.fdopen(terminal, "r+b", buffering=0) as stream:
        while True:
            try:
                part = stream.read(1024)
            except OSError:  # the other side has gone
                break
            if not part:
                break
            text += part
            if b"ready" in text and not pressed:
                stream.write(b"\x03")
                pressed = True
    _, status = os.waitpid(pid, 0)
    return Heard(text.decode(), os.waitstatus_to_exitcode(status))


@INTERVALS
def test_the_key_at_a_terminal_interrupts_once(interval: int) -> None:
    # The terminal itself signals both; a second signal from us would make it two.
    count = (
        "import signal, time; n = []; "
        "signal.signal(signal.SIGINT, lambda *_: n.append(1)); print('ready', flush=True)\n"
        "while not n: time.sleep(0.01)\n"
        "time.sleep(0.3); raise SystemExit(len(n))"
    )
    heard = _at_a_terminal(f'exec "{sys.executable}" -c "{count}"', interval)
    assert heard.status == 0, heard.text
    result = json.loads(heard.text[heard.text.index("{") :])  # the key itself shows as ^C
    assert result["interrupted"]
    assert result["exit_status"] == 1


def test_handlers_are_put_back_afterwards() -> None:
    from gnomon.measure.run import Stopper

    before = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
    with Stopper().installed() as stopper:
        assert signal.getsignal(signal.SIGTERM) not in before
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopper.requested
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_outside_the_main_thread_no_handler_is_touched() -> None:
    import threading

    from gnomon.measure.run import Stopper

    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def enter() -> None:
        with Stopper().installed():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]
