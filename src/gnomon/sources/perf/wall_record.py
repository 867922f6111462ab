"""What the recorder gathered as a record: names of frames, and what could not be seen, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.recording.tables import clean
from gnomon.recording.wall import (
    KERNEL_OBJECT,
    NO_FUNCTION,
    PYTHON_OBJECT,
    WallFacts,
    WallRecord,
    dtypes,
)
from gnomon.sources.kernel_symbols import KernelSymbols

if TYPE_CHECKING:
    from gnomon.sources.host import Host
    from gnomon.sources.stacks import Stacks

_PYTHON_MODULE = 0xFFFFFFFE
_MOST_TRUNCATED = 0.01
_MOST_SKIPPED = 10  # waits that nobody looked at, before a word is said about it


def make_record(native: _native.WallRecorder, stacks: Stacks, facts: WallFacts) -> WallRecord:
    """Return all that a recorder has gathered, with the names of frames as they are now."""
    import numpy as np

    moment, wait, frame = dtypes()
    texts = [clean(text) for text in native.texts()]
    known = {text: number for number, text in enumerate(texts)}
    ends, parts, rows = _native.stack_table(stacks.library)
    frames = np.zeros(len(rows), frame)
    kernel = KernelSymbols()
    for number, (module, address, quality, exact) in enumerate(rows):
        row = frames[number]
        row["address"], row["quality"], row["exact"] = address, quality, exact
        row["function"], row["name"] = NO_FUNCTION, -1
        name: str | None = None
        if module == _native.KERNEL_MODULE:
            row["object"] = KERNEL_OBJECT
            found = kernel.find(address if exact else address - 1)
            if found is not None:
                name, row["function"] = found
        elif module == _PYTHON_MODULE:
            row["object"] = PYTHON_OBJECT
            name = stacks.functions.function(address >> 32)[0]
        else:
            named = stacks.frame(number)
            row["object"] = module
            name = named.name
            if named.function is not None:
                row["function"] = named.function
        if name is not None:
            if name not in known:
                known[name] = len(texts)
                texts.append(clean(name))
            row["name"] = known[name]
    library = stacks.library
    functions = stacks.functions
    return WallRecord(
        moments=native.moments().view(moment),
        waits=native.waits().view(wait),
        texts=tuple(texts),
        stack_ends=np.frombuffer(ends, np.int64),
        stack_frames=np.frombuffer(parts, np.int32),
        frames=frames,
        objects=tuple(_object(library, number) for number in range(library.objects)),
        functions=tuple(_function(functions, number) for number in range(len(functions))),
        facts=facts,
    )


def _object(library: _native.FrameLibrary, number: int) -> tuple[str, str]:
    path, build_id, _ = library.object(number)
    return clean(path), build_id


def _function(functions: _native.PythonFunctions, number: int) -> tuple[str, str, int]:
    name, file, line = functions.function(number)
    return clean(name), clean(file), line


def limits(native: _native.WallRecorder, rung: str, host: Host) -> tuple[str, list[str]]:
    """Return the rung that the run was on in the end, and what it cannot tell."""
    found: list[str] = []
    if rung == "timer" and native.timed_programs == 0:
        rung = "proc"
        found.append(
            "threads that run have no stacks: no program could be given a timer, as when all of "
            "them are linked statically"
        )
    if rung == "switches" and not native.switches:
        rung = "clocks"
        found.append("changes of a CPU's thread were not recorded: short waits are estimated")
    if rung in ("switches", "clocks"):
        if not native.sees_kernel:
            found.append(
                "what the kernel does for the program has no samples: kernel.perf_event_paranoid "
                f"is {host.paranoid}, and 1 or a capability would allow it"
            )
        if host.architecture != "x86_64":
            found.append(f"there are no stacks of user code on {host.architecture}")
    if native.switches_stopped:
        found.append(
            "threads changed more than 15,000 times a second on a CPU: changes were no longer "
            "recorded from then on, because that would have slowed the program; waits are estimated"
        )
    if native.unrecorded:
        found.append(
            "a program took the rights of another user (setuid), so the kernel ended perf's events "
            "of it: what is known of it comes from /proc"
        )
    if native.refused:
        names = ", ".join(name or "?" for name in native.refused)
        found.append(
            f"what {names} waits for is not shown to this user: run as its owner or as root"
        )
        if not len(native.waits()):
            rung = "totals"
    if native.samples and native.truncated > _MOST_TRUNCATED * native.samples:
        share = 100 * native.truncated / native.samples
        found.append(f"the stacks of {share:.0f} % of the samples are cut short")
    if native.skipped > _MOST_SKIPPED:
        found.append(f"{native.skipped:,} waits were not looked at, to stay within 2 % of a CPU")
    if native.lost or native.dropped:
        found.append(f"{native.lost + native.dropped:,} records were lost")
    if native.left_behind:
        found.append(
            f"{native.left_behind} processes of the program ran on after its end, unrecorded"
        )
    if native.spilled_to:
        found.append(
            f"records went to an unnamed file in {native.spilled_to}, as memory was used up"
        )
    return rung, [re.sub(r"\s+", " ", text) for text in found]
