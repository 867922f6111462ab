"""The live screen of links, driven by a pilot on a simulated machine."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from gnomon import units
from gnomon.analysis.links.simulated import SimulatedLoader
from gnomon.analysis.links.topology import machine_topology
from gnomon.errors import NotSupportedError
from gnomon.machines import load_machine
from gnomon.stress.nodes import Channel
from gnomon.views.links_live import Shown, channels_table, live_app, require_textual
from gnomon.views.terminal import Screen, lines


def drive(*keys: str, machine: str = "ring-4") -> tuple[Any, SimulatedLoader, str]:
    """Press keys on the screen; returns it, what it loads, and what the drawing showed."""
    described = load_machine(machine)
    loader = SimulatedLoader(described)
    app: Any = live_app(loader, machine_topology(described))

    async def session() -> str:
        from textual.widgets import Static

        async with app.run_test(size=(120, 40)) as pilot:
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            return str(app.query_one("#drawing", Static).render())

    return app, loader, asyncio.run(session())


def test_arrows_select_and_plus_adds_a_generator() -> None:
    app, loader, drawing = drive("down", "plus", "plus")
    assert loader.loads == {Channel(0, 2): 2}
    assert app.counts[Channel(0, 2)] == 2
    assert app.rates[Channel(0, 2)] > 1e9
    assert "node 2" in drawing
    rate = units.number(app.rates[Channel(0, 2)], "B/s", digits=3)
    assert f"gives {rate:>9}" in drawing


def test_minus_removes_and_zero_clears() -> None:
    _, loader, _ = drive("plus", "plus", "minus")
    assert loader.loads == {Channel(0, 1): 1}
    _, loader, _ = drive("plus", "plus", "0", "minus")
    assert loader.loads == {}


def test_brackets_limit_what_generators_read() -> None:
    full, _, _ = drive("plus")
    less, loader, _ = drive("plus", *["left_square_bracket"] * 5)
    assert loader.loads == {Channel(0, 1): 1}
    assert less.rates[Channel(0, 1)] == pytest.approx(0.5 * full.rates[Channel(0, 1)], rel=0.25)
    least, _, _ = drive("plus", *["left_square_bracket"] * 30, "right_square_bracket")
    assert least.tenths[Channel(0, 1)] == 2


def test_more_than_fits_is_refused_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from textual.app import App

    told: list[str] = []  # here, as what is on the screen goes after some seconds
    monkeypatch.setattr(App, "notify", lambda _, text, **__: told.append(text))
    _, loader, _ = drive("plus", "plus", "plus")
    assert loader.loads == {Channel(0, 1): 2}
    assert len(told) == 1


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_the_screen_can_be_left(key: str) -> None:
    app, _, _ = drive("plus", key)
    assert app.failure is None
    assert not app.is_running


def test_one_node_shows_its_local_channel() -> None:
    app, loader, _ = drive("plus", machine="laptop")
    assert loader.loads == {Channel(0, 0): 1}
    assert list(app.counts) == [Channel(0, 0)]


def test_a_channel_is_a_row_whose_bar_is_full_at_the_most() -> None:
    rows = [Shown(Channel(0, 1), 2, 5, 8e9), Shown(Channel(1, 0), 0, 10, 0.0)]
    head, first, second = lines([channels_table(rows, 8e9, 0)], Screen(100, colour=True))
    assert head.split()[1:4] == ["generators", "duty", "reads"]
    assert first.startswith("\x1b[7m")  # the cursor
    assert "█" * 12 in first
    for text in ("0->1", "50 %", "8 GB/s", "4 GB/s", "100 %"):
        assert text in first
    assert "1->0" in second
    assert "GB/s" not in second


def test_the_cursor_goes_far_at_once_and_stays_on_the_list() -> None:
    last = drive("end", "down", "plus")[1]
    assert last.loads == {Channel(3, 2): 1}
    first = drive("end", "home", "up", "plus")[1]
    assert first.loads == {Channel(0, 1): 1}
    assert drive("pagedown", "plus")[1].loads == {Channel(3, 1): 1}


def test_a_click_chooses_a_channel() -> None:
    described = load_machine("ring-4")
    with SimulatedLoader(described) as loader:
        app: Any = live_app(loader, machine_topology(described))

        async def session() -> None:
            async with app.run_test(size=(120, 40)) as pilot:
                await pilot.click("#channels", offset=(3, 4))
                await pilot.press("plus")

        asyncio.run(session())
        assert loader.loads == {Channel(1, 2): 1}


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.setattr("gnomon.views.links_live.find_spec", lambda _: None)
    with pytest.raises(NotSupportedError, match=r"pip install 'gnomon\[live\]'"):
        require_textual()


def test_a_terminal_may_be_made_smaller_and_larger() -> None:
    described = load_machine("haswell-ex-4s")
    with SimulatedLoader(described) as loader:
        app: Any = live_app(loader, machine_topology(described))

        async def session() -> list[tuple[bool, int]]:
            seen = []
            async with app.run_test(size=(140, 40)) as pilot:
                for size in ((140, 40), (80, 24), (20, 5), (1, 1), (200, 60)):
                    await pilot.resize_terminal(*size)
                    await pilot.press("plus")
                    await pilot.pause()
                    seen.append((app.has_class("narrow"), app.counts[Channel(0, 1)]))
            return seen

        assert asyncio.run(session()) == [(False, 1), (True, 2), (True, 3), (True, 4), (False, 5)]
