# SPDX-License-Identifier: Apache-2.0
"""Read the numbers of messages and bytes between ranks from Open MPI's monitoring files, and compare two runs.

Open MPI writes one text file per rank, `PREFIX.RANK.prof`. Its lines are separated by tabs and start with a letter:

    E SRC DST N bytes M msgs sent HISTOGRAM    the program's own point-to-point messages
    I SRC DST N bytes M msgs sent HISTOGRAM    messages within collectives
    S, R                                       one-sided puts and gets
    C SRC DST ...                              the messages within collectives again, by kind of collective
    D NAME procs: 0,1,2                        a communicator; the O2A, A2O and A2A lines of its collectives follow

The histogram counts messages by the logarithm of their size. The format is that of Open MPI 4.1.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reprise.tuner.errors import ProxyError

KINDS = {
    "E": "point-to-point messages",
    "I": "messages within collectives",
    "S": "one-sided puts",
    "R": "one-sided gets",
    "C": "messages within collectives, by kind",
}
SHAPES = {
    "O2A": "collectives from one rank to all",
    "A2O": "collectives from all ranks to one",
    "A2A": "collectives among all ranks",
}
PAIR = re.compile(r"([EISRC])\s+(\d+)\s+(\d+)\s+(\d+) bytes\s+(\d+) msgs sent(?:\s+([\d,]+))?")
SHAPE = re.compile(r"(O2A|A2O|A2A)\s+(\d+)\s+(\d+) bytes\s+(\d+) msgs sent")
COMMUNICATOR = re.compile(r"D\s+(.*?)\s*procs: ([\d,]+)")


@dataclass(frozen=True)
class Traffic:
    """Numbers of messages and bytes for one `Pair` (kind, sender, receiver) or one `Shape` (kind, members, caller).

    `histogram` counts the messages by size: empty messages first, then one count for each power of two. It is empty if
    Open MPI did not report a histogram.
    """

    messages: int
    bytes: int
    histogram: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.messages} messages, {self.bytes} bytes"


NOTHING = Traffic(0, 0)

Pair = tuple[str, int, int]
"""Letter in `KINDS`, sender's rank, and receiver's rank."""

Shape = tuple[str, tuple[int, ...], int]
"""Key of `SHAPES`, the communicator's members as ranks in MPI_COMM_WORLD, and the calling rank."""


@dataclass(frozen=True)
class MonitoringMatrix:
    """Messages sent in one run of a program, by pairs of ranks and by collectives.

    Equal matrices mean equal communication. Communicators are distinguished by their members. Their names are ignored,
    since they contain numbers that Open MPI assigns arbitrarily. If several communicators have equal members, their
    traffic is added up.
    """

    ranks: int
    pairs: Mapping[Pair, Traffic] = field(default_factory=dict)
    shapes: Mapping[Shape, Traffic] = field(default_factory=dict)

    def point_to_point(self, source: int, destination: int) -> Traffic:
        """Return the program's own messages from one rank to another, without messages within collectives."""
        return self.pairs.get(("E", source, destination), NOTHING)


def parse_profile(text: str, origin: str = "profile") -> tuple[dict[Pair, Traffic], dict[Shape, Traffic]]:
    """Return the traffic in the text of one rank's file, by pairs of ranks and by collectives.

    Raises:
        ProxyError: A line is not in Open MPI's format; the message names the file as `origin`.
    """
    pairs: dict[Pair, Traffic] = {}
    shapes: dict[Shape, Traffic] = {}
    members: tuple[int, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if found := PAIR.fullmatch(line.strip()):
            kind, source, destination, size, count, histogram = found.groups()
            counts = tuple(int(n) for n in histogram.split(",")) if histogram else ()
            pairs[kind, int(source), int(destination)] = Traffic(int(count), int(size), counts)
        elif found := SHAPE.fullmatch(line.strip()):
            shape, rank, size, count = found.groups()
            key = shape, members, int(rank)
            before = shapes.get(key, NOTHING)
            if int(count):
                shapes[key] = Traffic(before.messages + int(count), before.bytes + int(size))
        elif found := COMMUNICATOR.fullmatch(line.strip()):
            members = tuple(int(rank) for rank in found.group(2).split(","))
        else:
            raise ProxyError(f"{origin}:{number}: not a line of Open MPI's monitoring: {line.strip()[:60]!r}")
    return pairs, shapes


def matrix_of(profiles: Sequence[str]) -> MonitoringMatrix:
    """Merge the texts of all ranks' files, given in the order of the ranks, into one matrix.

    Raises:
        ProxyError: A line of a file is not in Open MPI's format.
    """
    pairs: dict[Pair, Traffic] = {}
    shapes: dict[Shape, Traffic] = {}
    for rank, text in enumerate(profiles):
        own_pairs, own_shapes = parse_profile(text, f"profile of rank {rank}")
        pairs |= own_pairs
        shapes |= own_shapes
    return MonitoringMatrix(len(profiles), pairs, shapes)


def read_matrix(prefix: Path, ranks: int) -> MonitoringMatrix:
    """Read the matrix of a run from its files `PREFIX.0.prof` to `PREFIX.<ranks - 1>.prof`.

    Raises:
        ProxyError: A file is missing because the run did not reach MPI_Finalize, or because its MPI has no monitoring.
    """
    texts = []
    for rank in range(ranks):
        path = prefix.with_name(f"{prefix.name}.{rank}.prof")
        try:
            texts.append(path.read_text())
        except OSError as error:
            raise ProxyError(
                f"{path}: {error.strerror}: the program must run under Open MPI and end with MPI_Finalize"
            ) from error
    return matrix_of(texts)


def monitoring_arguments(prefix: Path) -> list[str]:
    """Return the arguments of Open MPI's mpirun that make a run write its monitoring files, `PREFIX.RANK.prof`."""
    settings = {"enable": "2", "enable_output": "3", "filename": str(prefix)}
    return [word for name, value in settings.items() for word in ("--mca", f"pml_monitoring_{name}", value)]


def differences(application: MonitoringMatrix, proxy: MonitoringMatrix) -> Iterator[str]:
    """Yield a sentence for each difference between the communication of an application and of its proxy."""
    if application.ranks != proxy.ranks:
        yield f"the application ran with {application.ranks} ranks, the proxy with {proxy.ranks}"
        return
    for pair in sorted(application.pairs.keys() | proxy.pairs.keys()):
        kind, source, destination = pair
        yield from _difference(
            f"{KINDS[kind]}, rank {source} to {destination}",
            application.pairs.get(pair, NOTHING),
            proxy.pairs.get(pair, NOTHING),
        )
    for shape in sorted(application.shapes.keys() | proxy.shapes.keys()):
        name, members, rank = shape
        yield from _difference(
            f"{SHAPES[name]}, rank {rank} in a communicator of {len(members)}",
            application.shapes.get(shape, NOTHING),
            proxy.shapes.get(shape, NOTHING),
        )


def _difference(what: str, application: Traffic, proxy: Traffic) -> Iterator[str]:
    if (application.messages, application.bytes) != (proxy.messages, proxy.bytes):
        yield f"{what}: {application} in the application, {proxy} in the proxy"
    elif application.histogram != proxy.histogram:
        yield f"{what}: {application} in both, but in messages of other sizes"
