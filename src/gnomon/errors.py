"""The few errors a user sees: each says what happened, why, and what to do."""

from __future__ import annotations


class GnomonError(Exception):
    """A measurement or a file did not work out; the message is fit to be shown as it is."""

    exit_code = 1


class UsageError(GnomonError):
    """The request is invalid: a wrong name, option or argument."""

    exit_code = 2


class UnknownEventError(UsageError):
    """No event has this name; `suggestions` holds the nearest names that exist.

    `on` is the simulated machine or cluster that was asked, as --on names it.
    """

    def __init__(
        self, name: str, suggestions: tuple[str, ...] = (), where: str = "", *, on: str = ""
    ) -> None:
        self.name = name
        self.suggestions = suggestions
        place = f" {where}" if where else ""
        hint = (
            f"did you mean {' or '.join(suggestions)}?"
            if suggestions
            else f"`gnomon events{f' --on {on}' if on else ''}` lists what there is."
        )
        super().__init__(f"unknown event '{name}'{place}: {hint}")


class NotSupportedError(GnomonError):
    """The machine, kernel or virtual machine has no such facility."""


class NotPermittedError(GnomonError):
    """The facility exists, but this user may not use it; the message names the remedy."""


class CommandError(GnomonError):
    """The program to be measured could not be started."""

    exit_code = 127


class StateError(GnomonError):
    """A call came in the wrong order, for example a read before the start."""


class RecordingError(GnomonError):
    """A recording could not be read or written; the message names the file."""


class ResultError(GnomonError):
    """A saved result could not be read; the message names the file or the place in it."""
