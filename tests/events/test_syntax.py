"""Event lists as users write them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import (
    GnomonError,
    NotPermittedError,
    NotSupportedError,
    UnknownEventError,
    UsageError,
)
from gnomon.events.event import Event, Modifiers
from gnomon.events.syntax import parse_events, parse_modifiers

KNOWN = frozenset(
    {"a", "b", "c", "cycles", "sched:switch", "sched:u", "mem:0x10:w", "mem:0x10/8:w"}
)


def resolve(name: str) -> tuple[Event, ...]:
    """A catalogue with a few names, units that take anything, and one with two members."""
    if name == "both":
        return (Event("core/both/"), Event("atom/both/"))
    if name in KNOWN or re.fullmatch(r"unit/[^/]*/", name):
        return (Event(name),)
    raise UnknownEventError(name, ("a",))


def labels(text: str) -> list[list[str]]:
    """Parse with the small catalogue and return labels group by group."""
    return [[request.label for request in group] for group in parse_events(text, resolve)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [["a"]]),
        ("a,b", [["a"], ["b"]]),
        (" a , b ", [["a"], ["b"]]),
        ("a,,b,", [["a"], ["b"]]),
        ("{a,b}", [["a", "b"]]),
        ("{a,b},c", [["a", "b"], ["c"]]),
        ("c,{ a , b }", [["c"], ["a", "b"]]),
        ("{a},{b}", [["a"], ["b"]]),
        ("{a,b}:u", [["a:u", "b:u"]]),
        ("{a:u,b}:k", [["a:uk", "b:k"]]),
        ("{both}", [["core/both/", "atom/both/"]]),
        ("both", [["core/both/"], ["atom/both/"]]),
        ("both:u", [["core/both/:u"], ["atom/both/:u"]]),
        ("unit/event=1,umask=2/", [["unit/event=1,umask=2/"]]),
        ("unit/event=1/u", [["unit/event=1/:u"]]),
        ("unit/event=1/:u", [["unit/event=1/:u"]]),
        ("{unit/event=1,edge/k,a}", [["unit/event=1,edge/:k", "a"]]),
        ("unit//", [["unit//"]]),
        ("a,unit/x,y/,b", [["a"], ["unit/x,y/"], ["b"]]),
        ("mem:0x10/8:w,a", [["mem:0x10/8:w"], ["a"]]),
        ("{ mem:0x10/8:w:u,a},b", [["mem:0x10/8:w:u", "a"], ["b"]]),
        ("unit/x/,mem:0x10/8:w,unit/y,z/", [["unit/x/"], ["mem:0x10/8:w"], ["unit/y,z/"]]),
    ],
)
def test_lists_groups_and_units(text: str, expected: list[list[str]]) -> None:
    assert labels(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sched:switch", "sched:switch"),
        ("sched:switch:u", "sched:switch:u"),
        ("sched:switch:pp", "sched:switch:pp"),
        ("sched:u", "sched:u"),  # a name as a whole, although `u` is a modifier
        ("sched:u:k", "sched:u:k"),
        ("mem:0x10:w", "mem:0x10:w"),
        ("mem:0x10:w:u", "mem:0x10:w:u"),
    ],
)
def test_names_may_have_colons_of_their_own(text: str, expected: str) -> None:
    assert labels(text) == [[expected]]


def test_letters_that_belong_to_a_name_are_no_modifiers() -> None:
    [[request]] = parse_events("sched:u", resolve)
    assert request.event.name == "sched:u"
    assert request.modifiers == Modifiers()


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("", Modifiers()),
        ("u", Modifiers(kernel=False, hypervisor=False)),
        ("k", Modifiers(user=False, hypervisor=False)),
        ("h", Modifiers(user=False, kernel=False)),
        ("uk", Modifiers(hypervisor=False)),
        ("ukh", Modifiers()),
        ("G", Modifiers(host=False)),
        ("H", Modifiers(guest=False)),
        ("GH", Modifiers()),
        ("p", Modifiers(precise=1)),
        ("ppp", Modifiers(precise=3)),
        ("upp", Modifiers(kernel=False, hypervisor=False, precise=2)),
        ("D", Modifiers(pinned=True)),
        ("e", Modifiers(exclusive=True)),
        ("uDe", Modifiers(kernel=False, hypervisor=False, pinned=True, exclusive=True)),
    ],
)
def test_modifiers_mean_what_perf_means_by_them(letters: str, expected: Modifiers) -> None:
    assert parse_modifiers(letters, "a") == expected


@given(st.text(alphabet="ukhGHDe", max_size=7), st.integers(0, 3))
def test_modifiers_survive_being_written_out(letters: str, precise: int) -> None:
    modifiers = parse_modifiers(letters + "p" * precise, "a")
    assert parse_modifiers(modifiers.text, "a") == modifiers


ERRORS = [
    ("", "no event given: name at least one, as in -e task-clock."),
    (" , ", "no event given: name at least one, as in -e task-clock."),
    ("{}", "a group needs at least one event: '{}' has none."),
    ("{ , }", "a group needs at least one event: '{}' has none."),
    ("{a,b", "'{a,b' has an open brace: close every group with }."),
    ("{a,b}u", "'{a,b}u' is not a group: write it as in {a,b} or {a,b}:u."),
    ("{a,{b}}", "'{a,{b}}' is not a group: write it as in {a,b} or {a,b}:u."),
    ("a,a", "event 'a' is given twice: name it once."),
    ("a:u,{a:u,b}", "event 'a:u' is given twice: name it once."),
    ("{a}:k,a:k", "event 'a:k' is given twice: name it once."),
    ("unit/x/pppp", "'unit/x/pppp' has too many p: ppp is the highest precision."),
    ("a:pppp", "'a:pppp' has too many p: ppp is the highest precision."),
    ("{a:pp,b}:pp", "'a:pp' has too many p: ppp is the highest precision."),
    (
        "unit/x/uz",
        "unknown modifier 'z' in 'unit/x/uz': there are u (user), k (kernel), h (hypervisor), "
        "G (guest), H (host), p (precise), D (pinned), e (exclusive).",
    ),
    (
        "{a}:z",
        "unknown modifier 'z' in 'a': there are u (user), k (kernel), h (hypervisor), "
        "G (guest), H (host), p (precise), D (pinned), e (exclusive).",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), ERRORS)
def test_every_mistake_has_its_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_events(text, resolve)
    assert str(caught.value) == sentence
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x", "x"),
        ("a:z", "a:z"),
        ("x:u", "x"),
        ("a:", "a:"),
        (":u", ":u"),
        ("{a,x}", "x"),
        ("unit/x", "unit/x"),
        ("a}{", "a}{"),
    ],
)
def test_an_unknown_name_is_named_without_its_modifiers(text: str, name: str) -> None:
    with pytest.raises(UnknownEventError) as caught:
        parse_events(text, resolve)
    assert caught.value.name == name
    assert str(caught.value) == f"unknown event '{name}': did you mean a?"


def test_the_same_event_at_different_levels_is_no_duplicate() -> None:
    assert labels("a:u,a:k,a") == [["a:u"], ["a:k"], ["a"]]


@pytest.mark.parametrize("error", [NotPermittedError, NotSupportedError])
def test_modifiers_work_where_tracepoints_cannot_be_looked_up(error: type[GnomonError]) -> None:
    def without_tracefs(name: str) -> tuple[Event, ...]:
        if name == "cycles":
            return (Event(name),)
        if ":" in name:
            raise error("tracepoints cannot be read.")
        raise UnknownEventError(name)

    [[request]] = parse_events("cycles:u", without_tracefs)
    assert request.label == "cycles:u"
    with pytest.raises(UnknownEventError, match="cyclse"):
        parse_events("cyclse:u", without_tracefs)
    for text in ("sched:switch", "sched:switch:u"):
        with pytest.raises(error, match="tracepoints"):
            parse_events(text, without_tracefs)


@given(st.text(alphabet="ab{},:/u x", max_size=12))
def test_any_text_gives_groups_or_an_error_of_ours(text: str) -> None:
    try:
        groups = parse_events(text, resolve)
    except GnomonError as error:
        assert str(error)
    else:
        assert groups and all(groups)
