"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
PAGES = (
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "CHANGELOG.md",
    *sorted(DOCS.rglob("*.md")),
)

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """Code between fences: its language, its text, and the line it begins in."""

    language: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Example:
    """A command of a console block, with the output that is shown below it."""

    command: str
    output: tuple[str, ...]
    line: int

    @property
    def fails(self) -> bool:
        """Whether the output shows an error, so that the command is meant to fail."""
        return any(text.startswith("gnomon: ") for text in self.output)


def name_of(page: Path) -> str:
    """Return a page's path in the repository."""
    return str(page.relative_to(REPOSITORY))


def blocks(page: Path) -> list[Block]:
    """Return the blocks of code in a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], match[2], text.count("\n", 0, match.start()) + 2)
        for match in _FENCE.finditer(text)
    ]


def examples(block: Block) -> list[Example]:
    """Return the commands of a console block; a backslash continues one in the next line."""
    found: list[Example] = []
    continued = False
    for number, line in enumerate(block.text.splitlines(), block.line):
        if continued:
            last = found[-1]
            found[-1] = Example(f"{last.command}\n{line}", (), last.line)
        elif line.startswith("$ "):
            found.append(Example(line[2:], (), number))
        elif found:
            last = found[-1]
            found[-1] = Example(last.command, (*last.output, line), last.line)
        else:
            raise ValueError(f"line {number}: a console block begins with a command after '$ '")
        continued = (continued or line.startswith("$ ")) and line.endswith("\\")
    return found
