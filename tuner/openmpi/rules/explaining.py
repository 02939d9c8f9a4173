# SPDX-License-Identifier: Apache-2.0
"""Explanation of how a release of Open MPI decides a call: the rule in a file that applies, and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.algorithms import known_algorithms
from reprise.tuner.openmpi.catalogue import NAMES, UNITS, Unit, compared_bytes
from reprise.tuner.openmpi.rules.releases import Reading
from reprise.tuner.openmpi.rules.rules_model import RANKS_MAX, SIZE_MAX, Choice, CommRule, Range, SizeRule, locate

Outcome = Literal["rule", "built-in", "abort", "dropped", "crash"]


@dataclass(frozen=True)
class Call:
    """A call to explain, with `size` in bytes as benchmarks report it, among `ranks` ranks on `nodes` nodes."""

    collective: str
    nodes: int
    ranks: int
    size: int

    def __post_init__(self) -> None:
        if self.collective not in NAMES:
            raise TunerError(f"{self.collective!r} is not a collective: choose one of {', '.join(NAMES)}")
        if self.nodes > self.ranks:
            raise TunerError(f"{self.ranks} ranks cannot run on {self.nodes} nodes: use at least one rank per node")

    @property
    def compared(self) -> int:
        """Number that Open MPI compares with a rule's size; 0 if the collective does not use rules files."""
        return compared_bytes(self.collective, self.size, self.ranks) if self.collective in UNITS else 0


@dataclass(frozen=True)
class Explanation:
    """A release's decision about a call, the rule that causes it, and the reason in words."""

    release: str
    outcome: Outcome
    reason: str
    choice: Choice | None = None
    algorithm_name: str | None = None
    comm: CommRule | None = None
    row: SizeRule | None = None
    hidden_by_han: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as a JSON object."""
        entry = self.comm and {"where": self.comm.where, "ranks": self.comm.ranks, "nodes": self.comm.nodes}
        row = self.row and {"where": self.row.where, "compared_bytes": (self.row.low, self.row.high)}
        return {
            "release": self.release,
            "outcome": self.outcome,
            "reason": self.reason,
            "choice": self.choice and {**asdict(self.choice), "name": self.algorithm_name},
            "entry": entry,
            "row": row,
            "hidden_by_han": self.hidden_by_han,
        }


def explain(reading: Reading, call: Call) -> Explanation:
    """Explain how the release that read the file decides a call."""
    release, name = reading.family.name, call.collective
    if reading.crashes:
        return Explanation(
            release, "crash", f"the job may crash in MPI_Init while it reads the file: {reading.dropped}"
        )
    if reading.dropped:
        return Explanation(release, "dropped", f"the whole file is ignored: {reading.dropped}")
    if name not in UNITS:
        return Explanation(release, "built-in", f"{name} does not use rules files")
    comms = reading.rules.get(name, ())
    place = locate(reading.rules, name, call.nodes, call.ranks, call.compared)
    if place.comm is None:
        reason = f"no entry of {name} is for {_ranks(call)}" if comms else f"the file has no rules for {name}"
        return Explanation(release, "built-in", reason)
    comm = comms[place.comm]
    entry = f"{comm.where}: the entry for {spoken(comm.ranks, RANKS_MAX)} ranks"
    if place.row is None:
        return Explanation(release, "built-in", f"{entry}, which has no row for {call.compared} bytes", comm=comm)
    row = comm.rows[place.row]
    reason = f"{entry}; {row.where}: the row for {spoken((row.low, row.high), SIZE_MAX)} bytes"
    choice, known = row.choice, reading.family.algorithms.get(name, {})
    if not choice.algorithm:
        return Explanation(release, "built-in", f"{reason}, with algorithm 0", choice, None, comm, row)
    if choice.algorithm not in known:
        missing = f"{reason}: there is no algorithm {choice.algorithm}, so the call fails and the job aborts"
        return Explanation(release, "abort", missing, choice, None, comm, row)
    hidden = reading.family.han_first and call.nodes > 1 and name in known_algorithms("han", reading.family.series)
    return Explanation(release, "rule", reason, choice, known[choice.algorithm], comm, row, hidden)


def grouped(explanations: Sequence[Explanation]) -> list[tuple[list[str], Explanation]]:
    """Group releases with equal decisions and reasons; return each group's releases and their common explanation."""
    groups: list[tuple[list[str], Explanation]] = []
    for one in explanations:
        same = next((releases for releases, other in groups if _equal(one, other)), None)
        if same is None:
            groups.append(([one.release], one))
        else:
            same.append(one.release)
    return groups


def lines(call: Call, explanations: Sequence[Explanation]) -> list[str]:
    """Return the explanations of a call as lines of text for people."""
    unit = UNITS.get(call.collective)
    first = f"{call.collective} of {call.size} bytes" if unit is not Unit.NOTHING else call.collective
    compares = f": Open MPI compares {call.compared} ({unit.value})" if unit else ""
    found = [f"{first} among {_ranks(call)}{compares}", ""]
    for releases, one in grouped(explanations):
        found.append(f"{', '.join(releases)}: {_what(one)}")
        found.append(f"    {one.reason}")
        if one.hidden_by_han:
            found.append("    only with OMPI_MCA_coll_han_priority=0: otherwise han handles calls across nodes")
    return found


def choice_words(choice: Choice, name: str | None) -> str:
    """Describe a choice in words, leaving out numbers that are 0."""
    words = [f"{name} ({choice.algorithm})" if name else f"algorithm {choice.algorithm}"]
    words += [f"fan-out {choice.fanout}"] * bool(choice.fanout)
    words += [f"segments of {choice.segment} bytes"] * bool(choice.segment)
    words += [f"at most {choice.requests} requests"] * bool(choice.requests)
    return ", ".join(words)


def spoken(limits: Range, limit: int) -> str:
    """Describe a range in words; a range that ends at `limit` has no upper limit."""
    low, high = limits
    if low > high:
        return "no number of"
    if high == limit:
        return f"{low} and more"
    return str(low) if low == high else f"{low} to {high}"


def _what(one: Explanation) -> str:
    if one.outcome == "rule" and one.choice:
        return choice_words(one.choice, one.algorithm_name)
    words = {"abort": "the job ABORTS", "crash": "the job CRASHES", "dropped": "the file is IGNORED"}
    return words.get(one.outcome, "the built-in rules decide")


def _ranks(call: Call) -> str:
    return f"{call.ranks} rank{'s' * (call.ranks != 1)} on {call.nodes} node{'s' * (call.nodes != 1)}"


def _equal(one: Explanation, other: Explanation) -> bool:
    return (one.outcome, one.choice, one.algorithm_name, one.reason, one.hidden_by_han) == (
        other.outcome,
        other.choice,
        other.algorithm_name,
        other.reason,
        other.hidden_by_han,
    )
