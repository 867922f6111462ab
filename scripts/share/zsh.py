"""Completion for zsh: a function for each command, written for `_arguments`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .commands import Argument, Command

_SCRIPT = """\
#compdef gnomon
# Completion of gnomon for zsh, made from its parsers.

_gnomon_or_file() {{
    _alternative "values:value:($*)" 'files:file:_files'
}}

{functions}

_gnomon "$@"
"""


def zsh(gnomon: Command) -> str:
    """Return the script of completion."""
    return _SCRIPT.format(functions="\n\n".join(_function(each) for each in gnomon.walk()))


def _function(command: Command) -> str:
    name = _function_name(command)
    specs = [_option(option) for option in command.options]
    if command.words:
        below = "\n".join(f"        {_quoted(_described(word))}" for word in command.words)
        cases = "\n".join(
            f"            {word.path[-1]}) {_function_name(word)} ;;" for word in command.words
        )
        specs += ["'1: :->word'", "'*:: :->rest'"]
        return (
            f"{name}() {{\n"
            f"    local context state state_descr line\n    typeset -A opt_args\n"
            f"    local -a words_here=(\n{below}\n    )\n"
            f"    _arguments -C {_joined(specs)} && return\n"
            f"    case $state in\n"
            f"        word) _describe word words_here ;;\n"
            f"        rest) case $line[1] in\n{cases}\n        esac ;;\n"
            f"    esac\n}}"
        )
    values = [value for each in command.arguments for value in each.values]
    action = _or_file(values) if values else "_files"
    # After --, a program is completed as if it stood alone.
    return (
        f"{name}() {{\n"
        f"    local -i at=${{words[(i)--]}}\n"
        f"    if (( at < CURRENT )); then\n"
        f"        shift $at words\n        (( CURRENT -= at ))\n        _normal\n        return\n"
        f"    fi\n"
        f"    _arguments -s {_joined([*specs, _quoted(f'*: :{action}')])}\n}}"
    )


def _or_file(values: Iterable[str]) -> str:
    """Return the action that offers words and files."""
    return f" _gnomon_or_file {' '.join(values)}"


def _function_name(command: Command) -> str:
    return "_".join(("_gnomon", *(re.sub(r"\W", "_", part) for part in command.path)))


def _joined(specs: list[str]) -> str:
    return " \\\n        ".join(["", *specs]).strip() if specs else ""


def _option(option: Argument) -> str:
    """Return what `_arguments` is told of an option under all of its names."""
    text = re.sub(r"([\[\]\\])", r"\\\1", option.help)
    value = ""
    if option.value:
        action = f"({' '.join(option.values)})" if option.values else "_files"
        if option.values and option.is_open:
            action = _or_file(option.values)
        mark = "::" if option.is_optional else ":"
        value = f"{mark}{option.value.replace(':', ' ')}:{action}"
    specs = [
        f"*{name}{'=' if option.value and name.startswith('--') else ''}[{text}]{value}"
        for name in option.names
    ]
    return " ".join(_quoted(spec) for spec in specs)


def _described(word: Command) -> str:
    return f"{word.path[-1]}:{word.summary}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
