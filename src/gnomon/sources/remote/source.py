"""A probe on another host as a source: it sends latencies and counts nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

from gnomon.errors import UsageError
from gnomon.sources.remote import SOURCE

if TYPE_CHECKING:
    from gnomon.events.event import Event, Request
    from gnomon.sources.remote.viewer import Viewer


class ProbeSource:
    """A probe by its address, `HOST` or `HOST:PORT`; it is called when it is listened to."""

    capabilities = SOURCE.capabilities

    def __init__(self, address: str) -> None:
        self.name = f"{SOURCE.name}:{address}"
        self._address = address

    def stream(
        self, edges: Sequence[int], slice_ns: int, *, seed: int = 1, token_file: str | None = None
    ) -> Viewer:
        """Return a stream of the loads above each edge; without a file the token is looked up."""
        from gnomon.sources.remote.viewer import Viewer, parse_address, viewer_token

        address = parse_address(self._address)
        return Viewer(address, viewer_token(token_file), edges, slice_ns, seed)

    def events(self) -> Iterator[Event]:
        """Yield nothing: a probe has thresholds, not events to choose from."""
        return iter(())

    def anchors(self) -> tuple[Request, ...]:
        """Return nothing: there are no runs."""
        return ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise UsageError(
            f"{self.name} sends how long loads take and counts nothing else: use `gnomon latency`."
        )

    resolve = availability = default_events = plan = open = provenance = _refuse
