"""Completion for bash; it needs no other package, and uses bash-completion where that is loaded."""

from __future__ import annotations

import shlex

from .commands import Command

_SCRIPT = """\
# Completion of gnomon for bash, made from its parsers.

# What can follow a command: sets words of it, values of its arguments, and options.
_gnomon_known() {{
    words= choices= options=
    case $1 in
{known}
    esac
}}

# What an option of a command takes: sets takes to value, or to nothing, and values.
_gnomon_takes() {{
    takes= values=
    case $1 in
{takes}
    esac
}}

_gnomon() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local at= words choices options takes values i
    COMPREPLY=()
    _gnomon_known ""
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${{COMP_WORDS[i]}} == -- ]]; then
            # A program that is measured, completed as if it stood alone.
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((i + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$current")
            fi
            return
        elif [[ " $words " == *" ${{COMP_WORDS[i]}} "* ]]; then
            at="${{at:+$at }}${{COMP_WORDS[i]}}"
            _gnomon_known "$at"
        fi
    done
    # bash takes --option=value apart.
    [[ $current == "=" ]] && current=
    [[ $previous == "=" ]] && previous=${{COMP_WORDS[COMP_CWORD-2]}}
    _gnomon_takes "$at $previous"
    if [[ $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [[ $takes ]]; then
        return  # a file, as bash offers where there is nothing here
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -W "$words $choices" -- "$current")
    fi
}}

complete -o bashdefault -o default -F _gnomon gnomon
"""


def bash(gnomon: Command) -> str:
    """Return the script of completion."""
    known, takes = [], []
    for command in gnomon.walk():
        words = [word.path[-1] for word in command.words]
        choices = [value for each in command.arguments for value in each.values]
        options = [name for option in command.options for name in option.names]
        known.append(
            f"        {shlex.quote(command.name)}) words={shlex.quote(' '.join(words))} "
            f"choices={shlex.quote(' '.join(choices))} options={shlex.quote(' '.join(options))} ;;"
        )
        for option in command.options:
            if option.value:
                names = "|".join(shlex.quote(f"{command.name} {name}") for name in option.names)
                values = shlex.quote(" ".join(option.values))
                takes.append(f"        {names}) takes=value values={values} ;;")
    return _SCRIPT.format(known="\n".join(known), takes="\n".join(takes))
