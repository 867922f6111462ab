"""Packets as symbols: fields to symbols and back, as `layout.toml` says and nothing else.

All functions take many packets of one type at once: symbols are arrays of (packet, symbol).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import UsageError
from gnomon.events.tomlfile import Section, parse_definitions, read_definitions
from gnomon.machines.fields import number, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TYPES = range(1, 37)
REQUEST_ECHO, RESPONSE_ECHO, IDLE, SYNC = 9, 18, 19, 20
BLINK_REQUEST, BLINK_RESPONSE = 21, 29
ECHO_SYMBOLS, SYNC_SYMBOLS = 4, 8
SYMBOL_BITS = 16
SYMBOL_BYTES = 2
WORDS = "words"
_WORD = re.compile(r"(\w+)(?:\*([ED]|[1-9][0-9]{0,2}))?")


@dataclass(frozen=True, slots=True)
class PacketType:
    """One of the 36 types: what its symbols are, and the fields that are the same in all of it."""

    number: int
    name: str
    symbols: tuple[str, ...]
    data_bytes: int = 0
    extended: bool = False
    fixed: dict[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The type in words, as the documents name them."""
        words = self.name.replace("_", "-").replace("blink-", "Blink ")
        if "send" not in self.name:
            return words
        header = "extended header, " if self.extended else ""
        return f"{words}, {header}{self.data_bytes} B"

    @property
    def has_crc(self) -> bool:
        """Whether its last symbol is a CRC."""
        return self.symbols[-1] == "crc"


@dataclass(frozen=True, slots=True)
class Sample:
    """How a probe packs symbols into samples of 96 bits; a mark is (word, high bit, low bit)."""

    symbols: int
    marks: dict[str, tuple[int, int, int]]


@dataclass(frozen=True)
class Layout:
    """A layout file that has been read."""

    name: str
    types: dict[int, PacketType]
    fields: dict[str, dict[str, tuple[int, int] | str]]  # symbol: field: bits
    wide: frozenset[str]
    polynomial: int
    initial: int
    masked: tuple[tuple[str, str], ...]
    samples: dict[str, Sample]
    stamps: dict[str, float]
    flag_line: dict[str, int]
    sync_pattern: int

    def length(self, number: int) -> int:
        """Return the symbols of a packet of this type."""
        return len(self.type(number).symbols)

    def lengths(self) -> list[int]:
        """Return the symbols of all types, by number; there is no type 0."""
        return [0, *(self.length(number) for number in TYPES)]

    def type(self, number: int) -> PacketType:
        """Return a type by its number."""
        try:
            return self.types[number]
        except KeyError:
            raise UsageError(
                f"there is no packet type {number}: types are {TYPES[0]} to {TYPES[-1]}."
            ) from None

    # Symbols

    def encode(self, number: int, count: int, **fields: Any) -> NDArray[np.uint16]:
        """Return packets of one type; fields that are not given are 0, and the CRC is right."""
        import numpy as np

        kind = self.type(number)
        known = {name for symbol in kind.symbols for name in self.fields[symbol]}
        if wrong := sorted(fields.keys() - known):
            raise UsageError(f"packets of type {number} have no field '{wrong[0]}'.")
        given = {**fields, **kind.fixed}
        out = np.zeros((count, len(kind.symbols)), np.uint16)
        seen: dict[str, int] = {}
        for k, symbol in enumerate(kind.symbols):
            for name, bits in self.fields[symbol].items():
                if isinstance(bits, str):
                    at = seen[name] = seen.get(name, -1) + 1
                    if name in given:
                        out[:, k] = np.asarray(given[name])[:, at]
                elif name in given:
                    out[:, k] |= self._placed(name, given[name], bits)
        if kind.has_crc:
            out[:, -1] = self.crc(number, out[:, :-1])
        return out

    def _placed(self, name: str, value: Any, bits: tuple[int, int]) -> NDArray[np.uint16]:
        import numpy as np

        high, low = bits
        words = np.asarray(value).astype(np.uint64)
        if name in self.wide:
            return ((words >> np.uint64(low)) & np.uint64(0xFFFF)).astype(np.uint16)
        return ((words & np.uint64((2 << (high - low)) - 1)) << np.uint64(low)).astype(np.uint16)

    def decode(self, number: int, symbols: NDArray[np.uint16]) -> dict[str, Any]:
        """Return the fields as arrays, and `crc_ok` where the type has a CRC."""
        import numpy as np

        kind = self.type(number)
        if symbols.ndim != 2 or symbols.shape[1] != len(kind.symbols):
            raise UsageError(f"packets of type {number} have {len(kind.symbols)} symbols.")
        out: dict[str, Any] = {}
        words: dict[str, list[int]] = {}
        for k, symbol in enumerate(kind.symbols):
            for name, bits in self.fields[symbol].items():
                if isinstance(bits, str):
                    words.setdefault(name, []).append(k)
                elif name in self.wide:
                    part = symbols[:, k].astype(np.uint64) << np.uint64(bits[1])
                    out[name] = out[name] | part if name in out else part
                else:
                    mask = np.uint16((2 << (bits[0] - bits[1])) - 1)
                    out[name] = (symbols[:, k] >> np.uint16(bits[1])) & mask
        out |= {name: symbols[:, ks[0] : ks[-1] + 1] for name, ks in words.items()}
        if kind.has_crc:
            out["crc_ok"] = self.crc(number, symbols[:, :-1]) == symbols[:, -1]
        return out

    def crc(self, number: int, symbols: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """Return the CRC of each packet, with masked fields taken as 0."""
        import numpy as np

        table = _crc_table(self.polynomial)
        given = symbols.copy()
        for symbol, name in self.masked:
            for k, each in enumerate(self.type(number).symbols[: symbols.shape[1]]):
                bits = self.fields[each].get(name)
                if each.endswith(symbol) and isinstance(bits, tuple):
                    high, low = bits
                    given[:, k] &= np.uint16(0xFFFF ^ (((2 << (high - low)) - 1) << low))
        value = np.full(len(given), self.initial, np.uint16)
        eight = np.uint16(8)
        for column in given.T:
            for byte in (column >> eight, column & np.uint16(0xFF)):
                value = (value << eight) ^ table[(value >> eight) ^ byte]
        return value


@cache
def _crc_table(polynomial: int) -> NDArray[np.uint16]:
    import numpy as np

    table = np.arange(256, dtype=np.uint32) << 8
    for _ in range(8):
        shifted = table << 1
        table = np.where(table & 0x8000, shifted ^ polynomial, shifted) & 0xFFFF
    return table.astype(np.uint16)


# ---- reading the file --------------------------------------------------------------------------


@cache
def load_layout(file: str | Path | None = None) -> Layout:
    """Return the layout that comes with gnomon, or that of a file of the same form."""
    if file is None:
        path = Path(__file__).with_name("layout.toml")
        return _layout(parse_definitions(path.read_text("utf-8"), path.name))
    return _layout(read_definitions(file))


def _layout(top: Section) -> Layout:
    name, wide = top.text("name"), frozenset(top.texts("wide"))
    crc = top.section("crc")
    polynomial, initial = whole(crc, "polynomial"), whole(crc, "initial")
    masked = []
    for text in crc.texts("masked"):
        symbol, dot, field_name = text.partition(".")
        if not dot:
            raise crc.error(f"'{text}' is no field: write SYMBOL.FIELD", "masked")
        masked.append((symbol, field_name))
    crc.finish()
    fields = {key: _fields(top.section("symbols"), key, wide) for key in _keys(top, "symbols")}
    packets = top.section("packets")
    words = {key: _words(packets, key, fields) for key in _keys(top, "packets")}
    types = _types(top, words)
    samples = {key: _sample(top.section("samples").section(key)) for key in _keys(top, "samples")}
    stamps = top.section("stamps")
    times = {key: number(stamps, key) for key in _STAMPS}
    stamps.finish()
    line = top.section("flag_line")
    tails = {key: whole(line, key) for key in ("send", "echo")}
    line.finish()
    sync = whole(top, "sync_pattern")
    top.finish()
    return Layout(
        name, types, fields, wide, polynomial, initial, tuple(masked), samples, times, tails, sync
    )


_STAMPS = ("absolute_bits", "absolute_ns", "relative_bits", "relative_ns")


def _keys(top: Section, key: str) -> tuple[str, ...]:
    section = top.section(key)
    if not section.data:
        raise top.error("is missing", key)
    return tuple(section.data)


def _fields(section: Section, symbol: str, wide: frozenset[str]) -> dict[str, Any]:
    table = section.section(symbol)
    found: dict[str, Any] = {}
    for name, bits in table.data.items():
        most = 63 if name in wide else SYMBOL_BITS - 1
        if bits == WORDS:
            found[name] = WORDS
        elif (
            isinstance(bits, list)
            and len(bits) == 2
            and all(type(bit) is int for bit in bits)
            and 0 <= bits[1] <= bits[0] <= most
        ):
            found[name] = (bits[0], bits[1])
        else:
            raise section.error(
                f"'{name}' must be [high bit, low bit] of at most {most}, or '{WORDS}'", symbol
            )
    used = [bit for name, (high, low) in _narrow(found, wide) for bit in range(low, high + 1)]
    if len(set(used)) != len(used):
        raise section.error("two fields share a bit", symbol)
    return found


def _narrow(fields: dict[str, Any], wide: frozenset[str]) -> list[tuple[str, tuple[int, int]]]:
    return [(n, bits) for n, bits in fields.items() if bits != WORDS and n not in wide]


def _words(
    section: Section, key: str, fields: dict[str, dict[str, Any]]
) -> tuple[tuple[str, str], ...]:
    words = []
    for text in section.texts(key):
        found = _WORD.fullmatch(text)
        if found is None or found[1] not in fields:
            raise section.error(f"'{text}' is no symbol: write NAME or NAME*N", key)
        words.append((found[1], found[2] or "1"))
    return tuple(words)


def _types(top: Section, words: dict[str, tuple[tuple[str, str], ...]]) -> dict[int, PacketType]:
    found: dict[int, PacketType] = {}
    tables = top.section("types")
    for name in _keys(top, "types"):
        own = tables.section(name)
        first = whole(own, "first")
        table = own
        if "same_as" in own:
            other = own.text("same_as")
            if other not in tables or other == name:
                raise own.error(f"there is no type '{other}'", "same_as")
            own.finish()
            table = tables.section(other)
            whole(table, "first")
        packet = table.text("packet")
        if packet not in words:
            raise table.error(f"there is no packet '{packet}'", "packet")
        sends = "data" in table
        sizes = [(e, d) for e in _sizes(table, "extended") for d in _sizes(table, "data")]
        base, answer = whole(table, "command", 0), whole(table, "response", 0)
        table.finish()
        for k, (extended, data) in enumerate(sizes if sends else [(0, 0)]):
            times = {"E": extended, "D": data // SYMBOL_BYTES}
            symbols = tuple(
                symbol
                for symbol, count in words[packet]
                for _ in range(times[count] if count in times else int(count))
            )
            fixed: dict[str, int] = {}
            if sends:
                fixed = {"echo": 0, "extended": int(extended > 0)}
                fixed["cmd"] = base + _sizes(table, "data").index(data)
            elif packet == "echo":
                fixed = {"echo": 1, "response": answer}
            if first + k in found or first + k not in TYPES:
                raise own.error(f"there is no room for type {first + k}", "first")
            found[first + k] = PacketType(first + k, name, symbols, data, extended > 0, fixed)
    if missing := [each for each in TYPES if each not in found]:
        raise tables.error(f"type {missing[0]} is missing")
    return found


def _sizes(section: Section, key: str) -> list[int]:
    section.asked.add(key)
    value = section.data.get(key, [])
    if not isinstance(value, list) or not all(
        type(each) is int and 0 <= each <= 1024 and each % SYMBOL_BYTES == 0 for each in value
    ):
        raise section.error("must be a list of even numbers up to 1024", key)
    return value


def _sample(section: Section) -> Sample:
    symbols = whole(section, "symbols")
    if not 1 <= symbols <= 5:
        raise section.error("must be 1 to 5: a sample has six words, and marks need one", "symbols")
    marks = {}
    for key in section.data:
        if key == "symbols":
            continue
        table = section.section(key)
        word, bits = whole(table, "word"), table.data.get("bits")
        table.asked.add("bits")
        if not (isinstance(bits, list) and len(bits) == 2 and 0 <= bits[1] <= bits[0] < 16):
            raise table.error("must be [high bit, low bit] of a word of 16", "bits")
        if not symbols <= word <= 5:
            raise table.error(f"must be {symbols} to 5: other words have symbols", "word")
        table.finish()
        marks[key] = (word, bits[0], bits[1])
    return Sample(symbols, marks)
