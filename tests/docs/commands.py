"""Command lines that occur in texts, and the parsers that they must satisfy."""

from __future__ import annotations

import argparse
import re
import shlex
from importlib import import_module

from gnomon.cli import COMMANDS, command_parser, parse_arguments


def parser_of(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command, complete with its options."""
    module = import_module(f"gnomon.cli.{command}")
    parser = command_parser(command, module.__doc__ or "")
    module.configure(parser)
    return parser


def gnomon_commands(text: str) -> list[list[str]]:
    """Return the words of every call of gnomon in shell commands, without `gnomon` itself."""
    found = []
    # A variable stands for a number as well as for a text.
    plain = re.sub(r"\$(\w+|!|\([^)]*\))", "1", re.sub(r"\\\n\s*", " ", text))
    for line in plain.splitlines():
        for part in re.split(r"&&|\|\||[;|&]\s", line):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue  # a quote that a separator within it has torn apart
            start = next((i for i, w in enumerate(words) if w.split("/")[-1] == "gnomon"), None)
            if start is not None and words[start + 1 : start + 2] and words[start + 1] in COMMANDS:
                rest = words[start + 1 :]
                cut = next((i for i, w in enumerate(rest) if w.startswith(">")), len(rest))
                found.append(rest[:cut])
    return found


def parse(words: list[str]) -> argparse.Namespace:
    """Parse a call as the command line does; SystemExit when it does not fit."""
    module = import_module(f"gnomon.cli.{words[0]}")
    return parse_arguments(module, parser_of(words[0]), words[1:])
