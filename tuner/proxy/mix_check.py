# SPDX-License-Identifier: Apache-2.0
"""Check by simulation that a mix can be replayed to its end.

Each message must have a receive, and each collective must be called by all members of its communicator. In the
simulation, a receive waits for its message, a collective waits for all members, and a send waits for nothing, as in MPI
with sufficient buffers. If the simulation completes, a replay can hang only if the settings make MPI synchronize more
than in the recorded run. The application would then hang, too.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.mix import COMPUTE, Mix, expand, keys_of, kind_of

Channel: TypeAlias = tuple[int, int, int, int]
"""Communicator, sender's and receiver's ranks in it, and tag; messages in a channel arrive in order."""

Need: TypeAlias = tuple[Channel | int, int]
"""Message or collective that a call waits for. A message is given by its channel and its index in the channel; a
collective is given by its communicator and its index among the communicator's collectives. Indexes start at 1."""

SENDS = frozenset(["send", "ssend", "isend", "issend"])
RECEIVES = frozenset(["recv", "irecv"])


def check(mix: Mix) -> None:
    """Raise ProxyError if a mix cannot be replayed to its end."""
    play = _Play(mix)
    try:
        play.run()
    except ProxyError as error:
        raise (ProxyError(unsupported(mix)) if mix.left_out else error) from error
    except (LookupError, ValueError) as error:
        raise ProxyError(f"the mix is incomplete: a call lacks {error}: record the application again") from error
    if play.blocked and mix.left_out:
        raise ProxyError(unsupported(mix))
    for rank, text in play.blocked.items():
        raise ProxyError(
            f"the mix would hang: rank {rank} waits forever in `{text}`, since its partner's call was not recorded "
            "(calls of a process that was started later, or of several threads)"
        )
    for channel, sizes in play.sent.items():
        if len(sizes) > play.posted[channel]:
            comm, source, destination, tag = channel
            raise ProxyError(
                f"the mix is incomplete: rank {source} of communicator {comm} sends {len(sizes)} messages to rank "
                f"{destination} with tag {tag}, but {play.posted[channel]} are received: record the application again"
            )


def unsupported(mix: Mix) -> str:
    """Return an error message that names the kinds of calls that a mix lacks because a replay does not support them."""
    return f"it calls {', '.join(sorted(mix.left_out))}, which a replay does not support"


@lru_cache(maxsize=65536)
def _parsed(text: str) -> tuple[str, dict[str, str]]:
    return kind_of(text), keys_of(text)


@dataclass
class _Play:
    mix: Mix
    sent: dict[Channel, list[int]] = field(default_factory=lambda: defaultdict(list))  # bytes of each message, in order
    posted: dict[Channel, int] = field(default_factory=lambda: defaultdict(int))
    # number of collectives called, by communicator and rank
    arrived: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    # number of collectives that all members have called, by communicator
    whole: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    kinds: dict[tuple[int, int], str] = field(default_factory=dict)
    blocked: dict[int, str] = field(default_factory=dict)
    waiting: dict[Channel | int, list[int]] = field(default_factory=lambda: defaultdict(list))
    ready: deque[int] = field(default_factory=deque)

    def run(self) -> None:
        ranks = [self._rank(rank) for rank in range(self.mix.ranks)]
        self.ready.extend(range(len(ranks)))
        while self.ready:
            rank = self.ready.popleft()
            self.blocked.pop(rank, None)
            for text, (where, _) in ranks[rank]:
                self.blocked[rank] = text
                self.waiting[where].append(rank)
                break

    def _rank(self, world_rank: int) -> Iterator[tuple[str, Need]]:
        """Simulate a rank; yield each call that must wait, and the message or collective that it waits for."""
        requests: dict[int, Need] = {}
        places = [members.index(world_rank) if world_rank in members else -1 for members in map(tuple, self.mix.comms)]
        for call in expand(self.mix.programs[world_rank]):
            kind, keys = _parsed(call.text)
            if kind == COMPUTE:
                continue
            needs: list[Need] = []
            if kind == "wait":
                needs = [requests.pop(int(slot)) for slot in keys["q"].split(",") if int(slot) in requests]
            else:
                needs = self._made(call.text, kind, keys, places[int(keys["c"])])
                if "q" in keys:
                    if needs:
                        requests[int(keys["q"])] = needs[0]
                    continue
            for need in needs:
                while not self._is_there(need):
                    yield call.text, need

    def _made(self, text: str, kind: str, keys: dict[str, str], own: int) -> list[Need]:
        """Simulate a call, and return the messages or the collective that it must wait for before it returns."""
        comm = int(keys["c"])
        if own < 0:
            raise ProxyError(f"the mix is incomplete: `{text}` on a communicator that does not include its rank")
        if kind == "sendrecv":
            needs = self._receive(comm, int(keys["P"]), own, int(keys["T"]))
            self._send(comm, own, int(keys["p"]), int(keys["t"]), int(keys["n"]))
            return needs
        if kind in SENDS:
            self._send(comm, own, int(keys["p"]), int(keys["t"]), int(keys["n"]))
            return []
        if kind in RECEIVES:
            return self._receive(comm, int(keys["p"]), own, int(keys["t"]))
        return [self._collective(comm, own, text, kind, keys)]

    def _send(self, comm: int, source: int, destination: int, tag: int, size: int) -> None:
        if destination >= 0:
            channel = comm, source, destination, tag
            self.sent[channel].append(size)
            self._wake(channel)

    def _receive(self, comm: int, source: int, destination: int, tag: int) -> list[Need]:
        if source < 0:
            return []
        channel = comm, source, destination, tag
        self.posted[channel] += 1
        return [(channel, self.posted[channel])]

    def _collective(self, comm: int, own: int, text: str, kind: str, keys: dict[str, str]) -> Need:
        come = self.arrived[comm]
        number = come[own] = come.get(own, 0) + 1
        called = kind.removeprefix("i") if "q" in keys else kind
        said = f"{called} with root {keys['p']}" if "p" in keys else called
        first = self.kinds.setdefault((comm, number), said)
        if first != said:
            raise ProxyError(
                f"the mix is incomplete: on communicator {comm}, rank {own} calls {said}, but another rank calls "
                f"{first}: record the application again"
            )
        size = len(self.mix.comms[comm])
        while len(come) == size and min(come.values()) > self.whole[comm]:
            self.whole[comm] += 1
            del self.kinds[comm, self.whole[comm]]
            self._wake(comm)
        return comm, number

    def _is_there(self, need: Need) -> bool:
        where, number = need
        return (self.whole[where] if isinstance(where, int) else len(self.sent[where])) >= number

    def _wake(self, where: Channel | int) -> None:
        if self.waiting.get(where):
            self.ready.extend(self.waiting.pop(where))
