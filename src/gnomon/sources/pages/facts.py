"""What this kernel offers for tracking pages, and why not where it does not."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from gnomon import _native
from gnomon.errors import GnomonError, NotPermittedError, NotSupportedError

_CLEAR_REFS = Path("/proc/self/clear_refs")
_SOFT_DIRTY = 1 << 55


def page_tracking_facts() -> dict[str, str]:
    """Return what this kernel offers for tracking pages, each facility with yes or a reason."""
    error = _native.page_tracking_error()
    written = "yes" if error == 0 else _why_not(error)
    reads = (
        "yes, of each mapping as a whole"
        if _CLEAR_REFS.exists()
        else "the kernel was built without CONFIG_PROC_PAGE_MONITOR"
    )
    idle = Path("/sys/kernel/mm/page_idle/bitmap")
    return {
        "written pages (userfaultfd, PAGEMAP_SCAN)": written,
        "referenced mappings (clear_refs, smaps)": reads,
        "soft-dirty pages": "not needed" if error == 0 else _soft_dirty(),
        "idle pages": "yes, for root"
        if idle.exists()
        else "the kernel was built without CONFIG_IDLE_PAGE_TRACKING",
    }


def _soft_dirty() -> str:
    try:
        with Path("/proc/self/pagemap").open("rb") as pagemap:
            pagemap.seek(id(_SOFT_DIRTY) // os.sysconf("SC_PAGE_SIZE") * 8)
            word = int.from_bytes(pagemap.read(8), "little")
    except OSError:
        return "pagemap cannot be read"
    return "yes" if word & _SOFT_DIRTY else "the kernel was built without CONFIG_MEM_SOFT_DIRTY"


def _why_not(error: int) -> str:
    match error:
        case errno.EINVAL | errno.ENOTTY:
            return "the kernel has no PAGEMAP_SCAN with asynchronous protection: Linux 6.7 has"
        case errno.ENOSYS:
            return "the kernel was built without CONFIG_USERFAULTFD"
        case errno.EPERM:
            return "userfaultfd is forbidden here, as it is in some containers"
        case _:
            return os.strerror(error)


def check_kernel() -> None:
    """Raise NotSupportedError where pages cannot be tracked, with the reason."""
    if error := _native.page_tracking_error():
        raise NotSupportedError(
            f"pages cannot be tracked: {_why_not(error)}. Trace the program with --by trace, or "
            "use a simulated machine with --on."
        )


def failure(pid: int, error: OSError) -> GnomonError:
    """Return what to tell a user when a process cannot be tracked."""
    if error.errno in (errno.ESRCH, errno.ECHILD):
        return GnomonError(f"process {pid} ended before its pages could be tracked.")
    if error.errno in (errno.EPERM, errno.EACCES):
        return NotPermittedError(
            f"the pages of process {pid} may not be tracked: run as its owner or as root, and "
            "with no debugger attached to it."
        )
    if error.errno == errno.EBUSY:
        return GnomonError(
            f"process {pid} is stopped, so its pages cannot be tracked: let it run on with "
            f"`kill -CONT {pid}`."
        )
    return NotSupportedError(
        f"the pages of process {pid} cannot be tracked: {os.strerror(error.errno or 0)}."
    )
