"""Threads at rest in many kinds of Python frames; writes what faulthandler says of them."""

from __future__ import annotations

import faulthandler
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ready = threading.Barrier(9)


def rest() -> None:
    ready.wait()
    time.sleep(600)


def plain(depth: int) -> None:
    if depth:
        plain(depth - 1)
    else:
        rest()


def generator() -> Iterator[int]:
    yield 1
    rest()


def through_generator() -> None:
    for _ in generator():
        pass


def through_callback() -> None:
    def key(value: int) -> int:
        if value == 3:
            rest()
        return value

    sorted([3, 1, 2], key=key)


class Holder:
    def method(self) -> None:
        rest()

    @property
    def attribute(self) -> int:
        self.method()
        return 1


def through_exec() -> None:
    exec("def inner():\n    rest()\ninner()", {"rest": rest})


def größe() -> None:  # noqa: PLC2401 - its name is read as text that is not ASCII
    rest()


TASKS: list[Callable[[], object]] = [
    lambda: plain(5),
    lambda: plain(300),
    through_generator,
    through_callback,
    lambda: Holder().attribute,
    through_exec,
    größe,
    lambda: list(map(lambda _: rest(), [1])),  # noqa: C417 - from C into Python
]

threads = [threading.Thread(target=task, daemon=True) for task in TASKS]
for thread in threads:
    thread.start()
ready.wait()
time.sleep(0.5)
with Path(sys.argv[1] + ".ids").open("w") as file:
    json.dump({each.ident: each.native_id for each in threading.enumerate()}, file)
with Path(sys.argv[1] + ".dump").open("w") as file:
    faulthandler.dump_traceback(file, all_threads=True)
print("ready", flush=True)
sys.stdin.read()
