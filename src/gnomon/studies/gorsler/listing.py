"""E7: what the machine can count, as its listings of native events and of presets say."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.sources.machine import MachineSource
from gnomon.studies.model import Row
from gnomon.studies.verdicts import exact


def run(seed: int) -> Iterator[Row]:
    """Count native events, presets and derived presets."""
    source = MachineSource("niagara2", seed=seed)
    natives = list(source.events())
    table = source.preset_table()
    available = table.available(lambda name: source.resolve(name)[0])
    derived = [each for each in available if len(each.operands) > 1]
    yield exact("E7", "native events", 42, len(natives))
    yield exact("E7", "presets", 24, len(available))
    yield exact("E7", "derived presets", 4, len(derived))
