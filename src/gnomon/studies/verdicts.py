"""Rows with their verdicts: exactly, within a tolerance, or in shape only."""

from __future__ import annotations

from gnomon.studies.model import Row, Value, Verdict


def exact(id: str, quantity: str, published: Value, ours: Value, note: str = "") -> Row:  # noqa: A002
    """Return a row that is reproduced when both values are the same."""
    return Row(id, quantity, published, ours, "exact", _verdict(ours == published), note)


def within(
    id: str,  # noqa: A002
    quantity: str,
    published: float,
    ours: float,
    *,
    absolute: float | None = None,
    relative: float | None = None,
    note: str = "",
) -> Row:
    """Return a row that is reproduced when the values differ by no more than a tolerance."""
    if (absolute is None) == (relative is None):
        raise ValueError("give either an absolute or a relative tolerance")
    if absolute is None:
        assert relative is not None
        allowed, text = abs(published) * relative, f"± {relative:.3%}".replace(".000", "")
    else:
        allowed, text = absolute, f"± {absolute:,.6g}"
    return Row(
        id, quantity, published, ours, text, _verdict(abs(ours - published) <= allowed), note
    )


def factor(
    id: str,  # noqa: A002
    quantity: str,
    published: float,
    ours: float,
    *,
    most: float = 2.0,
    note: str = "",
) -> Row:
    """Return a row that is reproduced when neither value is more than so many times the other."""
    near = ours > 0 and 1 / most <= ours / published <= most
    return Row(id, quantity, published, ours, f"factor {most:g}", _verdict(near), note)


def holds(
    id: str,  # noqa: A002
    quantity: str,
    published: Value,
    ours: Value,
    condition: str,
    *,
    true: bool,
    note: str = "",
) -> Row:
    """Return a row that is reproduced when a condition that is written out holds."""
    return Row(id, quantity, published, ours, condition, _verdict(true), note)


def shape(
    id: str,  # noqa: A002
    quantity: str,
    published: Value,
    ours: Value,
    *,
    true: bool,
    note: str = "",
    tolerance: str = "sign or order",
) -> Row:
    """Return a row of which only the shape can be compared: a sign, an order, a place."""
    verdict = Verdict.SHAPE_ONLY if true else Verdict.NOT_REPRODUCED
    return Row(id, quantity, published, ours, tolerance, verdict, note)


def _verdict(reproduced: bool) -> Verdict:
    return Verdict.REPRODUCED if reproduced else Verdict.NOT_REPRODUCED
