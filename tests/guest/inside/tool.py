"""Run the project's command in the guest, as a user would."""

import json
import os
import subprocess
import sys
from typing import Any

NOBODY = 65534


def gnomon(*arguments: str, user: int = 0) -> dict[str, Any]:
    """Run a command with ``--json``, as another user if one is given, and return how it went."""
    done = subprocess.run(
        [sys.executable, "-m", "gnomon", arguments[0], "--json", *arguments[1:]],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": "/tmp"},
        user=user,
        group=user,
        extra_groups=[],
    )
    output = json.loads(done.stdout) if done.stdout else None
    return {"status": done.returncode, "output": output, "errors": done.stderr}
