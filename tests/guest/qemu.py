"""Boot a guest in QEMU and collect what it reports.

Processors are emulated in software (TCG), which is what gives the guest a PMU on any host.
"""

import ctypes
import itertools
import json
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from . import GuestUnavailable

QEMU = "qemu-system-aarch64"

_CONSOLE_TAIL = 40  # lines
_PR_SET_PDEATHSIG = 1
# Looked up here: there is little that a process may do between its start and its program.
_SIGKILL = int(signal.SIGKILL)
_libc = ctypes.CDLL(None)


class GuestError(Exception):
    """A guest did not finish its job, or the job failed; the message ends with the console."""


@dataclass(frozen=True)
class Machine:
    """The emulated machine.

    ``icount`` fixes the virtual time of an instruction to ``2**icount`` ns, which makes
    instructions countable and, on one processor, repeatable. With ``None`` processors run in
    parallel on the host's clock and the PMU has no ``instructions`` event.
    """

    smp: int = 1
    nodes: int = 1
    icount: int | None = 0
    memory: int = 1024  # MiB, of all nodes together
    cpu: str = "cortex-a57"

    def __post_init__(self) -> None:
        if self.smp % self.nodes or self.memory % self.nodes:
            raise ValueError(f"{self.smp} CPUs, {self.memory} MiB: not the same for each node")

    def arguments(self) -> list[str]:
        """The machine as QEMU's options."""
        per_node = self.smp // self.nodes
        topology = f"{self.smp},sockets={self.nodes},cores={per_node},threads=1"
        arguments = ["-M", "virt", "-cpu", self.cpu, "-smp", topology, "-m", f"{self.memory}M"]
        if self.icount is not None:
            # Without sleeping, idle time passes at once: a guest that waits costs nothing.
            arguments += ["-icount", f"shift={self.icount},sleep=off"]
        if self.nodes > 1:
            arguments += self._numa()
        return arguments

    def _numa(self) -> list[str]:
        per_node = self.smp // self.nodes
        size = self.memory // self.nodes
        arguments = []
        for node in range(self.nodes):
            cpus = f"{node * per_node}-{(node + 1) * per_node - 1}"
            arguments += ["-object", f"memory-backend-ram,size={size}M,id=memory{node}"]
            arguments += ["-numa", f"node,nodeid={node},memdev=memory{node},cpus={cpus}"]
        for source, target in itertools.product(range(self.nodes), repeat=2):
            distance = self.distance(source, target)
            arguments += ["-numa", f"dist,src={source},dst={target},val={distance}"]
        return arguments

    def distance(self, source: int, target: int) -> int:
        """The distance between two nodes, which form a ring: 10, then 6 more for each hop."""
        hops = abs(source - target)
        return 10 + 6 * min(hops, self.nodes - hops)


@dataclass(frozen=True)
class GuestResult:
    """What a guest left behind."""

    exit_status: int  # of the job; minus the number of the signal that ended it
    results: list[Any]  # what the job emitted, in order
    console: str
    seconds: float  # of the host, from start to power-off

    @property
    def console_tail(self) -> str:
        """The last lines of the console, for messages."""
        return _tail(self.console)


def require() -> None:
    """Raise ``GuestUnavailable`` if there is no QEMU."""
    if shutil.which(QEMU) is None:
        raise GuestUnavailable(f"{QEMU} is not installed (Debian: qemu-system-arm)")


def boot(kernel: Path, initrd: IO[bytes], machine: Machine, *, timeout: float) -> GuestResult:
    """Boot a kernel with an initramfs and wait until the guest powers off.

    Files between here and the guest have no name and QEMU ends with this process, so that
    nothing is left behind even if this process is killed.
    """
    with tempfile.TemporaryFile() as console, tempfile.TemporaryFile() as port:
        command = [QEMU, *machine.arguments(), "-kernel", str(kernel), "-initrd", _name(initrd)]
        command += ["-append", "console=ttyAMA0 quiet panic=-1"]
        command += ["-nodefaults", "-display", "none", "-no-reboot"]
        command += ["-serial", f"file:{_name(console)}"]
        command += ["-device", "virtio-serial-device"]
        command += ["-chardev", f"file,id=port,path={_name(port)}"]
        command += ["-device", "virtserialport,chardev=port"]
        start = time.monotonic()
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
                pass_fds=[file.fileno() for file in (initrd, console, port)],
                preexec_fn=_end_with_parent,
            )
        except subprocess.TimeoutExpired:
            raise GuestError(f"no end after {timeout:g} s\n{_tail(_text(console))}") from None
        seconds = time.monotonic() - start
        if done.returncode != 0:
            raise GuestError(f"QEMU failed: {done.stderr.strip()}\n{_tail(_text(console))}")
        return _result(_text(port), _text(console), seconds)


def _end_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends, in whatever way."""
    _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def _name(file: IO[bytes]) -> str:
    """The name by which QEMU finds an open file that it inherits."""
    return f"/proc/self/fd/{file.fileno()}"


def _result(port: str, console: str, seconds: float) -> GuestResult:
    messages = [json.loads(line) for line in port.splitlines()]
    if not messages or "exit" not in messages[-1]:
        raise GuestError(f"the guest ended before its job did\n{_tail(console)}")
    results = [message["result"] for message in messages if "result" in message]
    return GuestResult(messages[-1]["exit"], results, console, seconds)


def _text(file: IO[bytes]) -> str:
    # A terminal's line ends, and whatever bytes a crash may have left.
    file.seek(0)
    return file.read().decode(errors="replace").replace("\r\n", "\n")


def _tail(console: str) -> str:
    lines = console.splitlines()[-_CONSOLE_TAIL:]
    return "\n".join(["console of the guest:", *(f"  {line}" for line in lines)])
