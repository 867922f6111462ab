"""`python -m gnomon` is the same as `gnomon`."""

import sys

from gnomon.cli import main

sys.exit(main())
