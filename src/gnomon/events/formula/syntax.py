"""The formula language: text to postfix code and back.

    expression  ::=  comparison ["if" comparison "else" expression]
    comparison  ::=  sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum         ::=  product (("+" | "-") product)*
    product     ::=  signed (("*" | "/") signed)*
    signed      ::=  ("+" | "-")* power
    power       ::=  atom ["^" ["-"] integer]
    atom        ::=  number ["[" unit "]"] | name | "`" any name "`"
                  |  ("min" | "max") "(" expression ("," expression)* ")" | "(" expression ")"

A bare name holds letters, digits, `_`, `.` and libpfm4's `:` parts (`EVENT:UMASK:c=1`,
`ix86arch::EVENT`); every other name stands in backquotes (`L1-dcache-load-misses`,
`cpu/event=0x3c/`). Because a minus without spaces between two names is more often a
forgotten backquote than a difference, it is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from gnomon.errors import UsageError
from gnomon.events.formula.dimensions import parse_unit

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
FUNCTIONS = ("min", "max")
LARGEST_EXPONENT = 64
_DEEPEST = 50  # keeps the recursive parser far from Python's own limit
_DIGITS = 100
_LARGEST_DECADE = 300  # a double still holds it
_RESERVED = (*FUNCTIONS, "if", "else")

_BARE = r"[A-Za-z_][A-Za-z0-9_.]*(?::{1,3}[A-Za-z0-9_.]+(?:=[A-Za-z0-9_.]+)?)*"
_BARE_NAME = re.compile(_BARE)
_LEXEME = re.compile(
    rf"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
       |(?P<name>{_BARE})
       |`(?P<quoted>[^`\n]+)`
       |\[(?P<unit>[^\]\n]*)\]
       |(?P<symbol><=|>=|==|!=|[-+*/^(),<>])
       |(?P<end>$))""",
    re.VERBOSE,
)


class FormulaError(UsageError):
    """A formula that cannot be parsed or is invalid; the message quotes it."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number, exact as written, with a unit if one was written behind it."""

    value: Fraction
    unit: str = ""

    @property
    def in_base_units(self) -> Fraction:
        """The number after its unit was turned into base units, so 2[ms] is 1/500."""
        return self.value * parse_unit(self.unit).factor if self.unit else self.value


@dataclass(frozen=True, slots=True)
class Name:
    """An event, a preset, a metric or a constant; which one, the reader decides."""

    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator or function that takes the last `arity` values.

    The symbols are + - * / and comparisons (two values), `neg` (one), `min` and `max`
    (one or more), and `if` (three: the value, the condition, the value otherwise).
    """

    symbol: str
    arity: int = 2


@dataclass(frozen=True, slots=True)
class Power:
    """Raises the last value to a fixed whole exponent."""

    exponent: int


Token = Number | Name | Operation | Power
Code = tuple[Token, ...]
"""A formula in postfix order: each operation follows its operands."""


class _Lexeme(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def parse(text: str, *, tight_minus: bool = False) -> Code:
    """Return the postfix code of a formula; `tight_minus` allows a-b without spaces."""
    return _Parser(text, tight_minus).parse()


def format_code(code: Code) -> str:
    """Return the canonical text of a formula: spaced operators, no needless parentheses."""
    stack: list[tuple[str, int]] = []
    for token in code:
        match token:
            case Number():
                stack.append(_format_number(token))
            case Name():
                stack.append((format_name(token.name), 6))
            case Power():
                base = _within(stack.pop(), 6)
                stack.append((f"{base}^{token.exponent}", 5))
            case Operation("neg"):
                # Level 4 lets a sign stand inside a product but not before a power.
                stack.append((f"-{_within(stack.pop(), 4)}", 4))
            case Operation(symbol, arity):
                operands = stack[-arity:]
                del stack[-arity:]
                stack.append(_format_operation(symbol, operands))
    return stack[0][0]


def format_name(name: str) -> str:
    """Return a name as formulas write it: bare if possible, otherwise in backquotes."""
    return name if _BARE_NAME.fullmatch(name) and name not in _RESERVED else f"`{name}`"


def _format_operation(symbol: str, operands: list[tuple[str, int]]) -> tuple[str, int]:
    if symbol in FUNCTIONS:
        return f"{symbol}({', '.join(text for text, _ in operands)})", 6
    if symbol == "if":
        value, condition, otherwise = operands
        return f"{_within(value, 1)} if {_within(condition, 1)} else {_within(otherwise, 0)}", 0
    level = 1 if symbol in COMPARISONS else 2 if symbol in "+-" else 3
    left = _within(operands[0], level + (symbol in COMPARISONS))
    return f"{left} {symbol} {_within(operands[1], level + 1)}", level


def _within(operand: tuple[str, int], level: int) -> str:
    text, own = operand
    return text if own >= level else f"({text})"


def _format_number(token: Number) -> tuple[str, int]:
    suffix = f"[{token.unit}]" if token.unit else ""
    value = token.value
    shift = 0
    rest = value.denominator
    while rest % 10 == 0:
        rest, shift = rest // 10, shift + 1
    for prime in (2, 5):
        while rest % prime == 0:
            rest, shift = rest // prime, shift + 1
    if rest != 1 or value < 0:  # written by nobody, but reached by rewriting formulas
        return f"({value.numerator} / {value.denominator}){suffix}", 6
    digits = str(value.numerator * 10**shift // value.denominator)
    if 0 < shift <= 6:
        digits = digits.rjust(shift + 1, "0")
        return f"{digits[:-shift]}.{digits[-shift:]}{suffix}", 6
    bare = digits.rstrip("0")
    zeros = len(digits) - len(bare)
    if not shift and zeros < 7:
        return f"{digits}{suffix}", 6
    return f"{bare}e{zeros - shift}{suffix}", 6


class _Parser:
    """Turns one text into postfix code by recursive descent."""

    def __init__(self, text: str, tight_minus: bool) -> None:
        self.text = text
        self.tight_minus = tight_minus
        self.code: list[Token] = []
        self.depth = 0
        self.token = self._lex(0)

    def parse(self) -> Code:
        if self.token.kind == "end":
            raise self._error("it is empty")
        self._expression()
        if self.token.kind != "end":
            raise self._error(f"{self._seen()} is not expected here")
        return tuple(self.code)

    def _expression(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._error(f"it is nested more than {_DEEPEST} deep")
        self._comparison()
        if self._accept("if"):
            self._comparison()
            self._expect("else")
            self._expression()
            self.code.append(Operation("if", 3))
        self.depth -= 1

    def _comparison(self) -> None:
        self._sum()
        for symbol in COMPARISONS:
            if self._accept(symbol):
                self._sum()
                self.code.append(Operation(symbol))
                return

    def _sum(self) -> None:
        self._product()
        while self.token.kind == "symbol" and self.token.text in "+-":
            symbol = self._advance().text
            self._product()
            self.code.append(Operation(symbol))

    def _product(self) -> None:
        self._signed()
        while self.token.kind == "symbol" and self.token.text in "*/":
            symbol = self._advance().text
            self._signed()
            self.code.append(Operation(symbol))

    def _signed(self) -> None:
        negations = 0
        while self.token.kind == "symbol" and self.token.text in "+-":
            negations += self._advance().text == "-"
        self._power()
        self.code.extend([Operation("neg", 1)] * negations)

    def _power(self) -> None:
        self._atom()
        if not self._accept("^"):
            return
        sign = -1 if self._accept("-") else 1
        if self.token.kind != "number" or not self.token.text.isdigit():
            raise self._error("an exponent must be a whole number, as in x^2")
        exponent = sign * int(self._advance().text[:10])
        if abs(exponent) > LARGEST_EXPONENT:
            raise self._error(f"an exponent must lie within ±{LARGEST_EXPONENT}")
        self.code.append(Power(exponent))

    def _atom(self) -> None:
        token = self.token
        if token.kind == "number":
            self._number()
        elif token.kind == "quoted" or (token.kind == "name" and token.text not in _RESERVED):
            self._advance()
            self.code.append(Name(token.text))
        elif token.kind == "name" and token.text in FUNCTIONS:
            self._advance()
            self._expect("(")
            arity = 1
            self._expression()
            while self._accept(","):
                self._expression()
                arity += 1
            self._expect(")")
            self.code.append(Operation(token.text, arity))
        elif self._accept("("):
            self._expression()
            self._expect(")")
        else:
            hint = " (names with - or / stand in backquotes)" if token.kind == "end" else ""
            raise self._error(f"{self._seen()} stands where a number or a name should{hint}")

    def _number(self) -> None:
        text = self.token.text
        _, _, decade = text.lower().partition("e")
        if len(text) > _DIGITS or abs(int(decade or 0)) > _LARGEST_DECADE:
            raise self._error("a number is out of range")
        self._advance()
        unit = ""
        if self.token.kind == "unit":
            unit = self._advance().text.strip()
            try:
                parse_unit(unit)
            except UsageError as error:
                raise self._error(str(error).removesuffix(".")) from None
        number = Number(Fraction(text), unit)
        if number.in_base_units > 10**_LARGEST_DECADE:
            raise self._error("a number is out of range")
        self.code.append(number)

    def _advance(self) -> _Lexeme:
        token = self.token
        self.token = self._lex(token.end)
        return token

    def _accept(self, text: str) -> bool:
        if self.token.kind in ("symbol", "name") and self.token.text == text:
            self._advance()
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._error(f"'{text}' is missing before {self._seen()}")

    def _lex(self, position: int) -> _Lexeme:
        match = _LEXEME.match(self.text, position)
        if match is None:
            raise self._error(f"it has a stray '{self.text[position:].lstrip()[0]}'")
        kind = match.lastgroup or "end"
        lexeme = _Lexeme(kind, match[kind], match.start(kind), match.end())
        follower = self.text[lexeme.end : lexeme.end + 1]
        if kind == "number" and (follower.isalpha() or follower == "_"):
            raise self._error(
                f"'{lexeme.text}{follower}…' is neither number nor name; "
                "names that begin with a digit stand in backquotes"
            )
        if (
            lexeme.text == "-"
            and not self.tight_minus
            and lexeme.start == position > 0
            and self.token.kind == "name"
            and (follower.isalpha() or follower == "_")
        ):
            raise self._error(
                "a minus without spaces stands between two names: write spaces for a "
                "difference, or the whole name in backquotes, as in `branch-misses`"
            )
        return lexeme

    def _seen(self) -> str:
        return "the end" if self.token.kind == "end" else f"'{self.token.text}'"

    def _error(self, reason: str) -> FormulaError:
        return FormulaError(f"formula '{self.text.strip()}': {reason}.")
