# SPDX-License-Identifier: Apache-2.0
"""The proof that a rules file does on the machine what it says: real launches, with Open MPI as its own oracle.

Open MPI drops a wrong file without a word, but a call whose rule names an algorithm that does not exist fails with
MPI_ERR_ARG. So every row of the file gets a number, and launch k runs a variant of the file in which the rows whose
number has bit k set name such an algorithm. The launches in which a call failed then spell the number of the row that
decided it: a file of R rows needs log2(R + 1) launches, rounded up. One more launch shows that the file itself fails
no call.

The variants lie where the file will lie, so that a node that cannot read that directory is noticed too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tuner import artifacts
from tuner.collectives.catalogue import CATALOGUE, compared_bytes
from tuner.collectives.rules import CommEntry, Row, Rules, locate
from tuner.component import Runner, TrialOutput, TrialPlan
from tuner.errors import TunerError

NO_ALGORITHM = 99  # no collective of any release has so many
MPI_SUCCESS = 0
MPI_ERR_ARG = 13
SMALL_RANKS = 2  # the size of the smaller communicator that must be left alone

NAMES = {kind.id: name for name, kind in CATALOGUE.items()}
Address = tuple[int, int, int]  # collective id, index of the communicator entry, index of the row


@dataclass(frozen=True)
class Call:
    """A call to probe: `size` as benchmarks state it, on a communicator of `ranks`."""

    collective: str
    size: int
    ranks: int

    def __str__(self) -> str:
        return f"{self.collective}:{self.size}:{self.ranks}"


@dataclass(frozen=True)
class Proof:
    """What was shown: the calls that were probed, each decided by the row that the file says, and the launches used."""

    calls: Sequence[Call]
    rows: int
    launches: int


def prove(rules: Rules, text: str, ranks: int, plan: TrialPlan, run: Runner, directory: Path) -> Proof:
    """Prove that the file `text` (which holds `rules`) is in effect for jobs of `ranks` tasks.

    `plan` is a launch of the probe without calls, with the environment that jobs get; `{rules}` stands there for the
    file's path. Raises TunerError where anything differs from what the file says.
    """
    calls = tuple(calls_for(rules, ranks))
    codes = number_rows(rules)
    launches = len(codes).bit_length()
    seen = dict.fromkeys(calls, 0)
    for bit in range(launches):
        variant = render_bare(with_oracle(rules, codes, bit))
        for call, code in _probe(variant, calls, plan, run, directory).items():
            if code not in (MPI_SUCCESS, MPI_ERR_ARG):
                raise _failure(call, f"it returned {code} where {MPI_SUCCESS} or {MPI_ERR_ARG} was expected")
            seen[call] |= (code == MPI_ERR_ARG) << bit
    for call in calls:
        expected = codes[_address(rules, call)]
        if seen[call] != expected:
            raise _failure(call, f"row {seen[call] or 'none'} of the file decided it, not row {expected}")
    for call, code in _probe(text, calls, plan, run, directory).items():
        if code != MPI_SUCCESS:
            raise _failure(call, f"with the file itself it fails with {code}")
    return Proof(calls, len(codes), launches + 1)


def number_rows(rules: Rules) -> dict[Address, int]:
    """A number from 1 for each row; 0 is left for "no row"."""
    addresses = [(c, e, r) for c in sorted(rules) for e, entry in enumerate(rules[c]) for r in range(len(entry.rows))]
    return {address: number for number, address in enumerate(addresses, 1)}


def with_oracle(rules: Rules, codes: Mapping[Address, int], bit: int) -> Rules:
    """The rules with an algorithm that does not exist in each row whose number has `bit` set."""

    def row(address: Address, old: Row) -> Row:
        return replace(old, algorithm=NO_ALGORITHM) if codes[address] >> bit & 1 else old

    return {
        c: tuple(
            CommEntry(entry.comm_size, tuple(row((c, e, r), old) for r, old in enumerate(entry.rows)))
            for e, entry in enumerate(entries)
        )
        for c, entries in rules.items()
    }


def render_bare(rules: Rules) -> str:
    """A rules file without a comment: the variants hold what a file for jobs may not hold."""
    words: list[int] = [len(rules)]
    for collective, entries in rules.items():
        words += [collective, len(entries)]
        for entry in entries:
            words += [entry.comm_size, len(entry.rows)]
            for row in entry.rows:
                words += [row.size, row.algorithm, row.fanout, row.segment]
    return " ".join(map(str, words)) + "\n"


def calls_for(rules: Rules, ranks: int) -> Iterator[Call]:
    """The first and the last size that each row decides, among all ranks and in a smaller communicator.

    Open MPI answers a call without data before it looks at the rules, so that size 0 shows nothing.
    """
    for collective, entries in rules.items():
        name = NAMES[collective]
        step = 4 if CATALOGUE[name].sums else 1
        for size in sorted({ranks, min(SMALL_RANKS, ranks)}):
            entry = [entry for entry in entries if entry.comm_size <= size][-1]
            if not CATALOGUE[name].sized:
                yield Call(name, 0, size)
                continue
            unit = compared_bytes(name, 1, size)
            ends = [row.size for row in entry.rows[1:]]
            for row, end in zip(entry.rows, [*ends, None], strict=True):
                first = max(step, -(-row.size // (unit * step)) * step)
                last = first if end is None else (end - 1) // (unit * step) * step
                yield from (Call(name, stated, size) for stated in sorted({first, last}) if first <= last)


def _address(rules: Rules, call: Call) -> Address:
    collective = CATALOGUE[call.collective].id
    place = locate(rules, collective, call.ranks, compared_bytes(call.collective, call.size, call.ranks))
    if place is None:
        raise _failure(call, "the file has no row for it")
    return (collective, *place)


def _probe(text: str, calls: Sequence[Call], plan: TrialPlan, run: Runner, directory: Path) -> dict[Call, int]:
    with artifacts.temporary(directory, text, ".conf") as path:
        environment = {name: value.replace("{rules}", str(path)) for name, value in plan.environment.items()}
        output = run(replace(plan, argv=[*plan.argv, *map(str, calls)], environment=environment))
    return _read(output, calls)


def _read(output: TrialOutput, calls: Sequence[Call]) -> dict[Call, int]:
    found: dict[Call, int] = {}
    for line in output.stdout.splitlines():
        if line.startswith("{"):
            try:
                told = json.loads(line)
                found[Call(told["collective"], told["size"], told["ranks"])] = told["rc"]
            except (ValueError, KeyError, TypeError) as error:
                raise TunerError(f"the probe printed {line!r}, which is no result: install the probe again") from error
    if output.exit_status or set(found) != set(calls):
        words = (output.stderr.strip().splitlines() or ["nothing on standard error"])[0]
        raise TunerError(
            f"the rules file could not be proved: the probe ended with {output.exit_status} after {len(found)} of "
            f"{len(calls)} calls ({words}): nothing is published"
        )
    return found


def _failure(call: Call, what: str) -> TunerError:
    return TunerError(
        f"the rules file is not in effect as written: {call.collective} of {call.size} bytes among {call.ranks} ranks: "
        f"{what}. Nothing is published. See that all nodes can read artifacts.directory, and that no other coll "
        "component outranks tuned (ompi_info --all)"
    )
