"""Names of `gnomon.cli.options` for commands that do not use it yet."""

from gnomon.cli.options import target as counting_target
from gnomon.cli.options import with_ending

__all__ = ["counting_target", "with_ending"]
