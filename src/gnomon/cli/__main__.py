"""`python -m gnomon.cli` is the same as `gnomon`."""

import sys

from gnomon.cli import main

sys.exit(main())
