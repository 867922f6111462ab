#!/usr/bin/python3.11 -IS
"""The first process of the guest: prepare the system, run the job, power off.

It stands alone, because it becomes ``/init`` of the image, and it speaks to the host through a
virtio port, one JSON object a line, so that no message of the kernel can mix with results.
"""

# Every boot waits for these imports, so they are few: pathlib alone takes 0.2 s under emulation.
# ruff: noqa: PTH103, PTH123, PTH208

import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
import time

JOB = "/job.json"
PORTS = "/sys/class/virtio-ports"
PORT_ATTEMPTS = 1000
MODULES = "/lib/modules"  # their names begin with their place in the order of loading
MOUNTS = (
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
)

_SYS_FINIT_MODULE = {"aarch64": 273, "x86_64": 313}
_LINUX_REBOOT_CMD_POWER_OFF = 0x4321FEDC
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Run the job that the image holds and report how it ended."""
    for kind, where in MOUNTS:
        os.makedirs(where, exist_ok=True)
        _check(_libc.mount(kind.encode(), where.encode(), kind.encode(), 0, None), where)
    for name in sorted(os.listdir(MODULES)):
        _load_module(f"{MODULES}/{name}")
    socket.sethostname("guest")
    _bring_up_loopback()
    port = _open_port()
    status = _run_job(port)
    os.write(port, json.dumps({"exit": status}).encode() + b"\n")
    os.sync()
    _libc.reboot(_LINUX_REBOOT_CMD_POWER_OFF)


def _load_module(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    _check(_libc.syscall(_SYS_FINIT_MODULE[os.uname().machine], handle, b"", 0), path)
    os.close(handle)


def _bring_up_loopback() -> None:
    request = struct.pack("16sh14x", b"lo", _IFF_UP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, _SIOCSIFFLAGS, request)


def _open_port() -> int:
    # The port appears, and its other end is announced, some time after the module is loaded.
    for _ in range(PORT_ATTEMPTS):
        with contextlib.suppress(OSError, IndexError):
            return os.open(f"/dev/{os.listdir(PORTS)[0]}", os.O_WRONLY)
        time.sleep(0.01)
    raise OSError(f"no port to the host in {PORTS}")


def _run_job(port: int) -> int:
    """Run the job as a child and return its exit status, or minus the signal that ended it."""
    with open(JOB, encoding="utf-8") as text:
        job = json.load(text)
    # The port can be open only once: the job inherits the descriptor.
    os.set_inheritable(port, True)
    environment = {
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "PATH": "/usr/sbin:/usr/bin",
        "GNOMON_GUEST_PORT": str(port),
        **job["environment"],
    }
    os.chdir(job["folder"])
    child = os.posix_spawn(job["command"][0], job["command"], environment)
    while True:
        # Whoever loses its parent becomes our child and has to be waited for as well.
        process, status = os.wait()
        if process == child:
            return os.waitstatus_to_exitcode(status)


def _check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what)


if __name__ == "__main__":
    # On any other system this would mount over it and switch it off.
    if os.getpid() != 1:
        sys.exit("this is the first process of a test guest and runs as nothing else")
    main()
