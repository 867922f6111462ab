"""Rows with their verdicts: exactly, within a tolerance, or in shape only."""

from __future__ import annotations

from gnomon.analysis.study import Row, Value, Verdict


def exact(
    id: str,  # noqa: A002
    quantity: str,
    published: Value,
    ours: Value,
    note: str = "",
    *,
    calibrated: bool = False,
) -> Row:
    """Return a row that is reproduced when both values are the same.

    `calibrated` is for what was chosen because it gives the value: no more than that it can be
    given is shown.
    """
    text, verdict = _judged("exact", ours == published, calibrated)
    return Row(id, quantity, published, ours, text, verdict, note)


def within(
    id: str,  # noqa: A002
    quantity: str,
    published: float,
    ours: float,
    *,
    absolute: float | None = None,
    relative: float | None = None,
    note: str = "",
    calibrated: bool = False,
) -> Row:
    """Return a row that is reproduced when the values differ by no more than a tolerance.

    `calibrated` is as in `exact`.
    """
    if (absolute is None) == (relative is None):
        raise ValueError("give either an absolute or a relative tolerance")
    if absolute is None:
        assert relative is not None
        allowed, text = abs(published) * relative, f"± {relative:.3%}".replace(".000", "")
    else:
        allowed, text = absolute, f"± {absolute:,.6g}"
    text, verdict = _judged(text, abs(ours - published) <= allowed, calibrated)
    return Row(id, quantity, published, ours, text, verdict, note)


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


def _judged(tolerance: str, met: bool, calibrated: bool) -> tuple[str, Verdict]:
    if not calibrated:
        return tolerance, _verdict(met)
    return f"{tolerance}, calibrated", Verdict.SHAPE_ONLY if met else Verdict.NOT_REPRODUCED


def _verdict(reproduced: bool) -> Verdict:
    return Verdict.REPRODUCED if reproduced else Verdict.NOT_REPRODUCED
