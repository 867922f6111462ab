"""Mutants of files of every format: `python -m tests.recording.traces.fuzz 100000`.

Each is read as a whole, or refused in one sentence; a number (the seed) makes it again.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

from tests.recording.traces.captures import KINDS, frame, pcap, pcapng

from gnomon.errors import GnomonError
from gnomon.recording.traces import Trace
from gnomon.recording.traces.importers import import_trace

DATA = Path(__file__).parent / "data"


@cache
def seeds() -> list[bytes]:
    """Return a whole file of each format."""
    frames = [
        (1_700_000_000 * 10**9 + n, frame(kind, (n, 2), (80, n), 7 * n, n % 2).data)
        for n, kind in enumerate(KINDS)
    ]
    captures = [pcap(frames), pcap(frames, ">", nano=False), pcapng(frames), pcapng(frames, ">")]
    rows = b"time,type,src,dst,payload,process\n1,68,2,3,00ff,a\n2,event,,,,b\n"
    return [*captures, *(each.read_bytes() for each in sorted(DATA.iterdir())), rows]


def mutant(seed: int) -> bytes:
    """Return a file with a few bytes changed, put in, taken out or moved."""
    chance = random.Random(seed)
    found = bytearray(seeds()[seed % len(seeds())])
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = chance.randrange(len(found) + 1)
        size = chance.choice((1, 1, 2, 4, 16))
        what = chance.randrange(5)
        if what == 0:
            found[at : at + size] = chance.randbytes(size)
        elif what == 1:
            found[at:at] = chance.choice((b"\xff", b"\0", b"9", b'"', b"{", b"\n")) * size
        elif what == 2:
            del found[at : at + size]
        elif what == 3:
            del found[at:]
        else:
            source = chance.randrange(len(found) + 1)
            found[at : at + size] = found[source : source + size]
        found = found or bytearray(b"\0")
    return bytes(found)


def attempt(seed: int, folder: Path) -> str:
    """Import a mutant and read every record: "read" or "refused", and nothing else."""
    path = folder / "mutant"
    path.write_bytes(mutant(seed))
    chance = seed // len(seeds())
    try:
        made = import_trace(
            [path], folder / "out", sort=chance % 2 == 0, salvage=chance % 3 == 0, overwrite=True
        )
    except GnomonError as error:
        assert str(error).strip().endswith((".", ")."))
        return "refused"
    trace = Trace(made)
    for number in range(trace.rows):
        trace.record(number)
        trace.payload(number)
    assert trace.verify() == []
    return "read"


def main() -> None:
    """Try so many mutants and count what became of them."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        print(Counter(attempt(seed, Path(folder)) for seed in range(count)))


if __name__ == "__main__":
    main()
