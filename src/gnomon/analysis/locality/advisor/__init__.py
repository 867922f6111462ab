"""Which placement of memory would help a program, tried out on a simulated machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.analysis.locality.advisor.candidates import candidates
from gnomon.analysis.locality.advisor.changes import Change, Outcome, Progress, Trials
from gnomon.analysis.locality.advisor.profile import (
    Subject,
    command_subject,
    profiled,
    traced_subject,
    workload_subject,
)
from gnomon.analysis.locality.result import Action, Advice, DataObject, ObjectKind, Proposal
from gnomon.errors import UsageError
from gnomon.launch import Command

if TYPE_CHECKING:
    from gnomon.analysis.locality.advisor.profile import Profile
    from gnomon.machines.machine import Machine
    from gnomon.sources.base import Source
    from gnomon.sources.simulated.simulator import Simulator

__all__ = [
    "MARGIN",
    "Action",
    "Advice",
    "DataObject",
    "ObjectKind",
    "Progress",
    "Proposal",
    "Subject",
    "advise",
    "command_subject",
    "traced_subject",
    "workload_subject",
]

MARGIN = 0.03
"""A proposal must save this part of the time, or it is dropped."""
_MOST_OBJECTS = 12
_SET_UP = "setting up in parallel saves as much with pages where they are"
_REMEDIES = {
    Action.FIRST_TOUCH: "initialise in parallel, with the same division of work as later",
    Action.INTERLEAVE: "mbind with MPOL_INTERLEAVE before it is first touched, or numactl -i all",
    Action.BIND: "mbind with MPOL_BIND before it is first touched, or let its user touch it first",
    Action.MIGRATE: "move_pages, or mbind with MPOL_MF_MOVE, at the change of phase",
    Action.REPLICATE: "one copy a node, filled while setting up; threads read that of their node",
    Action.PAD: "alignas of the line size for what a thread owns, or an array a thread",
}


def advise(
    what: Subject | Command | Sequence[str],
    *,
    on: Source | str | Machine,
    seed: int | None = None,
    margin: float | str = MARGIN,
    on_progress: Progress | None = None,
) -> Advice:
    """Profile a program on a simulated machine, try changes that may help, keep those that do.

    This is `gnomon locality --advise`. `what` is a command: a workload, or a program compiled by
    `gnomon sim compile`. A change is kept when it saves `margin` of the time, which as a text is
    in percent. `on` is a simulated machine, as `--on` names it. `on_progress` is told of each run.

    >>> advice = gn.advise(["workload:false-sharing", "threads=4", "iterations=500"], on="ring-4")
    >>> advice.before_ns >= advice.after_ns
    True
    """
    margin = _share(margin)
    simulated = _simulator(on, seed)
    subject = what if isinstance(what, Subject) else command_subject(what, seed=simulated.seed)
    advice = _advise(Trials(simulated.machine, subject, on_progress), margin)
    return replace(advice, provenance=simulated.provenance(Command(tuple(subject.name.split()))))


def _share(margin: float | str) -> float:
    part = margin
    if isinstance(margin, str):
        try:
            part = float(margin.removesuffix("%")) / 100
        except ValueError:
            part = 0.0
    if not 0 < float(part) < 1:
        raise UsageError(
            f"--margin '{margin}' is not a share of the time: give it in percent, as in 3."
        )
    return float(part)


def _simulator(on: Source | str | Machine, seed: int | None) -> Simulator:
    from gnomon.machines.machine import Machine
    from gnomon.sources.registry import simulator, source
    from gnomon.sources.simulated.simulator import Simulator

    if isinstance(on, Machine):
        return simulator(on, seed=1 if seed is None else seed)
    found = source(on, seed=seed)
    if not isinstance(found, Simulator):
        raise UsageError(f"placements are tried on a simulated machine, and {found.name} is none.")
    return found


def _advise(trials: Trials, margin: float) -> Advice:
    machine, subject = trials.machine, trials.subject
    trials.tell("as it is")
    profile = profiled(machine, subject)
    before = profile.outcome
    used = [thing for thing in subject.objects if profile.references_to(thing)]
    used.sort(key=lambda thing: (-profile.traffic_share(thing), -profile.references_to(thing)))
    possible = [
        change
        for number, thing in enumerate(used[:_MOST_OBJECTS])
        for change in candidates(profile, thing, number)
    ]
    trials.expected = 1 + len(possible)
    tried = [
        (each, trials.outcome((each,), f"{each.action} of {each.thing.name}")) for each in possible
    ]
    chosen, after = _together(trials, _best(tried, before), before, margin)
    unplaced = _unplaced(trials, chosen)
    if unplaced is not None and after.time_ns > unplaced.time_ns * (1 - margin):
        # Setting up in parallel is all that helps, which is no matter of place.
        staying = [(c, o) for c, o in tried if not c.parts]
        chosen, after = _together(trials, _best(staying, before), before, margin)
        unplaced = None
    kept = {id(change) for change in chosen}
    rest = [_judged(trials, c, o, before, margin) for c, o in tried if id(c) not in kept]
    other = [each for each in rest if each.gain >= margin and not each.note]
    return Advice(
        subject.name,
        machine.name,
        len(machine.nodes),
        profile.running,
        before.time_ns,
        after.time_ns,
        unplaced.time_ns if unplaced is not None else None,
        before.remote_share,
        after.remote_share,
        tuple(_proposal(c, o, before) for c, o in tried if id(c) in kept),
        tuple(other),
        tuple(each for each in rest if each not in other),
        len(used),
        trials.runs,
        margin,
        subject.exit_status,
        warnings=(*subject.notes, *_notes(machine, profile)),
    )


def _proposal(change: Change, outcome: Outcome, before: Outcome) -> Proposal:
    return Proposal(
        change.thing,
        change.action,
        change.detail,
        change.why,
        _REMEDIES[change.action],
        outcome.time_ns,
        1 - outcome.time_ns / before.time_ns,
    )


def _judged(
    trials: Trials, change: Change, outcome: Outcome, before: Outcome, margin: float
) -> Proposal:
    """Return a change that is not among those chosen, with a note if it is not even a choice."""
    proposal = _proposal(change, outcome, before)
    alone = _unplaced(trials, [change]) if proposal.gain >= margin else None
    if alone is not None and outcome.time_ns > alone.time_ns * (1 - margin):
        return replace(proposal, note=_SET_UP)
    return proposal


def _notes(machine: Machine, profile: Profile) -> list[str]:
    """Return what could not be found out on this machine, or with these threads."""
    notes = []
    if len(machine.nodes) < 2:
        notes.append(
            f"{machine.name} has one node, so it does not matter where pages are: only padding "
            "against false sharing was looked for; choose a machine with several nodes, as ring-4."
        )
    if profile.running < 2:
        notes.append(
            "one thread ran, so nothing is shared: give the program as many threads as it will "
            "have."
        )
    return notes


def _best(tried: Sequence[tuple[Change, Outcome]], before: Outcome) -> list[Change]:
    """Return the best change of each object, and of objects that overlap the better one."""
    best: list[Change] = []
    helping = [pair for pair in tried if pair[1].time_ns < before.time_ns]
    for change, _ in sorted(helping, key=lambda pair: pair[1].time_ns):
        thing = change.thing
        if all(thing.end <= each.thing.start or each.thing.end <= thing.start for each in best):
            best.append(change)
    return best


def _unplaced(trials: Trials, changes: list[Change]) -> Outcome | None:
    """Return how it would go if threads set up their parts and pages stayed where they are."""
    if not any(change.parts for change in changes):
        return None
    return trials.outcome(
        [change.without_placement() if change.parts else change for change in changes],
        "set up in parallel, with pages where they are",
    )


def _together(
    trials: Trials, changes: list[Change], before: Outcome, margin: float
) -> tuple[list[Change], Outcome]:
    """Return the changes that help together: without any of them the program is slower."""
    if not changes:
        return [], before
    now = trials.outcome(changes, "all together")
    for change in list(changes):
        if len(changes) == 1:
            break
        without = [each for each in changes if each is not change]
        outcome = trials.outcome(without, f"all but {change.action} of {change.thing.name}")
        if outcome.time_ns <= now.time_ns * (1 + margin / 2):
            changes, now = without, outcome
    if now.time_ns > before.time_ns * (1 - margin):
        return [], before
    return changes, now
