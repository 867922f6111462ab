"""The channel of the document's test host that its experiments on links load, simulated.

Two figures of the document went into the description of the machine: what one generator reads,
as plain reads, and what a link carries at most. They are inputs here and no findings.
"""

from __future__ import annotations

from gnomon.analysis.links.simulated import SimulatedLoader
from gnomon.analysis.study import Row, Verdict
from gnomon.machines.description import load_machine
from gnomon.stress.channels import Channel
from gnomon.stress.streams import Stream

MACHINE = "haswell-ex-4s"
CHANNEL = Channel(0, 1)
PLATEAU = 14.3
"""GiB/s that the document found a link to carry."""
READS = "generators read only, which the machine's description fits to the published 5.2 GiB/s"


def loader(stream: Stream, seed: int) -> SimulatedLoader:
    """Return generators for the channels of the simulated machine."""
    return SimulatedLoader(load_machine(MACHINE), stream=stream, seed=seed)


def gib(rate: float) -> float:
    """Return bytes a second in GiB/s, as the document has them."""
    return rate / 2**30


def calibrated(id: str, quantity: str, published: float, ours: float, what: str) -> Row:  # noqa: A002
    """Return the row of an input: that it comes out again shows only that it went in."""
    note = f"an input, not a finding: {what} was chosen to give it"
    return Row(id, quantity, published, ours, "calibrated", Verdict.SHAPE_ONLY, note)
