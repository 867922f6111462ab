"""Jobs of several parts, so that one boot serves many tests."""

import traceback
from collections.abc import Callable

from .report import emit

Section = Callable[[], object]


def run_sections(*sections: Section) -> None:
    """Run functions and send what each returns under its name; a failure does not end the rest."""
    for section in sections:
        try:
            emit({"name": section.__name__, "found": section()})
        except Exception:
            emit({"name": section.__name__, "failure": traceback.format_exc()})
