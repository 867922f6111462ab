"""A screen with the topology and all channels, on which generators are added and removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from gnomon import units
from gnomon.errors import GnomonError, NotSupportedError
from gnomon.stress.nodes import Channel
from gnomon.views.blocks import Cell, Column, Edge, Graph, Node, Table
from gnomon.views.terminal import Screen, lines

if TYPE_CHECKING:
    from textual.app import App

    from gnomon.analysis.links.loader import Loader
    from gnomon.analysis.links.result import LinksResult

_EXTRA = "pip install 'gnomon[live]'"
_EVERY = 0.5  # seconds
_NARROW = 110  # columns, below which drawing and table do not fit side by side
_LEAST = 60  # columns of the table, which is a row per line
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Shown:
    """A channel at a moment: its generators, their duty in tenths, and what they read."""

    channel: Channel
    count: int
    tenths: int
    rate: float


def channels_table(rows: Sequence[Shown], highest: float, chosen: int) -> Table:
    """Return a row per channel; bars are shares of the highest rate so far."""

    def rate(row: Shown, per: int = 1) -> Cell:
        return Cell(row.rate / per if row.count else None, "B/s")

    return Table.of(
        rows,
        (
            Column("channel", lambda row: str(row.channel)),
            Column("generators", lambda row: row.count),
            Column(
                "duty",
                lambda row: row.tenths / 10 if row.count or row.tenths < 10 else None,
                "%",
                drop=1,
            ),
            Column("reads", rate, digits=_DIGITS),
            Column("each", lambda row: rate(row, row.count or 1), digits=_DIGITS, drop=2),
            Column(
                "of the most",
                lambda row: row.rate / highest if row.count else None,
                "%",
                bar=True,
                drop=3,
            ),
        ),
        chosen=chosen,
        name="channels",
    )


def drawing(topology: LinksResult, rates: Mapping[Channel, float]) -> Graph:
    """Return nodes with what they read from others and what others read of them, and links."""
    nodes = []
    for node in topology.nodes:
        number = node.number
        reads = sum(rate for channel, rate in rates.items() if channel.reader == number)
        gives = sum(rate for channel, rate in rates.items() if channel.home == number)
        nodes.append(
            Node(
                f"node {number}",
                (
                    f"reads {_rate(reads)}" if node.cpus else "no CPUs",
                    f"gives {_rate(gives)}" if node.memory != 0 else "no memory",
                ),
            )
        )
    place = {node.number: index for index, node in enumerate(topology.nodes)}
    edges = tuple(Edge(place[link.ends[0]], place[link.ends[1]]) for link in topology.links)
    return Graph(tuple(nodes), edges)


def _rate(rate: float) -> str:
    """Return a rate in a text that is always as wide, so that boxes stand still."""
    return f"{units.number(rate, 'B/s', digits=_DIGITS):>9}"


def require_textual() -> None:
    """Complain when the library for screens is missing."""
    if find_spec("textual") is None:
        raise NotSupportedError(f"live screens need textual, which is not installed: {_EXTRA}.")


def run_live(loader: Loader, topology: LinksResult) -> None:
    """Show the screen until it is left."""
    app = live_app(loader, topology)
    app.run()
    error = getattr(app, "failure", None)
    if error is not None:
        raise error


def live_app(loader: Loader, topology: LinksResult) -> App[None]:
    """Return the screen; textual is loaded only now."""
    require_textual()
    from rich.text import Text
    from textual.app import App, ComposeResult
    from textual.binding import Binding, BindingType
    from textual.containers import Horizontal, ScrollableContainer, Vertical
    from textual.events import Click, Resize
    from textual.geometry import Region
    from textual.widgets import Footer, Header, Static

    from gnomon.analysis.links.loader import channels

    every = channels(loader) or channels(loader, local=True)

    class LinksScreen(App[None]):
        """The topology at the left, a row per channel at the right."""

        TITLE = "gnomon links"
        CSS = """
        #drawing { width: auto; min-width: 30; padding: 1 1; }
        #side { width: auto; max-width: 60%; }
        #right { width: 1fr; height: 1fr; padding: 1 1; }
        #heads { height: 1; }
        #channels { width: 1fr; height: auto; }
        #status { height: 1; padding: 0 1; color: $text-muted; }
        .narrow #both { layout: vertical; }
        .narrow #side { width: 1fr; max-width: 100%; height: 1fr; }
        .narrow #right { height: 1fr; }
        """
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("plus,equals_sign,right", "more", "add a generator", key_display="+"),
            Binding("minus,left", "fewer", "remove one", key_display="-"),
            Binding("0", "none", "remove all"),
            Binding("left_square_bracket", "rest", "rest more", key_display="["),
            Binding("right_square_bracket", "work", "rest less", key_display="]"),
            Binding("up", "choose(-1)", "another channel", priority=True, key_display="↑↓"),
            Binding("down", "choose(1)", show=False, priority=True),
            Binding("pageup", "choose(-10)", show=False, priority=True),
            Binding("pagedown", "choose(10)", show=False, priority=True),
            Binding("home", f"choose(-{len(every)})", show=False, priority=True),
            Binding("end", f"choose({len(every)})", show=False, priority=True),
            # Ctrl-C ends every command; Textual alone would only tell of another key.
            Binding("q,ctrl+c", "quit", "quit", key_display="q", priority=True),
        ]

        def __init__(self) -> None:
            super().__init__()
            self.failure: GnomonError | None = None
            self.counts: dict[Channel, int] = dict.fromkeys(every, 0)
            self.tenths: dict[Channel, int] = dict.fromkeys(every, 10)
            self.rates: dict[Channel, float] = {}
            self.highest = 1.0
            self.row = 0
            self.widths: dict[str, int] = {}

        def compose(self) -> ComposeResult:
            yield Header()
            with Horizontal(id="both"):
                with ScrollableContainer(id="side"):
                    yield Static(id="drawing", markup=False)
                with Vertical(id="right"):
                    yield Static(id="heads", markup=False)
                    with ScrollableContainer(id="list"):
                        yield Static(id="channels", markup=False)
            yield Static(id="status", markup=False)
            yield Footer()

        def on_mount(self) -> None:
            self.sub_title = f"{loader.name}{' (simulated)' if loader.simulated else ''}"
            self.refresh_rates()
            self.set_interval(_EVERY, self.refresh_rates)

        def on_resize(self, event: Resize) -> None:
            """Show drawing and table below each other where they do not fit side by side."""
            self.set_class(event.size.width < _NARROW, "narrow")
            self.widths.clear()
            self.call_after_refresh(self.draw)

        @property
        def chosen(self) -> Channel:
            """The channel that the cursor is on."""
            return every[self.row]

        def refresh_rates(self) -> None:
            """Take what generators have reported and show it."""
            try:
                readings = loader.latest()
            except GnomonError as error:
                self.failure = error
                self.exit()
                return
            self.rates = {channel: sum(rates) for channel, rates in readings.items()}
            self.highest = max([self.highest, *self.rates.values()])
            self.draw()

        def draw(self) -> None:
            """Draw what is known by now."""
            # While the screen is being taken down, some of its parts are gone before others.
            parts = ("#drawing", "#heads", "#list", "#channels", "#status")
            if not all(self.query(part) for part in parts):
                return
            picture = lines([drawing(topology, self.rates)], Screen())
            self.query_one("#drawing", Static).update("\n".join(picture))
            rows = [
                Shown(each, self.counts[each], self.tenths[each], self.rates.get(each, 0.0))
                for each in every
            ]
            room = max(self.query_one("#list").content_size.width - 2, _LEAST)
            screen = Screen(room, colour=True, widths=self.widths)
            table = channels_table(rows, self.highest, self.row)
            heads, *drawn = (Text.from_ansi(line, no_wrap=True) for line in lines([table], screen))
            self.query_one("#heads", Static).update(heads)
            self.query_one("#channels", Static).update(Text("\n", no_wrap=True).join(drawn))
            total = sum(self.counts.values())
            self.query_one("#status", Static).update(
                f"{total} generator{'s' * (total != 1)}, "
                f"{units.number(sum(self.rates.values()), 'B/s', digits=_DIGITS)} in all"
            )

        def on_click(self, event: Click) -> None:
            """Choose the channel that was clicked on."""
            if event.widget is not None and event.widget.id == "channels":
                self.choose(event.y)

        def choose(self, row: int) -> None:
            """Move the cursor to a row and show it."""
            self.row = min(max(row, 0), len(every) - 1)
            self.draw()
            self.query_one("#list").scroll_to_region(Region(0, self.row, 1, 1), animate=False)

        def change(self, count: int, tenths: int | None = None) -> None:
            """Have so many generators on the chosen channel, with a duty, or say why not."""
            channel = self.chosen
            tenths = self.tenths[channel] if tenths is None else min(max(tenths, 1), 10)
            try:
                loader.set(channel, count, tenths / 10)
            except GnomonError as error:
                self.notify(str(error), severity="warning", markup=False)
                return
            self.counts[channel], self.tenths[channel] = count, tenths
            self.refresh_rates()

        def action_choose(self, rows: int) -> None:
            """Choose a channel so many rows below."""
            self.choose(self.row + rows)

        def action_more(self) -> None:
            """Add a generator to the chosen channel."""
            self.change(self.counts[self.chosen] + 1)

        def action_fewer(self) -> None:
            """Take a generator from the chosen channel."""
            if self.counts[self.chosen]:
                self.change(self.counts[self.chosen] - 1)

        def action_none(self) -> None:
            """Take all generators from the chosen channel."""
            self.change(0)

        def action_rest(self) -> None:
            """Have the generators of the chosen channel rest for a tenth more of the time."""
            self.change(self.counts[self.chosen], self.tenths[self.chosen] - 1)

        def action_work(self) -> None:
            """Have the generators of the chosen channel rest for a tenth less of the time."""
            self.change(self.counts[self.chosen], self.tenths[self.chosen] + 1)

    return LinksScreen()
