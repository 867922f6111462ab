"""Count loads above latencies on this host and stream them to `gnomon latency`.

The probe needs no screen. It is one file that needs nothing but Python 3: --print writes it out,
to be copied to a host without gnomon and run there with python3. It listens on this host alone
unless --bind says otherwise, and answers only those who prove that they know its token, which is
read from a file or from GNOMON_PROBE_TOKEN. Messages are sealed against changes, not encrypted:
over networks that others listen to, use a tunnel.

examples:
  openssl rand -hex 32 > token
  gnomon probe --token-file token
  gnomon probe --token-file token -p 1234 --port 7001
  gnomon probe --token-file token --simulate
  gnomon probe --print > probe.py
"""

from __future__ import annotations

import argparse
import sys

from gnomon.errors import GnomonError, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon probe`."""
    from gnomon.sources.remote import probe

    probe.configure(parser)
    parser.add_argument("--print", action="store_true", help="write out the probe's one file")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or write the probe out."""
    from gnomon.sources.remote import one_file, probe
    from gnomon.sources.remote.channel import ProbeError, ProbeUsageError

    if options.print:
        sys.stdout.write(one_file())
        return 0
    try:
        return probe.run(options)
    except ProbeUsageError as error:
        raise UsageError(str(error)) from None
    except ProbeError as error:
        raise GnomonError(str(error)) from None
