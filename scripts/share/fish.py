"""Completion for fish: a line for each command, word and option."""

from __future__ import annotations

from .commands import Argument, Command

_HEAD = """\
# Completion of gnomon for fish, made from its parsers.

# The words so far that name a command, or one of its words; `--` when a program follows.
function __gnomon_at
    set -l tokens (commandline -opc)
    set -l at
    for token in $tokens[2..-1]
        if test "$token" = --
            echo -- --
            return
        end
        contains -- (string join -- ' ' $at $token) $__gnomon_paths
        and set at $at $token
    end
    string join -- ' ' $at
end

function __gnomon_is
    set -l at (__gnomon_at)
    test "$at" = "$argv[1]"
end

function __gnomon_program
    set -l tokens (commandline -opc) (commandline -ct)
    set -l from (contains -i -- -- $tokens)
    complete -C (string join ' ' -- (string escape -- $tokens[(math $from + 1)..-1]))
end
"""


def fish(gnomon: Command) -> str:
    """Return the script of completion."""
    paths = " ".join(_quoted(each.name) for each in gnomon.walk() if each.path)
    lines = [_HEAD, f"set -g __gnomon_paths {paths}", ""]
    lines.append("complete -c gnomon -n '__gnomon_is --' -f -a '(__gnomon_program)'")
    for command in gnomon.walk():
        here = f"complete -c gnomon -n {_quoted(f'__gnomon_is {_quoted(command.name)}')}"
        lines += [
            f"{here} -f -a {_quoted(word.path[-1])} -d {_quoted(word.summary)}"
            for word in command.words
        ]
        for argument in command.arguments:
            if argument.values:
                lines.append(f"{here} -a {_quoted(' '.join(argument.values))}")
        lines += [f"{here} {_option(option)}" for option in command.options]
    return "\n".join(lines) + "\n"


def _option(option: Argument) -> str:
    names = " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    )
    value = ""
    if option.value and not option.is_optional:
        value = " -r"
    if option.values:
        value += f"{'' if option.is_open else ' -f'} -a {_quoted(' '.join(option.values))}"
    return f"{names}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
