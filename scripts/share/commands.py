"""The command line as data: every command, its words, options and arguments.

All of it is read from the parsers that gnomon itself uses, so nothing here names a command.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gnomon import cli
from gnomon.machines import machine_names
from gnomon.sources.registry import listed

_PLACE = "WHERE"  # stands in help for a source or machine


@dataclass(frozen=True)
class Argument:
    """An option, or an argument known by its position."""

    names: tuple[str, ...]  # of an option; none has a positional argument
    value: str  # what stands for its value in help; empty for a flag
    values: tuple[str, ...]  # that are known by name
    is_open: bool  # whether it takes others, too, such as files
    is_optional: bool  # whether the value can be left out
    is_repeated: bool  # whether it takes more than one value
    help: str


@dataclass(frozen=True)
class Command:
    """A command, a word of one, or gnomon itself, whose path is empty."""

    path: tuple[str, ...]
    summary: str  # one line
    usage: str
    text: str
    examples: tuple[str, ...]
    options: tuple[Argument, ...]
    arguments: tuple[Argument, ...]
    words: tuple[Command, ...]

    @property
    def name(self) -> str:
        """The command with its word, without `gnomon`."""
        return " ".join(self.path)

    def walk(self) -> Iterator[Command]:
        """Yield it and all below it."""
        yield self
        for word in self.words:
            yield from word.walk()


def read() -> Command:
    """Return gnomon with all its commands."""
    commands = tuple(
        _command(cli.load_command(name)[1], (name,), summary)
        for name, summary in cli.COMMANDS.items()
    )
    parser = cli.main_parser()
    text = parser.description or ""
    top = _command(parser, (), text[:1].lower() + text[1:].rstrip("."))
    return Command(**{**vars(top), "words": commands})


def places() -> tuple[str, ...]:
    """Return the words that choose by themselves where something is measured."""
    simple = (each.name for each in listed() if not each.argument and each.claims is None)
    return (*simple, *machine_names())


def _command(parser: argparse.ArgumentParser, path: tuple[str, ...], summary: str) -> Command:
    options: list[Argument] = []
    arguments: list[Argument] = []
    words: list[Command] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {each.dest: each.help or "" for each in action._choices_actions}
            for word, below in action.choices.items():
                words.append(_command(below, (*path, word), summaries.get(word, "")))
        elif action.help != argparse.SUPPRESS:
            (options if action.option_strings else arguments).append(_argument(parser, action))
    _, _, examples = (parser.epilog or "").partition("examples:\n")
    return Command(
        path=path,
        summary=summary,
        usage=_usage(parser),
        text=parser.description or "",
        examples=tuple(line.strip() for line in examples.splitlines() if line.startswith("  ")),
        options=tuple(options),
        arguments=tuple(arguments),
        words=tuple(words),
    )


def _usage(parser: argparse.ArgumentParser) -> str:
    lines = parser.format_usage().rstrip().splitlines()
    return "\n".join(line[len("usage: ") :] for line in lines)


def _argument(parser: argparse.ArgumentParser, action: argparse.Action) -> Argument:
    formatter = parser._get_formatter()
    text = formatter._expand_help(action) if action.help else ""
    if action.metavar:
        name = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    elif action.choices:
        name = "{" + ",".join(map(str, action.choices)) + "}"
    else:
        name = action.dest.upper() if action.option_strings else action.dest
    known = tuple(map(str, action.choices or ())) or (places() if name == _PLACE else ())
    return Argument(
        names=tuple(action.option_strings),
        value="" if action.nargs == 0 else name,
        values=known,
        is_open=not action.choices,
        is_optional=action.nargs in ("?", "*", argparse.REMAINDER),
        is_repeated=action.nargs in ("*", "+", argparse.REMAINDER),
        help=re.sub(r"\s+", " ", text).strip(),
    )
