"""The twin of the compiled fabric: symbol by symbol, slow and obvious.

In every symbol time each controller takes one symbol from its link, lets the stripper look at it,
and puts one symbol on the next link. Nothing here knows of gaps, windows or events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

ECHO, SYNC = 4, 8  # symbols
NEW, A, B, DONE = range(4)
REQUEST, RESPONSE = 0, 1
LENGTHS = [0, 16, 24, 48, 144, 8, 16, 40, 136, 4, 16, 24, 48, 144, 8, 16, 40, 136, 4, 1, 8]


@dataclass(frozen=True)
class Settings:
    """What the compiled fabric is told, in its words."""

    delay: int = 4
    go_bits: bool = True
    queue: int = 0
    active: int = 64
    input: int = 64
    service: int = 0
    blink: int = 16
    sync_period: int = 0
    outstanding: tuple[int, ...] = (0, 0, 0, 0)


@dataclass
class Packet:
    """A send between two controllers of a ring."""

    source: int
    target: int
    type: int
    answer: int
    category: int
    address: int
    tx: int
    feeder: int  # a controller of the node, -1 for the host
    born: int
    ready: int = 0
    made: tuple[int, int] = (-1, -1)
    queued: int = 0
    origin: int = 0
    exit: int = 0
    phase: int = NEW
    retried: bool = False

    @property
    def group(self) -> int:
        return RESPONSE if self.type >= 10 else REQUEST

    @property
    def length(self) -> int:
        return LENGTHS[self.type]


@dataclass(frozen=True)
class Idle:
    go: bool


@dataclass(frozen=True)
class Symbol:
    packet: Packet | None  # None: of a sync packet
    at: int
    length: int
    kind: str
    status: int
    to: int


@dataclass
class Lane:
    """What requests and responses have apart."""

    fresh: list[Packet] = field(default_factory=list)
    retries: list[Packet] = field(default_factory=list)
    active: int = 0
    frees: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)  # by feeder
    served: list[int] = field(default_factory=list)
    last_served: int = 0
    label: int = A
    serving: int = 0
    others: int = 0


class Controller:
    def __init__(self, twin: Twin, index: int, node: int) -> None:
        self.twin, self.index, self.node = twin, index, node
        self.lanes = (Lane(), Lane())
        self.strip_go = True  # the last go bit of this gap, behind the stripper
        self.echo_status = DONE
        self.last: Idle | Symbol = Idle(True)
        self.sending: list[Symbol] | None = None
        self.attached = False  # the idle behind the packet that was sent is due
        self.fifo: deque[Symbol] = deque()
        self.recovering = self.saved = self.attached_of_passed = False
        self.next_sync = twin.settings.sync_period or None

    # The stripper: what is for us becomes idles, the end of a send its echo.

    def strip(self, now: int, symbol: Idle | Symbol) -> Idle | Symbol:
        if isinstance(symbol, Idle):
            self.strip_go = self.strip_go or symbol.go
            return Idle(self.strip_go)
        if symbol.at == 0:
            self.strip_go = False
        if symbol.to != self.index:
            return symbol
        packet = symbol.packet
        if packet is None or symbol.kind == "echo":
            if packet is not None and symbol.at == 0:
                self.echo_arrived(now, packet, symbol.status)
            return Idle(self.strip_go)
        if symbol.at == 0:
            self.echo_status = self.judge(now, packet)
        tail = symbol.at - (symbol.length - ECHO)
        if tail < 0:
            return Idle(self.strip_go)
        return Symbol(packet, tail, ECHO, "echo", self.echo_status, packet.origin)

    def echo_arrived(self, now: int, packet: Packet, status: int) -> None:
        lane = self.lanes[packet.group]
        lane.frees.append(now + ECHO)
        if status == DONE:
            if packet.group == REQUEST and not packet.answer and packet.source == self.node:
                when = now + ECHO + self.twin.settings.blink
                self.twin.release(self.node, when, self.index, packet.category)
            return
        packet.phase, packet.ready, packet.retried = status, now + ECHO, True
        lane.retries.append(packet)
        lane.retries.sort(key=lambda each: each.queued)  # the oldest first

    def judge(self, now: int, packet: Packet) -> int:
        lane = self.lanes[packet.group]
        lane.served = [each for each in lane.served if each > now]
        other = B if lane.label == A else A
        turn = lane.serving == 0 or packet.phase == lane.label
        status = DONE
        room = len(lane.served) < self.twin.settings.input
        if turn and room and self.twin.take_place(self, packet):
            if packet.phase == lane.label:
                lane.serving -= 1
            elif packet.phase == other:
                lane.others -= 1
            lane.last_served = max(now + packet.length, lane.last_served)
            lane.last_served += self.twin.settings.service
            lane.served.append(lane.last_served)
            self.twin.accepted(self, packet, now, lane.last_served)
        elif packet.phase == NEW:
            status, lane.others = other, lane.others + 1
        else:
            status = packet.phase
        if lane.serving == 0 and lane.others:
            lane.label, lane.serving, lane.others = other, lane.others, 0
        return status

    # The output multiplexer: passes, sends, or recovers from having sent.

    def chosen(self, now: int) -> list[Symbol] | None:
        """Return the symbols of what may be sent now, if anything may be."""
        last = self.last
        if not isinstance(last, Idle) or not (last.go or not self.twin.settings.go_bits):
            return None
        if self.next_sync is not None and self.next_sync <= now:
            self.next_sync += self.twin.settings.sync_period
            to = self.twin.following[self.index]
            return [Symbol(None, k, SYNC, "sync", NEW, to) for k in range(SYNC)]
        for group in (RESPONSE, REQUEST):
            lane = self.lanes[group]
            lane.active -= sum(each <= now for each in lane.frees)
            lane.frees = [each for each in lane.frees if each > now]
            queue = lane.retries or lane.fresh
            if not queue or queue[0].ready > now or lane.active >= self.twin.settings.active:
                continue
            packet = queue.pop(0)
            lane.active += 1
            if queue is lane.fresh:
                self.twin.left(self, packet, now)
            length, phase = packet.length, packet.phase
            return [Symbol(packet, k, length, "send", phase, packet.exit) for k in range(length)]
        return None

    def multiplex(self, now: int, symbol: Idle | Symbol) -> Idle | Symbol:
        passing = self.sending is None and not self.attached and not self.recovering
        if passing and (chosen := self.chosen(now)):
            self.sending, self.saved, passing = chosen, False, False
        if passing:
            if isinstance(symbol, Idle):
                return Idle(symbol.go or (isinstance(self.last, Idle) and self.last.go))
            return symbol
        if isinstance(symbol, Idle):
            self.saved = self.saved or symbol.go
        else:
            self.fifo.append(symbol)
        if self.sending:
            out = self.sending.pop(0)
            if not self.sending:
                self.sending, self.attached = None, True
            return out
        if self.attached or self.attached_of_passed:
            self.attached = self.attached_of_passed = False
            return self.closing_idle()
        out = self.fifo.popleft()
        self.attached_of_passed = out.at == out.length - 1
        return out

    def closing_idle(self) -> Idle:
        self.recovering = bool(self.fifo)
        if self.recovering:
            return Idle(False)
        go, self.saved = self.saved, False
        return Idle(go)


@dataclass(frozen=True)
class Transaction:
    time: int
    source: int
    target: int
    type: int
    answer: int
    category: int
    address: int


class Node:
    def __init__(self) -> None:
        self.births: deque[Transaction] = deque()
        self.releases: list[tuple[int, int, int]] = []  # time, controller, category
        self.outstanding = [0, 0, 0, 0]
        self.pending: tuple[deque[Transaction], ...] = tuple(deque() for _ in range(4))
        self.tx = 0


HOST = -1
Head = tuple[int, int, int, int, int, int, int, int]


class Twin:
    """A fabric and the heads of all packets that its controllers sent, in `log`."""

    def __init__(
        self,
        node: Sequence[int],
        following: Sequence[int],
        first: Sequence[Sequence[int]],
        leg: Sequence[Sequence[int]],
        settings: Settings,
        transactions: Sequence[Transaction],
    ) -> None:
        self.settings, self.following, self.first, self.leg = settings, following, first, leg
        self.controllers = [Controller(self, i, n) for i, n in enumerate(node)]
        # Into each controller.
        self.links: list[deque[Idle | Symbol]] = [
            deque([Idle(True)] * settings.delay) for _ in node
        ]
        self.nodes = [Node() for _ in first]
        self.host_waits: dict[int, deque[Packet]] = {i: deque() for i in range(len(node))}
        self.returns: list[tuple[int, int, int, int]] = []  # time, controller, group, feeder
        self.log: list[Head] = []
        self.delivered: list[Packet] = []
        for each in transactions:
            self.nodes[each.source].births.append(each)

    # Nodes

    def release(self, node: int, time: int, by: int, category: int) -> None:
        self.nodes[node].releases.append((time, by, category))

    def issue(self, now: int, what: Transaction) -> None:
        node = self.nodes[what.source]
        limit = self.settings.outstanding[what.category]
        if limit and node.outstanding[what.category] >= limit:
            node.pending[what.category].append(what)
            return
        node.outstanding[what.category] += 1
        packet = Packet(
            *(what.source, what.target, what.type, what.answer, what.category, what.address),
            tx=node.tx % 64,
            feeder=HOST,
            born=what.time,
        )
        node.tx += 1
        out = self.first[what.source][what.target]
        self.host_waits[out].append(packet)
        self.admit(out, now)

    def admit(self, controller: int, now: int) -> None:
        """Let packets of the host into the output queue, as long as it has places."""
        waits, out = self.host_waits[controller], self.controllers[controller]
        while waits and self.place(out, REQUEST, HOST):
            self.enqueue(out.node, waits.popleft(), now, (-1, -1))

    def place(self, out: Controller, group: int, feeder: int) -> bool:
        if not self.settings.queue:
            return True
        places = out.lanes[group].places
        free = places.setdefault(feeder, self.settings.queue)
        places[feeder] -= free > 0
        return free > 0

    def take_place(self, at: Controller, packet: Packet) -> bool:
        here = packet.target == at.node
        if here and not packet.answer:
            return True
        target = packet.source if here else packet.target
        out = self.controllers[self.first[at.node][target]]
        return self.place(out, RESPONSE if here else packet.group, at.index)

    def left(self, at: Controller, packet: Packet, now: int) -> None:
        if self.settings.queue:
            back = (now + self.settings.blink, at.index, packet.group, packet.feeder)
            self.returns.append(back)

    def enqueue(self, node: int, packet: Packet, ready: int, made: tuple[int, int]) -> None:
        packet.origin = self.first[node][packet.target]
        packet.exit = self.leg[packet.origin][packet.target]
        packet.ready = packet.queued = ready
        packet.made = made
        queue = self.controllers[packet.origin].lanes[packet.group].fresh
        queue.append(packet)
        queue.sort(key=lambda each: (each.ready, each.made))

    def accepted(self, at: Controller, packet: Packet, now: int, out: int) -> None:
        ready = out + self.settings.blink
        if packet.target != at.node:
            onwards = Packet(
                *(packet.source, packet.target, packet.type, packet.answer, packet.category),
                *(packet.address, packet.tx, at.index, packet.born),
            )
            self.enqueue(at.node, onwards, ready, (now, at.index))
            return
        self.delivered.append(packet)
        if packet.group == RESPONSE:
            self.release(at.node, ready, at.index, packet.category)
        elif packet.answer:
            answer = Packet(
                *(packet.target, packet.source, packet.answer, 0, packet.category),
                *(packet.address, packet.tx, at.index, out),
            )
            self.enqueue(at.node, answer, ready, (now, at.index))

    def begin(self, now: int) -> None:
        for back in [each for each in self.returns if each[0] == now]:
            self.returns.remove(back)
            _, controller, group, feeder = back
            self.controllers[controller].lanes[group].places[feeder] += 1
            if feeder == HOST:
                self.admit(controller, now)
        for node in self.nodes:
            for release in sorted(each for each in node.releases if each[0] == now):
                node.releases.remove(release)
                category = release[2]
                node.outstanding[category] -= 1
                if node.pending[category]:
                    self.issue(now, node.pending[category].popleft())
            while node.births and node.births[0].time == now:
                self.issue(now, node.births.popleft())

    def run(self, until: int) -> None:
        for now in range(until):
            self.begin(now)
            arriving = [link.popleft() for link in self.links]
            for controller, symbol in zip(self.controllers, arriving, strict=True):
                out = controller.multiplex(now, controller.strip(now, symbol))
                controller.last = out
                self.links[self.following[controller.index]].append(out)
                if isinstance(out, Symbol) and out.at == 0:
                    self.note(now, controller, out)

    def note(self, now: int, controller: Controller, head: Symbol) -> None:
        packet, me = head.packet, controller.index
        if packet is None:
            there = self.controllers[self.following[me]].node
            self.log.append((now, me, 20, NEW, controller.node, there, 0, 0))
        else:
            echo = 18 if packet.group == RESPONSE else 9
            number = echo if head.kind == "echo" else packet.type
            ends = (packet.source, packet.target, packet.tx, packet.address)
            self.log.append((now, me, number, head.status, *ends))
