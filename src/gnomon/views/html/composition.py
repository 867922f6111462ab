"""A bar that sums to a whole, with a legend that has every figure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from gnomon.views.blocks import Composition, Part
from gnomon.views.shared import STATES, amount, share

from .markup import classes, element, percent, words

_FAMILIES = {
    "condition": "thread", "join": "thread", "barrier": "thread", "semaphore": "thread",
    "gil": "lock", "stopped": "other", "spin": "user", "spinning": "user",
}  # fmt: skip
_PALE = {"lock", "thread", "child", "pipe", "sleep"}  # wait for somebody else or on purpose
_HATCHED = {"spin", "spinning"}  # on a CPU, yet not computing
_UNTOLD = "the measurement cannot tell these apart"


def composition(block: Composition) -> str:
    """Return the bar, brackets under what cannot be told apart, and the legend."""
    if not block.parts or block.whole <= 0:
        return ""
    label = "; ".join(f"{part.name} {share(part, block)}" for part in block.parts)
    if block.caption:
        label = f"{block.caption.rstrip('.')}: {label}"
    segments = "".join(_segment(part, block) for part in block.parts if part.value > 0)
    bar = element("div", segments, class_="comp", role="img", aria_label=label)
    caption = f'<p class="comp-title">{words(block.caption)}</p>' if block.caption else ""
    runs = list(_runs(block))
    return f"{caption}{bar}{_brackets(block, runs)}{_legend(block, runs)}"


def _looks(part: Part, parent: str = "") -> tuple[str, str | None]:
    """Return the colour of a part, its own or that of the part that it is in, and its classes."""
    tone = part.tone.lower() or parent
    known = (_FAMILIES.get(each, each) for each in (tone, parent))
    family = next((each for each in known if each in STATES), "other")
    return f"--c:var(--{family})", classes(
        "pale" * (family in _PALE), "hatched" * (tone in _HATCHED)
    )


def _segment(part: Part, block: Composition) -> str:
    colour, look = _looks(part)
    style = f"--w:{percent(part.value / block.whole)};{colour}"
    hover = f"{part.name}: {amount(part, block)}, {share(part, block)}"
    return element("i", class_=look, style=style, title=hover)


def _runs(block: Composition) -> Iterator[slice]:
    """Yield neighbours that cannot be told apart; most parts are a run of their own."""
    start = 0
    for number, part in enumerate(block.parts, 1):
        if not part.tied or number == len(block.parts):
            yield slice(start, number)
            start = number


def _brackets(block: Composition, runs: list[slice]) -> str:
    ends = [0.0, *accumulate(part.value / block.whole for part in block.parts)]
    made = ""
    for start, stop in ((run.start, run.stop) for run in runs if run.stop - run.start > 1):
        style = f"left:{percent(ends[start])};width:{percent(ends[stop] - ends[start])}"
        made += element("i", style=style, title=_UNTOLD)
    return f'<div class="ties" aria-hidden="true">{made}</div>' if made else ""


def _legend(block: Composition, runs: list[slice]) -> str:
    items = ""
    for run in runs:
        entries = [_entry(part, block) for part in block.parts[run]]
        tied = element("span", "(not told apart)", class_="or", title=_UNTOLD)
        body = '<span class="or">or</span>'.join(entries) + tied * (len(entries) > 1)
        items += element("li", body, class_="tie" if len(entries) > 1 else None)
    finer = "".join(_finer(part, block) for part in block.parts if part.parts)
    return f'<ul class="legend">{items}</ul>{finer}'


def _entry(part: Part, block: Composition, parent: str = "") -> str:
    colour, look = _looks(part, parent)
    swatch = element("i", class_=classes("sw", look or ""), style=colour)
    figure = f"<b>{words(amount(part, block))}</b> {words(share(part, block))}"
    return element("span", f"{swatch}{words(part.name)} {figure}", class_="k")


def _finer(part: Part, block: Composition) -> str:
    """Return the finer causes of a part in a line of their own."""
    items = "".join(f"<li>{_entry(each, block, part.tone)}</li>" for each in part.parts)
    return f'<ul class="legend finer"><li class="m">{words(part.name)}:</li>{items}</ul>'
