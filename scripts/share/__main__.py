"""Write completion and manual pages below a folder: `python -m scripts.share FOLDER`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .bash import bash
from .commands import read
from .fish import fish
from .man import man
from .zsh import zsh


def write(folder: Path) -> list[Path]:
    """Write every file where shells and `man` look for it, below `share`; return their names."""
    os.environ["COLUMNS"] = "80"  # usage is wrapped alike wherever this runs
    gnomon = read()
    files = {
        "bash-completion/completions/gnomon": bash(gnomon),
        "zsh/site-functions/_gnomon": zsh(gnomon),
        "fish/vendor_completions.d/gnomon.fish": fish(gnomon),
        **{f"man/man1/{name}": page for name, page in man(gnomon).items()},
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python -m scripts.share", description=__doc__)
    parser.add_argument("folder", type=Path, help="where `share` of the wheel is made")
    write(parser.parse_args().folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
