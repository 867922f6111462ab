"""The display filter: a line such as `tcp.port == 6379 and frame.len > 100`, read into a tree.

    FILTER  = TEST | not FILTER | FILTER and FILTER | FILTER or FILTER | ( FILTER )
    TEST    = NAME                          records of a kind, or that have the field
            | FIELD == VALUE                also != < <= > >=
            | FIELD in {VALUE, LOW..HIGH}
            | FIELD contains "TEXT"         part of a name

`&&`, `||` and `!` do as well. A record that does not have a field passes no test of it: so
`not tcp.port == 80` keeps what has no ports, and `tcp.port != 80` does not. A field that stands for
two, such as tcp.port, is equal when either is, and differs when both do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gnomon.errors import UsageError
from gnomon.recording.traces import types as t

LONGEST = 10_000
_LOWEST, _HIGHEST = -(2**63), 2**64
_DEEPEST = 200


class FilterError(UsageError):
    """A filter that cannot be read; `position` is where, counted from 1."""

    def __init__(self, what: str, position: int, text: str) -> None:
        self.position = position
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        super().__init__(f"the filter {shown!r}: {what} at position {position}.")


@dataclass(frozen=True, slots=True)
class Field:
    """A name of the language: the columns that it looks at, of which types of records."""

    columns: tuple[str, ...]
    types: frozenset[int]


class Span(NamedTuple):
    """Values from `low` to `high`; both ends belong to it."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class And:
    """Both."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Or:
    """Either."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Not:
    """What the part does not keep."""

    part: Node


@dataclass(frozen=True, slots=True)
class Kinds:
    """Records of some types."""

    types: frozenset[int]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Records with a value in one of the spans; `outside`: with all values in none of them."""

    field: Field
    spans: tuple[Span, ...]
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """Records with one of the names, or with one that contains the text."""

    field: Field
    texts: tuple[str, ...]
    within: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Has:
    """Records that have the field at all."""

    field: Field


Node = And | Or | Not | Kinds | Numbers | Texts | Has


def _field(*columns: str, types: frozenset[int] | None = None) -> Field:
    held = frozenset[int]().union(*(t.COLUMNS[each].types for each in columns))
    return Field(columns, held if types is None else types & held)


FIELDS: dict[str, Field] = {
    **{
        name: _field(name) for name in t.COLUMNS if name not in ("payload", "source", "destination")
    },
    "frame.time": _field("time"),
    "frame.type": _field("type"),
    "frame.len": _field("length"),
    "frame.interface": _field("lc"),
    "sci.type": _field("type", types=t.SCI),
    "sci.src": _field("src", types=t.SCI),
    "sci.dst": _field("dst", types=t.SCI),
    "sci.node": _field("src", "dst", types=t.SCI),
    "sci.tx": _field("tx"),
    "sci.addr": _field("addr", types=t.SCI),
    "sci.flags": _field("flags", types=t.SCI),
    "sci.latency": _field("dt"),
    "sci.idles": _field("idles"),
    "sci.crc": _field("crc"),
    "sci.probe": _field("lc", types=t.SCI),
    "eth.type": _field("ethertype"),
    "vlan.id": _field("vlan"),
    "ip.proto": _field("protocol"),
    "ip.src": _field("source", types=t.IP),
    "ip.dst": _field("destination", types=t.IP),
    "ip.addr": _field("source", "destination", types=t.IP),
    "host": _field("source", "destination"),
    "tcp.srcport": _field("sport", types=t.TCP),
    "tcp.dstport": _field("dport", types=t.TCP),
    "tcp.port": _field("sport", "dport", types=t.TCP),
    "tcp.flags": _field("flags", types=t.TCP),
    "tcp.seq": _field("seq", types=t.TCP),
    "tcp.ack": _field("ack"),
    "tcp.window": _field("win"),
    "udp.srcport": _field("sport", types=t.UDP | t.ROCE),
    "udp.dstport": _field("dport", types=t.UDP | t.ROCE),
    "udp.port": _field("sport", "dport", types=t.UDP | t.ROCE),
    "roce.opcode": _field("opcode", types=t.ROCE),
    "roce.psn": _field("seq", types=t.ROCE),
    "roce.qp": _field("qp"),
    "icmp.type": _field("opcode", types=t.ICMP),
    "event.name": _field("event"),
    "event.process": _field("process"),
    "event.cpu": _field("lc", types=t.EVENTS),
    "event.symbol": _field("symbol"),
}
"""The fields of the language; each column can also be named as SQL has it."""

KINDS: dict[str, frozenset[int]] = {
    "sci": t.SCI,
    "sci.request": t.REQUESTS,
    "sci.response": t.RESPONSES,
    "sci.echo": t.ECHOES,
    "sci.extended": t.EXTENDED,
    "sci.data": t.WITH_DATA,
    "network": t.NETWORK,
    "arp": frozenset((65,)),
    "ip": t.IP,
    "tcp": t.TCP,
    "udp": t.UDP | t.ROCE,
    "icmp": t.ICMP,
    "roce": t.ROCE,
    "short": frozenset((72,)),
    "events": t.EVENTS,
}
"""Names for kinds of records, which stand alone."""

_UNITS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}
_TOKEN = re.compile(
    r"\s*(?:(?P<address>\d+\.\d+\.\d+\.\d+|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,}[\d.]*)"
    r"|(?P<number>-?0[xX][0-9a-fA-F]+|-?\d+(?:\.\d+(?!\.))?(?:ns|us|ms|s)?(?![\w]))"
    r"|(?P<name>[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*)"
    r'|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||\.\.|[<>!(){},]))"
)
_COMPARE: dict[str, Callable[[int], tuple[Span, ...]]] = {
    "==": lambda v: (Span(v, v),),
    "!=": lambda v: (Span(v, v),),
    "<": lambda v: (Span(_LOWEST, v - 1),),
    "<=": lambda v: (Span(_LOWEST, v),),
    ">": lambda v: (Span(v + 1, _HIGHEST),),
    ">=": lambda v: (Span(v, _HIGHEST),),
}


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse(text: str) -> Node | None:
    """Return the tree of a filter, None for one that is empty and keeps everything."""
    if len(text) > LONGEST:
        raise FilterError(f"it is longer than {LONGEST:,} characters", LONGEST, text)
    tokens = [*_tokens(text)]
    return _Parser(text, tokens).whole() if tokens else None


def _tokens(text: str) -> Iterator[_Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise FilterError(f"unexpected {text[at]!r}", at + 1, text)
        kind = match.lastgroup
        assert kind is not None
        yield _Token(kind, match[kind], match.start(kind) + 1)
        at = match.end()


class _Parser:
    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text, self._tokens, self._at, self._depth = text, tokens, 0, 0

    def whole(self) -> Node:
        tree = self._either()
        if self._at < len(self._tokens):
            raise self._wrong("expected 'and', 'or' or the end")
        return tree

    def _peek(self) -> str:
        if self._at >= len(self._tokens):
            return ""
        token = self._tokens[self._at]
        return token.text.lower() if token.kind in ("name", "sign") else ""

    def _wrong(self, what: str) -> FilterError:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            return FilterError(f"{what} instead of {token.text!r}", token.position, self._text)
        return FilterError(f"{what} after its end", len(self._text) + 1, self._text)

    def _next(self, kinds: tuple[str, ...], what: str) -> _Token:
        if self._at >= len(self._tokens) or self._tokens[self._at].kind not in kinds:
            raise self._wrong(f"expected {what}")
        self._at += 1
        return self._tokens[self._at - 1]

    def _sign(self, signs: tuple[str, ...], what: str) -> str:
        found = self._peek()
        if found not in signs:
            raise self._wrong(f"expected {what}")
        self._at += 1
        return found

    def _either(self) -> Node:
        tree = self._both()
        while self._peek() in ("||", "or"):
            self._at += 1
            tree = Or(tree, self._both())
        return tree

    def _both(self) -> Node:
        tree = self._one()
        while self._peek() in ("&&", "and"):
            self._at += 1
            tree = And(tree, self._one())
        return tree

    def _one(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(f"more than {_DEEPEST} levels deep")
        try:
            if self._peek() in ("!", "not"):
                self._at += 1
                return Not(self._one())
            if self._peek() == "(":
                self._at += 1
                tree = self._either()
                self._sign((")",), "')'")
                return tree
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Node:
        token = self._next(("name",), "a field")
        name = token.text.lower()
        if name in KINDS:
            return Kinds(KINDS[name])
        field = FIELDS.get(name)
        if field is None:
            close = difflib.get_close_matches(name, [*FIELDS, *KINDS], 1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise FilterError(f"no field '{token.text}'{hint}", token.position, self._text)
        found = self._peek()
        if found in _COMPARE:
            self._at += 1
            return self._comparison(field, found)
        if found == "in":
            self._at += 1
            return self._membership(field)
        if found == "contains":
            self._at += 1
            self._check_names(field, "contains", names=True)
            return Texts(field, (self._quoted(),), within=True)
        return Has(field)

    def _comparison(self, field: Field, sign: str) -> Node:
        outside = sign == "!="
        if _is_names(field):
            if sign not in ("==", "!="):
                self._at -= 1
                raise self._wrong("names are only equal or not: expected == or !=")
            return Texts(field, (self._quoted(),), outside=outside)
        self._check_names(field, sign, names=False)
        return Numbers(field, _COMPARE[sign](self._number(field)), outside)

    def _membership(self, field: Field) -> Node:
        self._sign(("{",), "'{'")
        texts: list[str] = []
        spans: list[Span] = []
        while True:
            if _is_names(field):
                texts.append(self._quoted())
            else:
                low = high = self._number(field)
                if self._peek() == "..":
                    self._at += 1
                    high = self._number(field)
                spans.append(Span(low, high))
            if self._sign((",", "}"), "',' or '}'") == "}":
                break
        return Texts(field, tuple(texts)) if texts else Numbers(field, tuple(spans))

    def _check_names(self, field: Field, sign: str, *, names: bool) -> None:
        if _is_names(field) != names:
            self._at -= 1
            raise self._wrong(f"{sign} is for fields with names: expected another comparison")

    def _quoted(self) -> str:
        token = self._next(("text", "address", "name"), "an address or a name in quotes")
        if token.kind == "text":
            return re.sub(r"\\(.)", r"\1", token.text[1:-1])
        if token.kind == "address":
            return _address(token, self._text)
        return token.text

    def _number(self, field: Field) -> int:
        token = self._next(("number",), "a number")
        match = re.fullmatch(r"(-?)(0[xX][0-9a-fA-F]+|\d+)(\.\d+)?(ns|us|ms|s)?", token.text)
        if match is None or len(token.text) > 30:
            raise FilterError(f"no number {token.text!r}", token.position, self._text)
        unit = _UNITS[match[4]] if match[4] else 1
        if (match[4] or match[3]) and not set(field.columns) <= {"time", "dt"}:
            raise FilterError(
                f"a whole number is expected, not {token.text!r}", token.position, self._text
            )
        value = int(match[2], 0 if match[2][:2].lower() == "0x" else 10) * unit
        if match[3]:
            value += int(match[3][1:]) * unit // 10 ** len(match[3][1:])
        return -value if match[1] else value


def _address(token: _Token, text: str) -> str:
    import ipaddress

    try:
        return str(ipaddress.ip_address(token.text))
    except ValueError:
        if re.fullmatch(r"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", token.text):
            return token.text.lower()
        raise FilterError(f"no address {token.text!r}", token.position, text) from None


def _is_names(field: Field) -> bool:
    return t.COLUMNS[field.columns[0]].names
