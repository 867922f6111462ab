"""Options that commands share: each is spelled and means the same everywhere.

    options.add(parser, "events", "repeat", "campaign", "recorded", repeat=10)      # configure()
    result = options.call(compare, given, a, b, on_progress=show)                   # run()

An option has the name of the parameter of the API that it is passed on as. One that was not given
is not passed on, so that defaults stand in the API alone; help texts name them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.sources.base import Command, Source, Target
    from gnomon.sources.simulated.simulator import Simulator

_Returned = TypeVar("_Returned")
_LARGEST_SEED = 2**63 - 1
_PLACES = (
    "host, valgrind, a simulated machine or its .toml file, cluster:NAME, fabric:NAME, "
    "probe:HOST:PORT"
)

_OPTIONS = {
    "events": ("-e --events", "EVENTS", "events, as in a,b:u,{c,d}"),
    "interval": ("-i --interval", "TIME", "read every TIME, as in 10ms"),
    "cpus": ("-C --cpus", "CPUS", "on these CPUs, as in 0-3,8"),
    "duration": ("-d --duration", "TIME", "stop after TIME, as in 5s"),
    "output": ("-o --output", "REC", "write a recording"),
    "on": ("--on", "WHERE", _PLACES),
    "preset_profile": ("--preset-profile", "NAME", "table of portable event names to use"),
    "timeout": ("--timeout", "TIME", "stop a run after TIME, as in 30s"),
    "input": ("--input", "FILE", "standard input of each run (inherited; empty with -r)"),
    "show_output": ("--show-output", "", "show the program's output of every run, not of one"),
    "repeat": ("-r --repeat", "N", "run N times"),
    "warmup": ("--warmup", "N", "N uncounted runs first (0)"),
    "pid": ("-p --pid", "PID", "in a running process"),
    "run": ("--run", "N", "use run N of the recording"),
    "seed": ("--seed", "N", "seed of random choices"),
    "top": ("-n --top", "N", "show N rows"),
    "all_cpus": ("-a --all-cpus", "", "on all CPUs"),
    "overwrite": ("--force", "", "replace existing files"),
    "resume": ("--resume", "", "continue an interrupted campaign; never start one"),
}
"""Options by the parameters they are: flags, what they take (numbers, texts or nothing), help."""
_NUMBERS = ("N", "PID")
_GROUPS = {
    "simulation": ("on", "seed", "preset_profile"),
    "target": ("all_cpus", "cpus", "pid", "duration", "input"),
    "campaign": ("timeout", "warmup", "show_output", "resume"),
    "recorded": ("output", "overwrite"),
}
_REPLACED = {
    "--source": "--on, as in --on valgrind",
    "--no-valgrind": "--on host",
    "--remote": "--on probe:HOST:PORT",
}


class Joined(argparse.Action):
    """Lists of an option that is given several times, as one list."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Add a list to those before."""
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before},{values}" if before else values)


def add(parser: argparse._ActionsContainer, *names: str, **changes: str | int) -> None:
    """Add shared options, or groups of them; a keyword is a default or another help text."""
    for name in (each for word in names for each in _GROUPS.get(word, (word,))):
        change = changes.pop(name, None)
        text = change if isinstance(change, str) else None
        if name == "looks":
            from gnomon.cli import present

            present.add_options(parser)
        elif name in _OPTIONS:
            flags, metavar, usual = _OPTIONS[name]
            takes: dict[str, Any] = {"metavar": metavar} if metavar else {"action": "store_true"}
            if name == "events":
                takes["action"] = Joined
            if metavar in _NUMBERS:
                takes["type"] = int
            if isinstance(change, int):
                takes["default"], text = change, f"{usual} ({change})"
            parser.add_argument(*flags.split(), dest=name, help=text or usual, **takes)
        else:
            words = argparse.REMAINDER
            parser.add_argument(name, nargs=words, metavar="-- CMD", help=text or "what to run")
    assert not changes, f"no such options: {changes}"


def call(
    function: Callable[..., _Returned],
    given: argparse.Namespace,
    *arguments: object,
    **more: object,
) -> _Returned:
    """Call a function of the API with the options that are parameters of it, as far as given."""
    code = function.__code__
    given_in_place = min(len(arguments), code.co_argcount)
    names = code.co_varnames[given_in_place : code.co_argcount + code.co_kwonlyargcount]
    passed = {name: getattr(given, name, None) for name in names if name not in more}
    passed = {name: value for name, value in passed.items() if value is not None}
    return function(*arguments, **passed, **more)


def refuse_replaced(arguments: Sequence[str]) -> None:
    """Answer to an option that is gone with the one that does the same now."""
    for argument in arguments:
        option = argument.partition("=")[0]
        if option in _REPLACED:
            raise UsageError(f"{option} was replaced by {_REPLACED[option]}.")


def refuse_given(given: argparse.Namespace, *names: str, reason: str) -> None:
    """Refuse options that do not apply here, such as those of runs beside a recording."""
    for name in (each for word in names for each in _GROUPS.get(word, (word,))):
        if getattr(given, name, None):
            flag = _OPTIONS.get(name, (f"--{name}", "", ""))[0].split()[0]
            raise UsageError(f"{flag} {reason}")


def command(given: argparse.Namespace, argv: Sequence[str] | None = None) -> Command:
    """Return the program to run; where stdout is for our data, its output goes to stderr."""
    from gnomon.sources.base import Command

    stdout = 2 if takes_output(given) else None
    return Command(
        tuple(argv or given.argv), stdout=stdout, input=getattr(given, "input", "") or ""
    )


def names(text: str | None, option: str, example: str) -> list[str] | None:
    """Return the names in a list with commas, None without one; it must name something."""
    if text is None:
        return None
    found = [each.strip() for each in text.split(",") if each.strip()]
    if not found:
        raise UsageError(f"{option} is empty: write names as in {example}.")
    return found


def takes_output(given: argparse.Namespace) -> bool:
    """Whether standard output is for data, so that a measured program must not write there."""
    return bool(given.json or getattr(given, "csv", False))


def recorded(given: argparse.Namespace, name: str, does: str) -> tuple[str, ...]:
    """Return the note below a result that was recorded: which command shows it again."""
    if not given.output:
        return ()
    return (f"recorded; `gnomon {name} {with_ending(given.output)}` {does}",)


def target(given: argparse.Namespace, does: str = "measure", *, limited: bool = False) -> Target:
    """Return what is to be counted: a command, a process or CPUs.

    What `does` it asks for one in its name; `limited` measurements end by themselves.
    """
    from gnomon.events.sysfs import parse_cpu_list
    from gnomon.sources.base import Cpus, Process

    cpus, pid = getattr(given, "cpus", None), getattr(given, "pid", None)
    what = command(given) if given.argv else None
    if what is None and getattr(given, "input", None):
        raise UsageError("--input is for a command to run: give one after --.")
    if getattr(given, "all_cpus", False) or cpus is not None:
        if pid is not None:
            raise UsageError("-p counts in a process, -a and -C on whole CPUs: choose one.")
        if not (limited or what or given.duration or sys.stdin.isatty()):
            raise UsageError("no end is given: add --duration, or a command after --.")
        return Cpus(None if cpus is None else parse_cpu_list(cpus), what)
    if pid is not None:
        if what is not None:
            raise UsageError("-p counts in a running process: omit the command.")
        return Process(pid)
    if what is None:
        others = ", or -p PID, or -a" if hasattr(given, "pid") else ""
        raise UsageError(f"nothing to {does}: give a command after --{others}.")
    return what


def chosen_source(given: argparse.Namespace) -> Source:
    """Return the source that --on names, this host without it."""
    from gnomon.sources.registry import source

    return source(given.on, seed=_seed(given), profile=getattr(given, "preset_profile", None))


def source_asked_for(given: argparse.Namespace) -> Source | None:
    """Return the source that --on names, None without it; options for simulations need it."""
    asked = (given.on, _seed(given), getattr(given, "preset_profile", None))
    return None if asked == (None, None, None) else chosen_source(given)


def chosen_machine(given: argparse.Namespace) -> Simulator | None:
    """Return the simulated machine that --on names, None where this host is meant."""
    source = source_asked_for(given)
    if source is None:
        return None
    from gnomon.sources.simulated.simulator import Simulator

    if isinstance(source, Simulator):
        return source
    if source.capabilities.simulated or not source.capabilities.samples:
        raise UsageError(
            f"'{given.on}' is not a machine: choose host, or a simulated machine as in --on ring-4."
        )
    return None


def refuse_without_command(given: argparse.Namespace) -> None:
    """Complain about --on where nothing is run."""
    if given.on is not None and not given.argv:
        raise UsageError("--on is for a command to run: a recording already has its source.")


def checked_seed(seed: int) -> int:
    """Return a seed, or refuse one that is out of range."""
    if not 0 <= seed <= _LARGEST_SEED:
        raise UsageError(f"--seed must be from 0 to 2^63 - 1, not {seed}.")
    return seed


def with_ending(name: str) -> str:
    """Return the name of a recording as it will be on disk."""
    return name.removesuffix(".gnomon") + ".gnomon"


def _seed(given: argparse.Namespace) -> int | None:
    seed: int | None = getattr(given, "seed", None)
    return None if seed is None else checked_seed(seed)
