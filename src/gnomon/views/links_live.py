"""A screen with all channels and the topology, on which generators are added and removed."""

from __future__ import annotations

import os
import re
import select
import shutil
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.errors import GnomonError
from gnomon.stress.nodes import Channel
from gnomon.views import blocks as b
from gnomon.views.terminal import ROWS_BELOW, Screen, lines

if TYPE_CHECKING:
    from gnomon.analysis.links.loader import Loader
    from gnomon.analysis.links.result import LinksResult

_EVERY = 0.5  # seconds
_REST = 0.05  # seconds
_AROUND = 9  # lines that are for neither channels nor nodes, and blank ones
_LEAST = 4  # channels in sight
_RECORD = 6  # lines of a channel on a narrow screen
_DIGITS = 3
_HELP = "+ - generators   0 none   [ ] rest   ↑ ↓ channel   Tab nodes   q quit"
_KEYS = re.compile(r"\x1b\[<\d+;\d+;\d+[Mm]|\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
_BEGUN = re.compile(rb"\x1b[\[O<0-9;]*$")  # a key of which more is to come
_CLICK = re.compile(r"\x1b\[<0;\d+;(\d+)M")
_ENDS = {  # of the sequences that keys send
    "A": "up", "B": "down", "C": "+", "D": "-", "H": "home", "F": "end",
    "1~": "home", "4~": "end", "5~": "page up", "6~": "page down",
}  # fmt: skip
_NAMES = {f"\x1b{lead}{end}": name for end, name in _ENDS.items() for lead in "[O"}
_NAMES |= {"=": "+", "\x03": "q"}
_STEPS = {"up": -1, "down": 1, "page up": -10, "page down": 10, "home": -(10**6), "end": 10**6}


@dataclass(slots=True)
class Shown:
    """A channel at a moment: its generators, their duty in tenths, and what they read."""

    channel: Channel
    count: int = 0
    tenths: int = 10
    rate: float = 0.0


def channels_table(rows: Sequence[Shown], highest: float, chosen: int) -> b.Table:
    """Return a row per channel; bars are shares of the highest rate so far."""

    def rate(row: Shown, of: float = 1) -> float | None:
        return row.rate / of if row.count else None

    def duty(row: Shown) -> float | None:
        return row.tenths / 10 if row.count or row.tenths < 10 else None

    columns = (
        b.Column("channel", lambda row: str(row.channel)),
        b.Column("generators", "count"),
        b.Column("duty", duty, "%", drop=1),
        b.Column("reads", rate, "B/s", digits=_DIGITS),
        b.Column("each", lambda row: rate(row, row.count), "B/s", digits=_DIGITS, drop=2),
        b.Column("of the most", lambda row: rate(row, highest), "%", bar=True, drop=3),
    )
    return b.Table.of(rows, *columns, chosen=chosen, name="channels")


def drawing(topology: LinksResult, rates: Mapping[Channel, float]) -> b.Graph:
    """Return nodes with what they read from others and what others read of them, and links."""

    place = {node.number: index for index, node in enumerate(topology.nodes)}
    nodes = []
    for number, each in zip(place, topology.nodes, strict=True):
        reads = sum(rate for channel, rate in rates.items() if channel.reader == number)
        gives = sum(rate for channel, rate in rates.items() if channel.home == number)
        facts = (
            f"reads {_rate(reads)}" if each.cpus else "no CPUs",
            f"gives {_rate(gives)}" if each.memory != 0 else "no memory",
        )
        nodes.append(b.Node(f"node {number}", facts))
    links = ((place[link.ends[0]], place[link.ends[1]]) for link in topology.links)
    return b.Graph(tuple(nodes), tuple(b.Edge(*ends) for ends in links))


def _rate(rate: float) -> str:
    """Return a rate in a text that is always as wide, so that boxes stand still."""
    return f"{units.number(rate, 'B/s', digits=_DIGITS):>9}"


class LinksScreen:
    """What is loaded, where the cursor is, and what each key does; `blocks` is the picture."""

    def __init__(self, loader: Loader, topology: LinksResult) -> None:
        from gnomon.analysis.links.loader import channels

        self._loader, self._topology = loader, topology
        self.rows = [Shown(each) for each in channels(loader) or channels(loader, local=True)]
        self.highest = 1.0
        self.row = 0
        self.message = ""
        self.nodes = False

    @property
    def chosen(self) -> Shown:
        """The channel that the cursor is on."""
        return self.rows[self.row]

    def refresh(self) -> None:
        """Take what generators have reported."""
        readings = self._loader.latest()
        for row in self.rows:
            row.rate = sum(readings.get(row.channel, ()))
        self.highest = max([self.highest, *(row.rate for row in self.rows)])

    def press(self, key: str) -> bool:
        """Do what a key says; returns whether the screen stays."""
        row = self.chosen
        if key in _STEPS:
            self.choose(self.row + _STEPS[key])
        elif key in ("+", "-", "0"):
            self._change({"+": row.count + 1, "-": max(row.count - 1, 0), "0": 0}[key], row.tenths)
        elif key in ("[", "]"):
            self._change(row.count, min(max(row.tenths + (1 if key == "]" else -1), 1), 10))
        elif key == "\t":
            self.nodes = not self.nodes
        return key != "q"

    def choose(self, row: int) -> None:
        """Move the cursor to a row."""
        self.row = min(max(row, 0), len(self.rows) - 1)

    def click(self, line: str) -> None:
        """Choose the channel that a line of the screen begins with."""
        words = line.split()
        for number, row in enumerate(self.rows):
            if words[:1] == [str(row.channel)]:
                self.choose(number)

    def _change(self, count: int, tenths: int) -> None:
        """Have so many generators on the chosen channel, with a duty, or say why not."""
        self.message = ""
        try:
            self._loader.set(self.chosen.channel, count, tenths / 10)
        except GnomonError as error:
            self.message = str(error)
            return
        self.chosen.count, self.chosen.tenths = count, tenths
        self.refresh()

    def blocks(self, columns: int, height: int) -> Iterator[b.Block]:
        """Yield the picture; nodes stand below the channels, or in their place with Tab."""
        simulated = "SIMULATED " * self._loader.simulated
        yield b.Headline(f"{simulated}links of {self._loader.name}")
        rates = {row.channel: row.rate for row in self.rows}
        nodes = drawing(self._topology, rates)
        room, needed = height - _AROUND, len(list(lines([nodes], Screen(columns))))
        both = room - needed >= min(len(self.rows), _LEAST)
        if self.nodes and not both:
            yield nodes
            yield b.Text(_HELP, b.Tone.FAINT)
            return
        each = 1 if columns >= ROWS_BELOW else _RECORD
        most = max(min(len(self.rows), (room - needed * both) // each), 1)
        first = min(max(self.row - most // 2, 0), len(self.rows) - most)
        shown = self.rows[first : first + most]
        yield channels_table(shown, self.highest, self.row - first)
        total = sum(row.count for row in self.rows)
        read = units.number(sum(rates.values()), "B/s", digits=_DIGITS)
        part = f" ({len(shown)} of {len(self.rows)} channels)" * (most < len(self.rows))
        yield b.Text(f"{total} generator{'s' * (total != 1)}, {read} in all{part}")
        yield b.Text(self.message or _HELP, b.Tone.DOUBT if self.message else b.Tone.FAINT)
        if both:
            yield nodes


def run_live(loader: Loader, topology: LinksResult) -> None:
    """Show the screen until it is left."""
    from gnomon.views.terminal.live import Redrawn

    screen = LinksScreen(loader, topology)
    with _keys() as read, Redrawn(sys.stdout, whole=True) as picture:
        stays = True
        while stays:
            screen.refresh()
            picture.draw(screen.blocks(*shutil.get_terminal_size()))
            for key in _KEYS.findall(read()):
                click = _CLICK.fullmatch(key)
                if click and int(click[1]) <= len(picture.shown):
                    screen.click(re.sub("\x1b\\[[0-9;]*m", "", picture.shown[int(click[1]) - 1]))
                stays = stays and screen.press(_NAMES.get(key, key))


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Have keys and clicks come at once, Ctrl-C among them; yield what waits for some a while."""
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)

    def read() -> str:
        if not select.select([keyboard], [], [], _EVERY)[0]:
            return ""
        found = os.read(keyboard, 1024)
        while _BEGUN.search(found) and select.select([keyboard], [], [], _REST)[0]:
            found += os.read(keyboard, 1024)
        return found.decode(errors="replace") if found else "q"  # the terminal has gone

    try:
        tty.setcbreak(keyboard)
        raw = termios.tcgetattr(keyboard)
        raw[3] &= ~termios.ISIG
        termios.tcsetattr(keyboard, termios.TCSADRAIN, raw)
        sys.stdout.write("\x1b[?1000h\x1b[?1006h")
        yield read
    finally:
        sys.stdout.write("\x1b[?1006l\x1b[?1000l")
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
