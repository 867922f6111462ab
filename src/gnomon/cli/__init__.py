"""The command line: finds the command, runs it, and turns errors into one clear sentence."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, TextIO, cast

from gnomon import __version__
from gnomon.errors import GnomonError, UsageError

# Commands by what they are for. Their modules are imported only when they are used: `gnomon
# --help` must be instant.
_GROUPS = {
    "start here": {
        "doctor": "show what this machine can measure, and why not the rest",
        "events": "list events, look one up, or see which can be counted here",
    },
    "measure a program": {
        "survey": "measure every event of a program and rank them by cost",
        "count": "count events while a program runs",
        "compare": "compare two versions of a program, event by event",
        "scale": "model how events grow with a parameter",
        "estimate": "estimate more events over time than counters can hold",
        "phases": "split a run into phases by its footprint or events",
        "profile": "sample where in a program an event happens",
        "regions": "count events in regions that a program marks",
    },
    "memory": {
        "memory": "measure this host's memory: latency, bandwidth, NUMA nodes",
        "latency": "measure the latency of loads, and what served them",
        "locality": "find which memory is accessed from which node",
        "links": "show the links between nodes, load them, experiment on them",
    },
    "messages": {"messages": "measure, simulate and predict what messages cost"},
    "traces": {
        "trace": "take traces of packets and events, and ask, follow and measure them",
    },
    "recordings": {
        "show": "show a recording of any kind, or a saved result",
        "report": "put recordings and results on one page, or serve it live",
        "convert": "import and export recordings",
    },
    "simulated machines and studies": {
        "sim": "list and show simulated machines, and compile programs for them",
        "lab": "reproduce published studies, and score estimators",
    },
}
COMMANDS = {name: text for group in _GROUPS.values() for name, text in group.items()}
# What commands were called before, and what does the same now: an old name answers with the new.
RENAMED: dict[str, str] = {
    "state": "estimate [--watch] -- CMD`, `gnomon estimate REC` or `gnomon estimate identify REC",
    "bench": "lab bench",
    "study": "lab study",
    "cc": "sim compile",
    "machine": "sim",
    "run": "regions",
    "record": "count -i 10ms -o",
    "serve": "report --serve",
    "notify": "messages",
    "probe": "latency probe",
}
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _run(arguments)
        except GnomonError as error:
            return _report(error, arguments)
        except OSError as error:
            if error.filename is None:
                raise
            text = f"'{error.filename}' cannot be used: {error.strerror}."
            return _report(GnomonError(text), arguments)
        finally:
            # Here rather than at the interpreter's end, where nobody could handle a failure.
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone, as with `| head`: that is not an error.
        drop_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        drop_output()
        print(f"gnomon: the output cannot be written: {error.strerror}.", file=sys.stderr)
        return 1


def _run(arguments: list[str]) -> int:
    name = next((a for a in arguments if not a.startswith("-")), None)
    if name is None or arguments[0] != name:
        main_parser().parse_args(arguments)
        main_parser().print_help()
        return 0
    module, parser = load_command(name)
    options = parse_arguments(module, parser, arguments[1:])
    options.command_line = arguments
    files = {getattr(options, name, None) for name in ("html", "output")} - {None, "-"}
    with lasting_output() if files else contextlib.nullcontext():
        code: int = module.run(options)
    return code


def load_command(name: str) -> tuple[ModuleType, argparse.ArgumentParser]:
    """Return the module of a command, and the parser of its arguments."""
    module = import_module(f"gnomon.cli.{name}") if name in COMMANDS else _of_plugin(name)
    parser = command_parser(name, module.__doc__ or "")
    module.configure(parser)
    return module, parser


def _of_plugin(name: str) -> ModuleType:
    """Return the module of a command that another package adds by an entry point."""
    from gnomon import plugins

    if name in RENAMED:
        raise UsageError(f"`gnomon {name}` is now `gnomon {RENAMED[name]}`.")
    module: ModuleType | None = plugins.load("commands", name, "command")
    if module is None:
        main_parser().error(f"unknown command '{name}': {_hint(name)}")
    if not (hasattr(module, "configure") and hasattr(module, "run")):
        raise GnomonError(f"the command '{name}' of a plugin is no module with configure and run.")
    return module


def parse_arguments(
    module: ModuleType, parser: argparse.ArgumentParser, arguments: list[str]
) -> argparse.Namespace:
    """Parse what comes after the name of a command; a module may say where its own end."""
    own, command = split_command(getattr(module, "separated", list)(arguments))
    if "--on" in parser._option_string_actions:
        from gnomon.cli.options import refuse_replaced

        refuse_replaced(own)
    options = parser.parse_args(own)
    if command is not None:
        if not hasattr(options, "argv"):
            parser.error("this command takes no program to run after --")
        options.argv = command
    return options


def split_command(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """Return gnomon's own arguments and the command after the first `--`, if there is one."""
    if "--" not in arguments:
        return arguments, None
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _hint(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, 1)
    return f"did you mean {close[0]}?" if close else "`gnomon --help` lists them."


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return what writes help; told its width, argparse need not load a module to find it."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() and int(columns) > 0 else 80
    if not columns:
        with contextlib.suppress(OSError, ValueError):  # no terminal: 80 columns
            width = os.get_terminal_size().columns or width
    return argparse.RawDescriptionHelpFormatter(prog, width=max(width - 2, 40))


def main_parser() -> argparse.ArgumentParser:
    """Return the parser of what comes before a command; its help lists the commands."""
    listing = "\n\n".join(
        "\n".join((f"{title}:", *(f"  {name:<10} {text}" for name, text in group.items())))
        for title, group in _GROUPS.items()
    )
    parser = argparse.ArgumentParser(
        prog="gnomon",
        usage="gnomon COMMAND [OPTIONS]",
        description="Read the hidden performance state of a machine from its event counters.",
        epilog=f"{listing}\n\nexamples:\n"
        "  gnomon doctor\n"
        "  gnomon count -e task-clock,page-faults -- ./program\n"
        "  gnomon count -i 10ms -o run.gnomon -- ./program && gnomon show run.gnomon\n\n"
        "`gnomon COMMAND --help` shows the options of a command.",
        formatter_class=_formatter,
    )
    parser.add_argument("--version", action="version", version=f"gnomon {__version__}")
    return parser


def command_parser(name: str, text: str) -> argparse.ArgumentParser:
    """Return a parser whose help is the docstring of the command's module."""
    description, _, examples = text.partition("\nexamples:\n")
    parser = argparse.ArgumentParser(
        prog=f"gnomon {name}",
        description=description.strip(),
        epilog=f"examples:\n{examples.rstrip()}" if examples else None,
        formatter_class=_formatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _report(error: GnomonError, arguments: list[str]) -> int:
    own, _ = split_command(arguments)
    if "--json" in own:
        from gnomon.views.envelope import envelope

        print(envelope(own[0], None, error=str(error)))
    from gnomon.views.show import say

    say(f"gnomon: {error}", sys.stderr)
    return error.exit_code


# ---- output that nobody can take, as when `| head` has read enough -------------------------


@contextlib.contextmanager
def lasting_output() -> Iterator[None]:
    """Let a command go on to the end when its output cannot be written, as for a report it owes.

    Whatever cannot be written is dropped. A failure other than a reader that has gone is raised
    at the end.
    """
    lasting = _Lasting(sys.stdout)
    with contextlib.redirect_stdout(cast(TextIO, lasting)):
        yield
        lasting.flush()
    if lasting.failure is not None and not isinstance(lasting.failure, BrokenPipeError):
        raise lasting.failure


def drop_output() -> None:
    """Let what is still in the buffer go nowhere instead of failing once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Lasting:
    """A stream like another one that never fails; it keeps the first failure."""

    def __init__(self, stream: TextIO) -> None:
        self.failure: OSError | None = None
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # Any: whatever the stream has
        found = getattr(self._stream, name)

        def tried(*given: object) -> Any:
            try:
                return found(*given)
            except OSError as error:
                self.failure = self.failure or error
                drop_output()
                return None

        return tried if callable(found) else found
