"""A report over HTTP, on this host only, that follows its recordings while they grow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from gnomon.errors import GnomonError


class ReportServer(ThreadingHTTPServer):
    """Serves one page, made anew when `version` gives another text than before."""

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], render: Callable[[], str], version: Callable[[], str]
    ) -> None:
        self._render, self._version = render, version
        self._page = self._rendered = ""
        self._lock = Lock()
        super().__init__(address, _Handler)  # closes itself where it cannot be bound

    @property
    def url(self) -> str:
        """Where the page can be seen."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a reader that went away, which is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        """Close for good: no thread may be reading recordings while Python itself ends."""
        super().server_close()
        self._lock.acquire(timeout=60)

    def text(self, *, page: bool) -> str:
        """Return the page as it is now, or what changes when the page does."""
        with self._lock:
            now = self._version()
            if page and now != self._rendered:
                self._page, self._rendered = self._render(), now
            return self._page if page else now


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer

    def do_GET(self) -> None:
        status, kind = 200, "text/plain"
        try:
            if self.path in ("/", "/index.html"):
                text, kind = self.server.text(page=True), "text/html"
            elif self.path == "/version":
                text = self.server.text(page=False)
            else:
                status, text = 404, "there is only one page: /"
        except GnomonError as error:
            status, text = 500, str(error)
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: the terminal belongs to the user."""
