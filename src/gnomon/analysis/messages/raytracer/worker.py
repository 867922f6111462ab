"""A node of the ray tracer: a process with a communicator and some renderers.

Started by the supervisor with the arguments SETTINGS RANK FOLDER FD...
The folder is that of this run, if it has one, for nodes to remove when the supervisor is killed.
The first descriptor leads to the supervisor, the others to the nodes in order, -1 for itself.
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import selectors
import shutil
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from gnomon.analysis.messages.raytracer.bricks import SharedBricks, Volume
from gnomon.analysis.messages.raytracer.links import Frame, Kind, Link
from gnomon.analysis.messages.raytracer.result import Settings
from gnomon.analysis.messages.raytracer.tracing import Tracer
from gnomon.errors import UsageError
from gnomon.instrument.regions import configure, region

_Task = tuple[int, int] | None


class Node:
    """One process: its links, its bricks, and tiles to be drawn."""

    def __init__(self, settings: Settings, rank: int, descriptors: Sequence[int]) -> None:
        self._bell = os.eventfd(0, os.EFD_NONBLOCK)
        ends = [
            None if fd < 0 else Link(socket.socket(fileno=fd), self._bell) for fd in descriptors
        ]
        assert ends[0] is not None
        self._supervisor = ends[0]
        self._others = ends[1:]
        self._settings = settings
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._bricks = SharedBricks(rank, settings, self._ask)
        crossed = Volume(settings).crossed_bricks(settings.isovalue)
        self._tracer = Tracer(settings, crossed, self._bricks.get)
        self._done = False

    def run(self) -> bool:
        """Draw what comes, serve others, until the supervisor has enough; False if it has gone."""
        renderers = [
            threading.Thread(target=self._render, name=f"renderer {number}", daemon=True)
            for number in range(self._settings.renderers)
        ]
        for each in renderers:
            each.start()
        self._communicate()
        if not self._done:
            return False  # nobody wants what renderers still wait for
        for _ in renderers:
            self._tasks.put(None)
        for each in renderers:
            each.join()
        return True

    def _ask(self, node: int, number: int, token: int) -> None:
        link = self._others[node]
        assert link is not None
        link.send(Kind.REQUEST, number, token)

    def _render(self) -> None:
        while (task := self._tasks.get()) is not None:
            with region("renderer"):
                pixels = self._tracer.tile(*task)
            self._supervisor.send(Kind.PIXELS, *task, pixels.tobytes())

    def _communicate(self) -> None:
        """Be the communicator: sleep until there is something, then do it."""
        selector = selectors.DefaultSelector()
        links = [self._supervisor, *(link for link in self._others if link is not None)]
        for link in links:
            selector.register(link.socket, selectors.EVENT_READ, link)
        selector.register(self._bell, selectors.EVENT_READ, None)
        while True:
            for key, events in selector.select():
                link = key.data
                if link is None:
                    os.eventfd_read(self._bell)
                elif events & selectors.EVENT_READ and not self._receive(link):
                    if link is self._supervisor:
                        return
                    # A node has died; what comes of it is for the supervisor to say.
                    selector.unregister(link.socket)
                    links.remove(link)
            for link in links:
                if link.has_more:
                    link.flush()
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.has_more else 0)
                if selector.get_key(link.socket).events != wanted:
                    selector.modify(link.socket, wanted, link)

    def _receive(self, link: Link) -> bool:
        """Do what has come; False when nothing more will come from there."""
        try:
            for frame in link.receive():
                if frame.kind is Kind.QUIT:
                    self._done = True
                    self._report()
                    return False
                self._handle(link, frame)
        except EOFError:
            return False
        return True

    def _handle(self, link: Link, frame: Frame) -> None:
        if frame.kind is Kind.REQUEST:
            with region("handle_request"):
                content = self._bricks.own(frame.first)
                link.send(Kind.RESPONSE, frame.first, frame.second, content)
        elif frame.kind is Kind.RESPONSE:
            with region("handle_response"):
                self._bricks.fill(frame.first, frame.second, frame.content)
        elif frame.kind is Kind.DRAW:
            self._tasks.put((frame.first, frame.second))

    def _report(self) -> None:
        counts = json.dumps(dataclasses.asdict(self._bricks.counts)).encode()
        self._supervisor.socket.setblocking(True)
        self._supervisor.send(Kind.REPORT, content=counts)


def main(arguments: Sequence[str]) -> None:
    """Be a node."""
    settings, rank, folder = Settings.read(arguments[0]), int(arguments[1]), arguments[2]
    try:
        configure()
    except UsageError:
        if folder and not Path(folder).is_dir():
            return  # the supervisor was killed, and another node was quicker to find out
        raise
    node = Node(settings, rank, [int(each) for each in arguments[3:]])
    if not node.run() and folder:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
