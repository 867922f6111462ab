"""Boot a guest in QEMU and collect what it reports.

Processors are emulated in software (TCG), which is what gives an arm64 guest a PMU on any host.
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
from .architectures import AMD64, ARM64, Architecture

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
    idle_nodes: int = 0  # of the nodes, the last ones have memory alone
    hmat: bool = False  # whether firmware tells latencies and bandwidths; x86_64 only
    architecture: Architecture = ARM64

    def __post_init__(self) -> None:
        if self.smp % (self.nodes - self.idle_nodes) or self.memory % self.nodes:
            raise ValueError(f"{self.smp} CPUs, {self.memory} MiB: not the same for each node")

    def arguments(self) -> list[str]:
        """The machine as QEMU's options."""
        sockets = self.nodes - self.idle_nodes
        topology = f"{self.smp},sockets={sockets},cores={self.smp // sockets},threads=1"
        kind, cpu = ("q35", "max") if self.architecture is AMD64 else ("virt", "cortex-a57")
        arguments = ["-M", f"{kind},hmat=on" if self.hmat else kind, "-accel", "tcg"]
        arguments += ["-cpu", cpu, "-smp", topology, "-m", f"{self.memory}M"]
        if self.icount is not None:
            # Without sleeping, idle time passes at once: a guest that waits costs nothing.
            arguments += ["-icount", f"shift={self.icount},sleep=off"]
        if self.nodes > 1:
            arguments += self._numa()
        return arguments

    def _numa(self) -> list[str]:
        busy = self.nodes - self.idle_nodes
        per_node = self.smp // busy
        size = self.memory // self.nodes
        arguments = []
        for node in range(self.nodes):
            first = node * per_node
            cpus = f",cpus={first}-{first + per_node - 1}" if node < busy else ""
            # HMAT wants to know who reads the memory of a node that cannot do so itself.
            reader = f",initiator={self.nearest(node)}" if self.hmat else ""
            arguments += ["-object", f"memory-backend-ram,size={size}M,id=memory{node}"]
            arguments += ["-numa", f"node,nodeid={node},memdev=memory{node}{cpus}{reader}"]
        for source, target in itertools.product(range(self.nodes), repeat=2):
            distance = self.distance(source, target)
            arguments += ["-numa", f"dist,src={source},dst={target},val={distance}"]
        if self.hmat:
            for source, target in itertools.product(range(busy), range(self.nodes)):
                common = f"hmat-lb,initiator={source},target={target},hierarchy=memory"
                latency, rate = self.latency(source, target), self.bandwidth(source, target)
                arguments += ["-numa", f"{common},data-type=access-latency,latency={latency}"]
                arguments += ["-numa", f"{common},data-type=access-bandwidth,bandwidth={rate}M"]
        return arguments

    def distance(self, source: int, target: int) -> int:
        """The distance between two nodes, which form a ring: 10, then 6 more for each hop."""
        return 10 + 6 * self._hops(source, target)

    def latency(self, source: int, target: int) -> int:
        """What HMAT says of a read, in ns; the home's number tells homes apart."""
        return 80 + 70 * self._hops(source, target) + target

    def bandwidth(self, source: int, target: int) -> int:
        """What HMAT says of reads, in MB/s."""
        return 40_000 // (1 + self._hops(source, target)) - 1000 * target

    def nearest(self, node: int) -> int:
        """The node with processors that has the shortest way to a node's memory."""
        readers = range(self.nodes - self.idle_nodes)
        return min(readers, key=lambda reader: self.latency(reader, node))

    def _hops(self, source: int, target: int) -> int:
        apart = abs(source - target)
        return min(apart, self.nodes - apart)


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


def require(architecture: Architecture) -> None:
    """Raise ``GuestUnavailable`` if there is no QEMU."""
    if shutil.which(architecture.qemu) is None:
        raise GuestUnavailable(
            f"{architecture.qemu} is not installed (Debian: {architecture.qemu_package})"
        )


def boot(kernel: Path, initrd: IO[bytes], machine: Machine, *, timeout: float) -> GuestResult:
    """Boot a kernel with an initramfs and wait until the guest powers off.

    Files between here and the guest have no name and QEMU ends with this process, so that
    nothing is left behind even if this process is killed.
    """
    with tempfile.TemporaryFile() as console, tempfile.TemporaryFile() as port:
        kind = machine.architecture
        command = [
            kind.qemu,
            *machine.arguments(),
            "-kernel",
            str(kernel),
            "-initrd",
            _name(initrd),
        ]
        command += ["-append", f"{kind.parameters} quiet panic=-1"]
        command += ["-nodefaults", "-display", "none", "-no-reboot"]
        command += ["-serial", f"file:{_name(console)}"]
        command += ["-device", kind.serial]
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
