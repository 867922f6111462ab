"""Names for what is accessed: arrays of a workload, variables of a program, its allocations.

What is allocated is named by its site: the function and the line of the program's own code.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from gnomon.analysis.locality.objects import allocated_objects, process_objects, program_objects
from gnomon.errors import GnomonError, NotSupportedError
from gnomon.sources.base import Process

if TYPE_CHECKING:
    from gnomon.analysis.locality.result import DataObject
    from gnomon.launch import Command
    from gnomon.sources.allocation_log import AllocationLog, Allocations
    from gnomon.sources.sampling import Place

_WORKLOAD = "workload:"
_SYSTEM = "/usr/"  # where headers are whose inlined code allocates for others
_BEFORE_MAIN = ("_start", "__libc_start_main", "__libc_start_call_main")
_SECONDS = 30.0


class Naming:
    """What is run so that its objects can be named: ask for them when it has ended.

    A command notes its allocations while it runs; `target` is that command. Of a process that
    runs already only variables and mappings are known. `notes` says what has no name, and why.
    """

    def __init__(self, target: Command | Process, *, seed: int = 1) -> None:
        self.target: Command | Process = target
        self.notes: tuple[str, ...] = ()
        self._log: AllocationLog | None = None
        self._known: tuple[DataObject, ...] = ()
        if isinstance(target, Process):
            self._known = process_objects(target.pid)
            self.notes = ("what the process had allocated before has no name.",)
        elif target.argv and target.argv[0].startswith(_WORKLOAD):
            self._known = _arrays(target, seed)
        else:
            self._prepare(target)

    def _prepare(self, command: Command) -> None:
        from gnomon.sources.allocation_log import AllocationLog

        try:
            self._log = AllocationLog()
        except NotSupportedError as error:
            self.notes = (f"objects have no names: {error}",)
            return
        variables = self._log.environment(command.environment, _program(command))
        self.target = replace(command, environment=variables)

    def objects(self) -> tuple[DataObject, ...]:
        """Return what there was, once the program has ended."""
        if self._log is None:
            return self._known
        allocations = self._log.read()
        if not allocations.attached:
            self.notes = (
                "objects have no names: the program did not load the library that notes "
                "allocations, as programs that are linked statically do not.",
            )
            return ()
        if allocations.missed:
            self.notes = (
                f"{allocations.missed:,} allocations and releases were too many to be noted: "
                "what they allocated has no name.",
            )
        return allocated_objects(allocations)

    def close(self) -> None:
        """Remove what was noted."""
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _arrays(command: Command, seed: int) -> tuple[DataObject, ...]:
    from gnomon.machines.workloads import build, parse_workload

    try:
        name, parameters = parse_workload(command.argv)
        return program_objects(build(name, parameters, seed=seed))
    except GnomonError:
        return ()  # running it will say what is wrong


def _program(command: Command) -> Path | None:
    """Return the file of the program itself, None when an interpreter will run it."""
    from gnomon.machines.tracing.traced import program_file, read_binary

    try:
        path = program_file(command).resolve()
        read_binary(path)
    except GnomonError:
        return None  # a script; or starting it will say what is wrong
    return path


# ---- allocation sites -------------------------------------------------------------------------


class Site(NamedTuple):
    """Who allocates: a function, and a line of source code if it is known."""

    function: str
    line: str
    of_library: bool = False  # code of a header that was compiled into the program

    @property
    def name(self) -> str:
        """What is allocated there is called this."""
        return f"allocated in {self.function}" if self.function else "allocated somewhere"


def sites_of(allocations: Allocations, program: str) -> dict[tuple[int, ...], Site]:
    """Return the site of each chain of callers: the first that is the program's own code."""
    from gnomon.instrument.symbols import AddressSpace

    space = AddressSpace()
    for mapping in allocations.mappings:
        if "x" in mapping.rights:
            space.add(mapping.start, mapping.end, mapping.offset, mapping.name)
    chains = {each.callers for each in allocations.all}
    # A return address is behind the call.
    places = {caller: space.find(caller - 1) for callers in chains for caller in callers}
    sites = {caller: _site(place) for caller, place in places.items()}
    unclear = {
        caller: caller - 1 - allocations.base
        for caller, place in places.items()
        if place.module == program
        and (place.source.startswith(_SYSTEM) or place.function.startswith("_Z"))
    }
    sites |= _inlined(program, unclear)

    def chosen(callers: tuple[int, ...]) -> Site:
        # An interpreter may have all its code in a library: its start is no site.
        own = [
            sites[c]
            for c in callers
            if places[c].module == program and places[c].function not in _BEFORE_MAIN
        ]
        written = [site for site in own if not site.of_library]
        every = [*written, *own, *(sites[c] for c in callers)]
        return every[0] if every else Site("", "")

    return {callers: chosen(callers) for callers in chains}


def _site(place: Place) -> Site:
    line = _line(place.source, place.line)
    nameless = place.function.startswith("+")  # an offset into a file without symbols
    function = f"{Path(place.module).name}{place.function}" if nameless else place.function
    return Site(function, line, place.source.startswith(_SYSTEM))


def _line(source: str, line: int) -> str:
    return f"{Path(source).name}:{line}" if source else ""


def _inlined(program: str, unclear: dict[int, int]) -> dict[int, Site]:
    """Ask binutils where functions were inlined that allocate, and what their names mean.

    `unclear` are callers with their addresses in the program's file.
    """
    tool = shutil.which("addr2line")
    if tool is None or not unclear:
        return {}
    addresses = sorted(set(unclear.values()))
    asked = "".join(f"{address:#x}\n" for address in addresses)
    try:
        done = subprocess.run(
            [tool, "-a", "-f", "-i", "-C", "-e", program],
            input=asked,
            capture_output=True,
            text=True,
            check=False,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    chains = _chains(done.stdout)
    return {
        caller: site
        for caller, address in unclear.items()
        if (site := _own_site(chains.get(address, []))) is not None
    }


def _chains(text: str) -> dict[int, list[tuple[str, str]]]:
    """Return functions and their lines, the innermost first, of each address."""
    found: dict[int, list[tuple[str, str]]] = {}
    function = ""
    for text_line in text.splitlines():
        if text_line.startswith("0x"):
            chain = found.setdefault(int(text_line, 16), [])
            function = ""
        elif not function:
            function = text_line
        else:
            chain.append((function, text_line.partition(" (discriminator")[0]))
            function = ""
    return found


def _own_site(chain: list[tuple[str, str]]) -> Site | None:
    """Return the first function that is not a library's; the outermost when all are."""
    known = [(function, line) for function, line in chain if function != "??"]
    for function, line in known:
        if not line.startswith((_SYSTEM, "?")):
            return Site(_without_arguments(function), Path(line).name)
    if not known:
        return None
    function, line = known[-1]
    place = "" if line.startswith("?") else Path(line).name
    return Site(_without_arguments(function), place, line.startswith(_SYSTEM))


def _without_arguments(function: str) -> str:
    """Return the name of a C++ function without its arguments, which are long."""
    depth = 0
    for at, letter in enumerate(function):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0 and not function.startswith("(anonymous", at):
            return function[:at]
    return function
