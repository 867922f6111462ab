"""A screen with the topology and all channels, on which generators are added and removed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from gnomon.errors import GnomonError, NotSupportedError
from gnomon.stress.nodes import Channel

if TYPE_CHECKING:
    from textual.app import App

    from gnomon.analysis.links.loader import Loader
    from gnomon.analysis.links.topology import Topology

_EXTRA = "pip install 'gnomon[live]'"
_EVERY = 0.5  # seconds
_BAR = 24  # characters
_NARROW = 110  # columns, below which drawing and table do not fit side by side
_PARTS = " ▏▎▍▌▋▊▉█"


def require_textual() -> None:
    """Complain when the library for screens is missing."""
    if find_spec("textual") is None:
        raise NotSupportedError(f"live screens need textual, which is not installed: {_EXTRA}.")


def run_live(loader: Loader, topology: Topology) -> None:
    """Show the screen until it is left."""
    app = live_app(loader, topology)
    app.run()
    error = getattr(app, "failure", None)
    if error is not None:
        raise error


def bar(share: float, width: int = _BAR) -> str:
    """Return a bar that is full at 1."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    whole, part = divmod(eighths, 8)
    return _PARTS[8] * whole + (_PARTS[part] if part else "")


def node_boxes(topology: Topology, rates: dict[Channel, float]) -> list[list[str]]:
    """Return what the box of each node says: what it reads from others, and what they read."""
    boxes = []
    for node in topology.nodes:
        number = node.number
        reads = sum(rate for channel, rate in rates.items() if channel.reader == number)
        serves = sum(rate for channel, rate in rates.items() if channel.home == number)
        boxes.append(
            [
                f"node {number}",
                f"reads {reads / 1e9:6.2f} GB/s" if node.cpus else "no CPUs",
                f"gives {serves / 1e9:6.2f} GB/s" if node.memory != 0 else "no memory",
            ]
        )
    return boxes


def live_app(loader: Loader, topology: Topology) -> App[None]:
    """Return the screen; textual is loaded only now."""
    require_textual()
    from textual.app import App, ComposeResult
    from textual.binding import Binding, BindingType
    from textual.containers import Horizontal, ScrollableContainer
    from textual.events import Resize
    from textual.widgets import DataTable, Footer, Header, Static

    from gnomon.analysis.links.loader import channels
    from gnomon.views.topology import draw_graph

    every = channels(loader) or channels(loader, local=True)

    class LinksScreen(App[None]):
        """The topology at the left, a row a channel at the right."""

        TITLE = "gnomon links"
        CSS = """
        #drawing { width: auto; min-width: 30; padding: 1 1; }
        #side { width: auto; max-width: 60%; }
        #channels { width: 1fr; height: 1fr; }
        #status { height: 1; padding: 0 1; color: $text-muted; }
        .narrow #both { layout: vertical; }
        .narrow #side { width: 1fr; max-width: 100%; height: 1fr; }
        .narrow #channels { height: 1fr; }
        """
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("plus,equals_sign,right", "more", "add a generator", key_display="+"),
            Binding("minus,left", "fewer", "remove one", key_display="-"),
            Binding("0", "none", "remove all"),
            Binding("left_square_bracket", "rest", "rest more", key_display="["),
            Binding("right_square_bracket", "work", "rest less", key_display="]"),
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

        def compose(self) -> ComposeResult:
            yield Header()
            with Horizontal(id="both"):
                with ScrollableContainer(id="side"):
                    yield Static(id="drawing", markup=False)
                yield DataTable(id="channels", cursor_type="row")
            yield Static(id="status", markup=False)
            yield Footer()

        def on_mount(self) -> None:
            self.sub_title = f"{loader.name}{' (simulated)' if loader.simulated else ''}"
            table = self.query_one(DataTable)
            widths = {"channel": 9, "generators": 10, "duty": 5, "GB/s": 8, "each": 7}
            for key, width in widths.items():
                table.add_column(key, key=key, width=width)
            table.add_column("", key="bar", width=_BAR)
            for channel in every:
                table.add_row(str(channel), "0", "", "", "", "", key=str(channel))
            table.focus()
            self.refresh_rates()
            self.set_interval(_EVERY, self.refresh_rates)

        def on_resize(self, event: Resize) -> None:
            """Show drawing and table below each other where they do not fit side by side."""
            self.set_class(event.size.width < _NARROW, "narrow")

        @property
        def chosen(self) -> Channel:
            """The channel that the cursor is on."""
            return every[self.query_one(DataTable).cursor_row]

        def refresh_rates(self) -> None:
            """Take what generators have reported and show it."""
            # While the screen is being taken down, some of its parts are gone before others.
            if not all(self.query(part) for part in ("#drawing", "#channels", "#status")):
                return
            try:
                readings = loader.latest()
            except GnomonError as error:
                self.failure = error
                self.exit()
                return
            self.rates = {channel: sum(rates) for channel, rates in readings.items()}
            self.highest = max([self.highest, *self.rates.values()])
            table = self.query_one(DataTable)
            for channel in every:
                count, rate = self.counts[channel], self.rates.get(channel, 0.0)
                row = str(channel)
                table.update_cell(row, "generators", str(count) if count else "·")
                duty = self.tenths[channel]
                table.update_cell(row, "duty", f"{duty / 10:.0%}" if count or duty < 10 else "")
                table.update_cell(row, "GB/s", f"{rate / 1e9:7.2f}" if count else "")
                table.update_cell(row, "each", f"{rate / count / 1e9:6.2f}" if count else "")
                table.update_cell(row, "bar", bar(rate / self.highest) if count else "")
            graph = topology.best
            links = graph.links if graph else ()
            lines = draw_graph(node_boxes(topology, self.rates), links, lambda _: "known")
            self.query_one("#drawing", Static).update("\n".join(lines[: _legend_from(lines)]))
            total = sum(self.counts.values())
            self.query_one("#status", Static).update(
                f"{total} generator{'s' * (total != 1)}, "
                f"{sum(self.rates.values()) / 1e9:.2f} GB/s in all"
            )

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


def _legend_from(lines: list[str]) -> int:
    """Return where the drawing ends and the list of links begins."""
    return next((i for i, line in enumerate(lines) if not line), len(lines))
