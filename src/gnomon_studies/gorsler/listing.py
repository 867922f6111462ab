"""E7: what the machine can count, as its listings of native events and of presets say."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon.events.presets import Available, known_presets
from gnomon.sources.machine import MachineSource
from gnomon_studies.gorsler.runs import MACHINE
from gnomon_studies.verdicts import exact


def run(seed: int) -> Iterator[Row]:
    """Count native events, presets and derived presets."""
    source = MachineSource(MACHINE, seed=seed, profile="thesis")
    table = source.preset_table()
    found = [table.availability(name, lambda n: source.resolve(n)[0]) for name in known_presets()]
    presets = [each for each in found if isinstance(each, Available)]
    derived = [each for each in presets if len(each.operands) > 1]
    yield exact("E7", "native events", 42, len(list(source.events())), "39 and 3 synthetic ones")
    yield exact("E7", "presets", 24, len(presets), "with the table as it was published")
    yield exact("E7", "derived presets", 4, len(derived))
