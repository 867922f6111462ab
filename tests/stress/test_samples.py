"""What others did meanwhile, from a made-up /proc."""

from __future__ import annotations

import os
from pathlib import Path

from gnomon.stress.samples import HostLoad, LoadWatch


def test_load_is_what_passed_since_the_watch_began(tmp_path: Path) -> None:
    (tmp_path / "loadavg").write_text("1.50 1.00 0.50 1/100 1\n")
    (tmp_path / "stat").write_text("cpu  100 0 0 1000 0 0 0 0 0 0\ncpu0 1 1 1\n")
    watch = LoadWatch(tmp_path)
    ticks = os.sysconf("SC_CLK_TCK") * 3600
    (tmp_path / "stat").write_text(f"cpu  {100 + ticks} 0 0 {1000 + 2 * ticks} 0 0 0 {ticks} 0 0\n")
    load = watch.load()
    assert load.average == 1.5
    assert load.others > 1
    assert load.steal == 0.25
    assert "25.0% stolen" in str(load)


def test_a_system_that_tells_nothing_has_no_load(tmp_path: Path) -> None:
    assert LoadWatch(tmp_path).load() == HostLoad(0.0, 0.0, 0.0)
