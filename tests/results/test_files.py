"""Files that `gnomon show` cannot show: each is told in one sentence, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.results.cases import survey

from gnomon.cli import main


def _saved(**changes: Any) -> str:
    return json.dumps(survey.small().to_json() | changes)


CASES = {
    "another version": (_saved(version=9), "'survey' is of version 9, and this gnomon reads 1"),
    "no version": (_saved(version=None), "'survey' is of version None"),
    "another kind": (_saved(kind="sonnet"), "'sonnet' is not a kind of result"),
    "a path for a kind": (_saved(kind="../survey"), "is not a kind of result"),
    "no result": ("{}", "it has no 'kind'"),
    "a list": ("[1, 2]", "it has no 'kind'"),
    "cut short": (_saved()[:300], "is not JSON"),
    "nothing": ("", "is not JSON"),
    "rows of nothing": (_saved(rows=3), "survey.rows is 3, not a list"),
    "a field less": (_saved(rows=[{}]), "survey.rows[0] lacks 'event'"),
    "a failure": ('{"results": null, "error": "no luck"}', "the command failed: no luck"),
    "control characters": (_saved(kind="\x1b[2J"), "'\\x1b[2J' is not a kind"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_a_result_is_told_in_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, words = CASES[name]
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    assert main(["show", str(path), "--html", str(tmp_path / "page.html")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert "\x1b" not in err
    assert not (tmp_path / "page.html").exists()
