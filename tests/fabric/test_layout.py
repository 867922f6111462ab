"""Packets to symbols and back, as the layout file says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gnomon.fabric
from gnomon.errors import UsageError
from gnomon.fabric import load_layout

_FILE = Path(gnomon.fabric.__file__).with_name("layout.toml")


def test_the_types_are_those_of_the_documents() -> None:
    """Lengths are ours; numbers, sizes and headers are printed (Manzke, table 4.2)."""
    form = load_layout()
    sends = [(n, form.type(n).data_bytes, form.type(n).extended) for n in (1, 4, 5, 8, 16, 17, 36)]
    assert sends == [
        *((1, 0, True), (4, 256, True), (5, 0, False), (8, 256, False)),
        *((16, 64, False), (17, 256, False), (36, 256, False)),
    ]
    assert form.lengths()[1:21] == [
        *(16, 24, 48, 144, 8, 16, 40, 136, 4),
        *(16, 24, 48, 144, 8, 16, 40, 136, 4, 1, 8),
    ]
    assert form.type(21).title == "Blink request-send, extended header, 0 B"


@given(number=st.sampled_from(range(1, 37)), seed=st.integers(0, 1 << 32), bit=st.integers(0, 5000))
@settings(max_examples=150, deadline=None)
def test_what_is_encoded_is_decoded_and_a_wrong_bit_is_found(
    number: int, seed: int, bit: int
) -> None:
    form, random = load_layout(), np.random.default_rng(seed)
    kind = form.type(number)
    fields: dict[str, np.ndarray] = {}
    for symbol in kind.symbols:
        for name, bits in form.fields[symbol].items():
            if name == "crc" or name in kind.fixed:
                continue
            if isinstance(bits, str):
                words = sum(name in form.fields[each] for each in kind.symbols)
                fields[name] = random.integers(0, 1 << 16, (3, words), dtype=np.uint16)
            else:
                top = 48 if name in form.wide else bits[0] - bits[1] + 1
                fields[name] = random.integers(0, 1 << top, 3, dtype=np.uint64)
    symbols = form.encode(number, 3, **fields)
    found = form.decode(number, symbols)
    for name, value in fields.items():
        assert (found[name] == value).all(), name
    if not kind.has_crc:
        return
    assert found["crc_ok"].all()
    at, shift = divmod(bit % (16 * len(kind.symbols)), 16)
    symbols[1, at] ^= np.uint16(1 << shift)
    masked = form.fields[kind.symbols[at]].get("old") == (shift, shift)
    assert form.decode(number, symbols)["crc_ok"].tolist() == [True, masked, True]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("target_id = [15, 0]", "target_id = [16, 0]", "symbols.target: 'target_id' must be"),
        ("phase = [11, 10]", "phase = [12, 10]", "symbols.command: two fields share a bit"),
        ('"data*D", "crc"]\nresponse', '"date*D", "crc"]\nresponse', "packets.request: 'date*D'"),
        ("first = 29", "first = 30", "there is no room for type 37"),
        ('packet = "sync"', 'packet = "sink"', "types.sync.packet: there is no packet 'sink'"),
        ("symbols = 5 ", "symbols = 6 ", "samples.link.symbols: must be 1 to 5"),
        ("initial = 0xFFFF", "", "crc.initial: is missing"),
        ("echo = 1\n", "echo = 1\nsync = 1\n", "flag_line.sync: is not a known key"),
    ],
)
def test_a_mistake_in_a_layout_is_named(tmp_path: Path, before: str, after: str, said: str) -> None:
    text = _FILE.read_text("utf-8")
    assert before in text
    file = tmp_path / "layout.toml"
    file.write_text(text.replace(before, after))
    with pytest.raises(UsageError) as caught:
        load_layout(file)
    assert said in str(caught.value)


def test_unknown_types_and_fields_are_refused() -> None:
    with pytest.raises(UsageError, match="no packet type 37"):
        load_layout().type(37)
    with pytest.raises(UsageError, match="have no field 'adress'"):
        load_layout().encode(5, 1, adress=3)
    with pytest.raises(UsageError, match="have 8 symbols"):
        load_layout().decode(5, np.zeros((1, 9), np.uint16))
