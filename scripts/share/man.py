"""Manual pages: one for gnomon and one for each command, its words included."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from gnomon import __version__

from .commands import Argument, Command


def man(gnomon: Command) -> dict[str, str]:
    """Return the pages by the names of their files."""
    pages = {"gnomon.1": _page(gnomon, [f"gnomon-{each.name}" for each in gnomon.words])}
    for command in gnomon.words:
        pages[f"gnomon-{command.name}.1"] = _page(command, ["gnomon"])
    return pages


def _page(command: Command, others: Iterable[str]) -> str:
    title = "-".join(("gnomon", *command.path))
    lines = [
        f'.TH {_argument(title.upper())} 1 "" "gnomon {__version__}" "gnomon"',
        ".SH NAME",
        f"{_text(title)} \\- {_text(command.summary)}",
        ".SH SYNOPSIS",
        *_verbatim(command.usage),
        ".SH DESCRIPTION",
        *_paragraphs(command.text),
    ]
    if command.arguments:
        lines += [".SH ARGUMENTS", *_arguments(command.arguments)]
    if command.options:
        lines += [".SH OPTIONS", *_arguments(command.options)]
    if not command.path:
        lines.append(".SH COMMANDS")
        for each in command.words:
            lines += [".TP", f".BR {_argument(f'gnomon-{each.name}')} (1)", _line(each.summary)]
    elif command.words:
        lines.append(".SH WORDS")
        for each in command.words:
            lines += [f".SS {_argument(each.path[-1])}", *_paragraphs(each.text or each.summary)]
            lines += [".PP", *_verbatim(each.usage)]
            lines += [*_arguments(each.arguments), *_arguments(each.options)]
            lines += _examples(each)
    if command.examples:
        lines += [".SH EXAMPLES", *_verbatim("\n".join(command.examples))]
    lines.append(".SH SEE ALSO")
    references = [f".BR {_argument(other)} (1)" for other in sorted(others)]
    lines += [f"{reference} ," for reference in references[:-1]] + references[-1:]
    return "\n".join(lines) + "\n"


def _examples(word: Command) -> list[str]:
    return [".PP", *_verbatim("\n".join(word.examples))] if word.examples else []


def _arguments(arguments: Iterable[Argument]) -> Iterator[str]:
    for argument in arguments:
        value = f"\\fI{_text(argument.value)}\\fR" if argument.value else ""
        if argument.is_repeated and not argument.names:
            value += " ..."
        names = ", ".join(f"\\fB{_text(name)}\\fR" for name in argument.names)
        optional = f"[{value}]" if argument.is_optional and names else value
        yield from (".TP", f"{names} {optional}".strip(), _line(argument.help))


def _paragraphs(text: str) -> Iterator[str]:
    """Fill paragraphs; what is indented, or a table, keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        yield ".PP"
        lines = paragraph.splitlines()
        if any(line.startswith(" ") for line in lines):
            yield from _verbatim(paragraph)
        else:
            yield from (_line(line) for line in lines)


def _verbatim(text: str) -> list[str]:
    lines = textwrap.dedent(text).splitlines()
    return [".nf", *(_line(line) if line.strip() else ".sp" for line in lines), ".fi"]


def _line(text: str) -> str:
    """Return a line of text that roff does not take for a request."""
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", _text(text))
    return f"\\&{text}" if text.startswith((".", "'")) or not text else text


def _argument(text: str) -> str:
    return f'"{_text(text)}"'


def _text(text: str) -> str:
    """Return text with what roff takes for its own escaped."""
    for character, escape in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("^", "\\(ha")):
        text = text.replace(character, escape)
    return text.replace("~", "\\(ti").replace('"', "\\(dq").replace("`", "`")
