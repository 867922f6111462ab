"""The formula language: reading, writing, computing, guarding and checking units."""

from __future__ import annotations

import doctest
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.events import formula as formula_module
from gnomon.events.event import Event
from gnomon.events.formula import (
    CONSTANTS,
    CircleError,
    Formula,
    FormulaError,
    Missing,
    dependency_order,
)
from gnomon.events.formula.dimensions import SOME_COUNT, Unit, parse_unit, unit_of

SHARED = Path(__file__).parents[3] / "shared" / "data"
INTEL = SHARED / "perfmon" / "ICX" / "metrics" / "icelakex_metrics.json"

# Random trees as nested tuples, so that the oracle shares nothing with the code it judges.
NAMES = ("a", "b.c", "ix86arch::X:Y:c=1", "L1-dcache-loads", "cpu/event=0x3c/", "64bit", "if")
leaves = st.one_of(
    st.tuples(st.just("name"), st.sampled_from(NAMES)),
    st.tuples(st.just("number"), st.integers(0, 10**9).map(Fraction)),
    st.tuples(st.just("number"), st.decimals(0, 1000, places=3).map(Fraction)),
)


def _branches(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.tuples(st.sampled_from(("+", "-", "*", "/", "<", ">=", "==")), children, children),
        st.tuples(st.just("neg"), children),
        st.tuples(st.just("^"), children, st.integers(-3, 3)),
        st.tuples(st.sampled_from(("min", "max")), children, children, children),
        st.tuples(st.just("if"), children, children, children),
    )


trees = st.recursive(leaves, _branches, max_leaves=12)
values = st.fixed_dictionaries(
    {name: st.one_of(st.none(), st.integers(-3, 3), st.integers(0, 2**64 - 1)) for name in NAMES}
)


def write(tree: Any) -> str:
    """Write a tree with a pair of parentheses round everything."""
    kind, *rest = tree
    if kind == "name":
        return f"`{rest[0]}`"
    if kind == "number":
        return str(rest[0]) if rest[0].denominator == 1 else f"{float(rest[0]):.3f}"
    if kind == "neg":
        return f"(-{write(rest[0])})"
    if kind == "^":
        return f"(({write(rest[0])})^{rest[1]})"
    if kind in ("min", "max"):
        return f"{kind}({', '.join(map(write, rest))})"
    if kind == "if":
        return f"({write(rest[0])} if {write(rest[1])} else {write(rest[2])})"
    return f"({write(rest[0])} {kind} {write(rest[1])})"


def oracle(tree: Any, counts: dict[str, int | None]) -> Fraction | None:
    """Compute a tree the obvious way; None is missing."""
    kind, *rest = tree
    if kind == "name":
        value = counts[rest[0]]
        return None if value is None else Fraction(value)
    if kind == "number":
        return Fraction(rest[0])
    if kind == "if":
        condition = oracle(rest[1], counts)
        if condition is None:
            return None
        return oracle(rest[0] if condition != 0 else rest[2], counts)
    if kind == "^":
        base = oracle(rest[0], counts)
        if base is None or (base == 0 and rest[1] < 0):
            return None
        return Fraction(base ** rest[1])
    operands = [oracle(each, counts) for each in rest]
    known = [each for each in operands if each is not None]
    if len(known) < len(operands):
        return None
    if kind == "/" and known[1] == 0:
        return None
    results = {
        "+": lambda: known[0] + known[1],
        "-": lambda: known[0] - known[1],
        "*": lambda: known[0] * known[1],
        "/": lambda: known[0] / known[1],
        "<": lambda: Fraction(known[0] < known[1]),
        ">=": lambda: Fraction(known[0] >= known[1]),
        "==": lambda: Fraction(known[0] == known[1]),
        "neg": lambda: -known[0],
        "min": lambda: min(known),
        "max": lambda: max(known),
    }
    return results[kind]()


@given(trees)
def test_a_formula_survives_being_written_and_read(tree: Any) -> None:
    formula = Formula.parse(write(tree))
    assert Formula.parse(str(formula)) == formula


@given(trees, values)
def test_exact_evaluation_agrees_with_the_oracle(tree: Any, counts: dict[str, int | None]) -> None:
    result = Formula.parse(write(tree)).evaluate_exact(counts)
    expected = oracle(tree, counts)
    assert (None if isinstance(result, Missing) else result) == expected


@given(trees, values)
def test_nothing_but_finite_numbers_or_missing_comes_out(
    tree: Any, counts: dict[str, int | None]
) -> None:
    formula = Formula.parse(write(tree))
    result = formula.evaluate(counts)
    assert isinstance(result, Missing | int) or math.isfinite(result)
    uncertain = formula.evaluate_with_variance(counts, dict.fromkeys(NAMES, 1.0))
    assert uncertain.value == result
    assert isinstance(uncertain.variance, Missing | int) or math.isfinite(uncertain.variance)


# Rounding may flip a comparison or a guard, so this one keeps to smooth, tame formulas.
tame = st.recursive(
    st.one_of(
        st.tuples(st.just("name"), st.sampled_from(("a", "b.c"))),
        st.tuples(st.just("number"), st.integers(1, 9).map(Fraction)),
    ),
    lambda children: st.one_of(
        st.tuples(st.sampled_from(("+", "*", "/")), children, children),
        st.tuples(st.sampled_from(("min", "max")), children, children),
    ),
    max_leaves=8,
)


@given(tame, st.lists(st.tuples(st.integers(1, 999), st.integers(1, 999)), min_size=1, max_size=5))
def test_scalars_rows_and_fractions_agree(tree: Any, rows: list[tuple[int, int]]) -> None:
    formula = Formula.parse(write(tree))
    columns = {"a": np.array([a for a, _ in rows]), "b.c": np.array([b for _, b in rows])}
    whole = np.broadcast_to(formula.evaluate_rows(columns), len(rows))
    for row, (a, b) in enumerate(rows):
        counts = {"a": a, "b.c": b}
        exact = formula.evaluate_exact(counts)
        scalar = formula.evaluate(counts)
        assert isinstance(exact, Fraction)
        assert not isinstance(scalar, Missing)
        assert scalar == pytest.approx(float(exact), rel=1e-12)
        assert whole[row] == pytest.approx(float(exact), rel=1e-12)


@given(tame, st.integers(1, 99), st.integers(1, 99))
def test_the_gradient_agrees_with_differences(tree: Any, a: int, b: int) -> None:
    # Crooked values keep min and max away from ties, where there is no one derivative.
    formula = Formula.parse(write(tree))
    here = {"a": a + Fraction(123457, 10**6), "b.c": b + Fraction(654323, 10**6)}
    _, slopes = formula.gradient({name: float(value) for name, value in here.items()})
    step = Fraction(1, 10**12)
    for name in formula.names:
        up = formula.evaluate_exact({**here, name: here[name] + step})
        down = formula.evaluate_exact({**here, name: here[name] - step})
        assert isinstance(up, Fraction)
        assert isinstance(down, Fraction)
        difference = float((up - down) / (2 * step))
        assert slopes[name] == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_at_a_tie_the_first_operand_gives_the_slope() -> None:
    assert Formula.parse("max(a, 2 * a)").gradient({"a": 0}) == (0, {"a": 1})
    assert Formula.parse("min(2 * a, a)").gradient({"a": 0}) == (0, {"a": 2})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 - 2 - 1", 4),
        ("8 / 4 / 2", 1),
        ("-2^2", -4),
        ("(-2)^2", 4),
        ("2 - -3", 5),
        ("2^-1", 0.5),
        ("1.E-03 * 1e3", 1),
        (".5 + 0.25", 0.75),
        ("min(3, 1, 2) + max(4, 5)", 6),
        ("1 if 2 > 1 else 3", 1),
        ("1 if 0 else 2 if 0 else 3", 3),
        ("2[ms] * 1000", 2),
        ("(1 < 2) + (1 <= 1) + (2 > 1) + (1 >= 1) + (1 == 1) + (1 != 2)", 6),
    ],
)
def test_operators(text: str, expected: float) -> None:
    formula = Formula.parse(text)
    assert formula.evaluate({}) == pytest.approx(expected)
    assert Formula.parse(str(formula)) == formula


def test_names_in_every_spelling() -> None:
    names = (
        "PAPI_TOT_INS",
        "INST_RETIRED.ANY",
        "ix86arch::CYC",
        "E:U:c=1:i=1",
        "cuda:::x:stat=sum",
    )
    odd = ("L1-dcache-load-misses", "cpu/event=0x3c,umask=1/u", "mem:0x10/4:rw", "4K_ALIAS", "min")
    formula = Formula.parse(" + ".join([*names, *(f"`{name}`" for name in odd)]))
    assert formula.names == (*names, *odd)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("1 +", "the end stands where a number or a name should"),
        ("(1", "')' is missing before the end"),
        ("1)", "')' is not expected here"),
        ("a b", "'b' is not expected here"),
        ("a ? b", "stray '?'"),
        ("branch-misses / branches", "in backquotes, as in `branch-misses`"),
        ("L1-dcache-loads", "a minus without spaces"),
        ("cpu/cycles/", "names with - or / stand in backquotes"),
        ("64bit", "names that begin with a digit"),
        ("a ** 2", "'*' stands where"),
        ("a^b", "whole number"),
        ("a^1.5", "whole number"),
        ("a^99", "within ±64"),
        ("1e999", "out of range"),
        ("9" * 200, "out of range"),
        ("1e300[TB]", "out of range"),
        ("1[furlong]", "'furlong' that is not known"),
        ("1 if 2", "'else' is missing"),
        ("min()", "')' stands where"),
        ("(" * 60 + "1" + ")" * 60, "nested more than 50 deep"),
        ("`open", "stray '`'"),
    ],
)
def test_malformed_formulas_are_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(FormulaError) as caught:
        Formula.parse(text)
    assert reason in str(caught.value)


@given(st.text("ab1.`-+*/^()[],<>=! eif", max_size=30))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        formula = Formula.parse(text)
    except FormulaError:
        return
    assert Formula.parse(str(formula)) == formula


def test_a_tight_minus_is_a_difference_where_other_tools_say_so() -> None:
    assert str(Formula.parse("PMC0-PMC1", tight_minus=True)) == "PMC0 - PMC1"


def test_long_sums_need_no_recursion() -> None:
    formula = Formula.parse(" + ".join(["x"] * 5000))
    assert formula.evaluate({"x": 1}) == 5000
    assert Formula.parse(str(formula)) == formula


def test_whole_numbers_stay_exact() -> None:
    formula = Formula.parse("a + b - c")
    counts = {"a": 2**64 - 1, "b": 2**63 + 1, "c": 1}
    assert formula.evaluate(counts) == 2**64 - 1 + 2**63
    big = {"a": np.uint64(2**64 - 1), "b": np.int64(1), "c": np.uint64(0)}
    assert formula.evaluate(big) == 2**64  # type: ignore[arg-type]


def test_guards_give_missing_with_a_reason() -> None:
    ratio = Formula.parse("a / b")
    assert ratio.evaluate({"a": 1, "b": 0}) == Missing("the denominator is zero")
    assert ratio.evaluate({"a": 0, "b": 0.0}) == Missing("the denominator is zero")
    assert ratio.evaluate({"a": 1}) == Missing("'b' was not counted")
    assert ratio.evaluate({"a": None, "b": 2}) == Missing("'a' was not counted")
    assert ratio.evaluate({"a": math.nan, "b": 2}) == Missing("'a' is not a number")
    assert ratio.evaluate({"a": 1, "b": math.inf}) == Missing("'b' is not a number")
    assert Formula.parse("a * b").evaluate({"a": 0, "b": None}) == Missing("'b' was not counted")
    assert Formula.parse("1 / (a * a)").evaluate({"a": 1e300}) == Missing("the result is too large")
    assert Formula.parse("a^-1").evaluate({"a": 0}) == Missing("the denominator is zero")
    assert Formula.parse("a^64 / 2").evaluate({"a": 2**63}) == Missing("the result is too large")


def test_only_the_chosen_side_of_a_choice_must_exist() -> None:
    formula = Formula.parse("a / b if b > 0 else 7")
    assert formula.evaluate({"a": 1, "b": 0}) == 7
    assert formula.evaluate({"a": None, "b": 0}) == 7
    assert formula.evaluate({"a": 1, "b": None}) == Missing("'b' was not counted")
    rows = formula.evaluate_rows({"a": [1.0, 6.0], "b": [0, 2]})
    assert rows.tolist() == [7.0, 3.0]


def test_rows_mask_what_is_missing() -> None:
    ratio = Formula.parse("a / b")
    a = np.ma.masked_array([4, 5, 6, 7, 8], mask=[False, True, False, False, False])
    b = np.array([2, 1, 0, np.nan, 4])
    rows = ratio.evaluate_rows({"a": a, "b": b})
    assert rows.mask.tolist() == [False, True, True, True, False]
    assert rows.tolist() == [2.0, None, None, None, 2.0]
    assert ratio.evaluate_rows({"a": [1, 2]}).mask.all()
    assert ratio.evaluate_rows({"a": np.array([1, None]), "b": 2}).tolist() == [0.5, None]
    hidden = Formula.parse("1 / (a * a)").evaluate_rows({"a": [1e300, 1.0]})
    assert hidden.tolist() == [None, 1.0]


def test_variance_follows_the_delta_method() -> None:
    ratio = Formula.parse("a / b")
    counts, variances = {"a": 300, "b": 200}, {"a": 90.0, "b": 50.0}
    result = ratio.evaluate_with_variance(counts, variances)
    # var(a/b) = var a / b² + a² var b / b⁴
    expected = 90 / 200**2 + 300**2 * 50 / 200**4
    assert result.value == 1.5
    assert result.variance == pytest.approx(expected)
    rows = ratio.evaluate_rows_with_variance({"a": [300, 1], "b": [200, 0]}, variances)
    assert rows.variance[0] == pytest.approx(expected)
    assert rows.variance.mask.tolist() == [False, True]
    together = ratio.evaluate_with_variance(counts, variances, {("a", "b"): 10.0})
    assert together.variance == pytest.approx(expected - 2 * 10 * 300 / 200**3)


def test_a_name_that_cancels_has_no_variance() -> None:
    result = Formula.parse("(a + b - a) / b").evaluate_with_variance(
        {"a": 5, "b": 4}, {"a": 1e9, "b": 1e9}
    )
    assert result.variance == pytest.approx(0)


def test_variance_must_be_given_unless_it_is_a_constant() -> None:
    rate = Formula.parse("a / time")
    assert rate.evaluate_with_variance({"a": 8, "time": 2}, {"a": 4}).variance == pytest.approx(1)
    unknown = rate.evaluate_with_variance({"a": 8, "time": 2}, {})
    assert unknown.value == 4
    assert isinstance(unknown.variance, Missing)


def test_substitution_happens_all_at_once() -> None:
    swapped = Formula.parse("a - b").substitute(
        {"a": Formula.of_name("b"), "b": Formula.parse("a / 2")}
    )
    assert str(swapped) == "b - a / 2"


def test_dependencies_come_first_and_circles_are_named() -> None:
    formulas = {"x": Formula.parse("y + z"), "y": Formula.parse("z * e"), "z": Formula.parse("e")}
    order = dependency_order(formulas)
    assert order.index("z") < order.index("y") < order.index("x")
    with pytest.raises(CircleError, match=r"circle: .*p -> q") as caught:
        dependency_order({"p": Formula.parse("q"), "q": Formula.parse("p + 1")})
    assert set(caught.value.names) == {"p", "q"}


UNITS = {"bytes": "B", "joules": "J", "wait": "ns", "ins": "instructions", "cyc": "cycles"}


def known_unit(name: str) -> Unit | None:
    return CONSTANTS.get(name) or (parse_unit(UNITS[name]) if name in UNITS else None)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("bytes / time", "B/s"),
        ("joules / time", "W"),
        ("wait / time", ""),
        ("ins / cyc", "instructions/cycle"),
        ("3[B] * ins / time", "B instructions/s"),
        ("max(0, bytes)", "B"),
        ("bytes if ins > 0 else 0", "B"),
        ("time^2", "s^2"),
        ("bytes + 4[KiB]", "B"),
    ],
)
def test_units_of_results(text: str, unit: str) -> None:
    found = Formula.parse(text).unit(known_unit)
    assert found is not None
    assert parse_unit(unit).mismatch(found) is None


@pytest.mark.parametrize(
    "text",
    [
        "bytes + time",
        "bytes - 1",
        "max(bytes, time)",
        "bytes < time",
        "1 if bytes < 3[s] else 2",
    ],
)
def test_senseless_sums_are_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        Formula.parse(text).unit(known_unit)


def test_an_unknown_event_leaves_the_unit_open() -> None:
    assert Formula.parse("mystery / time").unit(known_unit) is None
    assert Formula.parse("mystery + bytes").unit(known_unit) == Unit(
        physical=(("B", 1),), counted=None
    )
    with pytest.raises(FormulaError):
        Formula.parse("mystery + bytes + time").unit(known_unit)


def test_counted_things_mix_freely_but_not_under_a_wrong_name() -> None:
    mixed = Formula.parse("ins + cyc").unit(known_unit)
    assert mixed is not None
    assert mixed.counted is None
    ratio = Formula.parse("ins / cyc").unit(known_unit)
    assert ratio is not None
    assert parse_unit("%").mismatch(ratio) is None
    assert "gives instruction/cycle" in (parse_unit("cycles/instruction").mismatch(ratio) or "")
    assert "gives a plain number" in (parse_unit("B/s").mismatch(ratio) or "")


@pytest.mark.parametrize(
    ("text", "factor", "dimension"),
    [
        ("MB/s", Fraction(10**6), "B/s"),
        ("MBytes/s", Fraction(10**6), "B/s"),
        ("MiB", Fraction(2**20), "B"),
        ("ns", Fraction(1, 10**9), "s"),
        ("msec", Fraction(1, 1000), "s"),
        ("GHz", Fraction(10**9), "1/s"),
        ("mW", Fraction(1, 1000), "J/s"),
        ("Joules", Fraction(1), "J"),
        ("%", Fraction(1, 100), "a plain number"),
        ("misses/1000 instructions", Fraction(1, 1000), "a plain number"),
        ("events per s", Fraction(1), "1/s"),
        ("MFLOP/s", Fraction(10**6), "1/s"),
        ("MUOPS/s", Fraction(10**6), "1/s"),
        ("GT/s", Fraction(10**9), "1/s"),
        ("Mbit/s", Fraction(10**6, 8), "B/s"),
        ("s²", Fraction(1), "s^2"),
        ("", Fraction(1), "a plain number"),
    ],
)
def test_units_are_read(text: str, factor: Fraction, dimension: str) -> None:
    unit = parse_unit(text)
    assert (unit.factor, unit.dimension) == (factor, dimension)


@pytest.mark.parametrize("text", ["furlong", "B/", "MB//s", "3x"])
def test_unknown_units_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_unit(text)


def test_an_event_brings_its_unit_and_scale() -> None:
    energy = unit_of(Event("power/energy-pkg/", unit="Joules", scale=2.0**-32))
    assert (energy.factor, energy.dimension) == (Fraction(1, 2**32), "J")
    assert unit_of(Event("cycles")) == SOME_COUNT


def test_every_formula_of_a_vendor_file_is_understood() -> None:
    if not INTEL.exists():
        pytest.skip(f"{INTEL} is not there")
    metrics = json.loads(INTEL.read_text())["Metrics"]
    for metric in metrics:
        formula = Formula.parse(metric["Formula"])
        assert Formula.parse(str(formula)) == formula
        assert not isinstance(formula.evaluate(dict.fromkeys(formula.names, None)), float)
    assert len(metrics) == 282


def test_the_examples_in_the_documentation_run() -> None:
    outcome = doctest.testmod(formula_module)
    assert outcome.attempted >= 3
    assert not outcome.failed
