# SPDX-License-Identifier: Apache-2.0
"""Proof that a rules file is in effect on the machine, by launches that show which rule decides each call.

Open MPI silently ignores an invalid file, but a call fails with MPI_ERR_ARG if its rule names an algorithm that does
not exist. So the rows of a collective are numbered, starting at 1. Launch k runs a variant of the file in which the
rows with bit k set in their number name a nonexistent algorithm. The launches in which a call fails give the bits that
are set in the number of the row that decides the call, so R rows need log2(R + 1) launches, rounded up. One collective
is tested at a time, since algorithms call other collectives (a linear allgather is a gather and a bcast). One more
launch shows that the file itself makes no call fail.

The variants are written to the directory of published files, so a node that cannot read that directory is detected,
too.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprise.tuner.errors import TunerError
from reprise.tuner.model import artifacts
from reprise.tuner.model.component import Runner, TrialOutput, TrialPlan
from reprise.tuner.openmpi.catalogue import CATALOGUE, compared_bytes, takes_data, tells_sizes
from reprise.tuner.openmpi.rules.rule_steps import by_size
from reprise.tuner.openmpi.rules.rules_model import Choice, CommRule, Rules, SizeRule, locate
from reprise.tuner.openmpi.rules.writing import Form, write

NO_ALGORITHM = 99  # no release has an algorithm with this number
MPI_SUCCESS = 0
MPI_ERR_ARG = 13
SMALL_RANKS = 2  # size of the smaller communicator that the file must not affect
ANY_NODES = 1  # number of nodes for lookups; any number works, since the rules to prove do not depend on it


@dataclass(frozen=True)
class Call:
    """A call to probe: `size` bytes, as benchmarks report the size, on a communicator of `ranks` ranks."""

    collective: str
    size: int
    ranks: int

    def __str__(self) -> str:
        return f"{self.collective}:{self.size}:{self.ranks}"


@dataclass(frozen=True)
class Proof:
    """Result of a proof.

    `calls` are the probed calls; the expected row decided each of them. `launches` is the number of launches.
    """

    calls: Sequence[Call]
    launches: int


def prove(rules: Rules, form: Form, text: str, ranks: int, plan: TrialPlan, run: Runner, directory: Path) -> Proof:
    """Prove that the file `text` (`rules` written in `form`) is in effect for jobs of `ranks` tasks.

    `plan` launches the probe in the environment that jobs get. The calls to probe are appended to the plan's arguments,
    and `{rules}` in the plan's environment is replaced by the file's path. Raise TunerError if a call is not decided as
    the file says, if the file decides no call of such jobs, or if the form is JSON, which cannot be proved.
    """
    if form is Form.JSON:
        raise TunerError("a rules file in JSON cannot be proved: Open MPI skips rules that it cannot carry out")
    calls = tuple(calls_for(rules, ranks))
    if not any(_row_number(rules, call) for call in calls):
        raise TunerError(f"the rules file decides no call on {ranks} ranks: there is nothing to prove")
    launches = 0
    for collective in rules:
        own = [call for call in calls if call.collective == collective]
        numbers = {call: _row_number(rules, call) for call in own}
        for bit in range(sum(len(comm.rows) for comm in rules[collective]).bit_length()):
            variant = write(with_oracle(rules, collective, bit), form)
            launches += 1
            for call, code in _probe(variant, own, plan, run, directory).items():
                if code != (MPI_ERR_ARG if numbers[call] >> bit & 1 else MPI_SUCCESS):
                    decides = f"row {numbers[call]} does not decide it" if numbers[call] else "a row decides it"
                    raise _failure(call, f"{decides} (oracle {bit} returned {code})")
    for call, code in _probe(text, calls, plan, run, directory).items():
        if code != MPI_SUCCESS:
            raise _failure(call, f"with the file itself it fails with {code}")
    return Proof(calls, launches + 1)


def with_oracle(rules: Rules, collective: str, bit: int) -> Rules:
    """Return the rules with an invalid algorithm in each row of `collective` whose number has `bit` set."""
    numbers = itertools.count(1)

    def row(old: SizeRule) -> SizeRule:
        number = next(numbers)
        # A different fan-out in each row prevents neighboring rows from being merged in the file.
        return replace(old, choice=Choice(NO_ALGORITHM, number)) if number >> bit & 1 else old

    comms = [replace(comm, rows=tuple(row(old) for old in comm.rows)) for comm in rules[collective]]
    return {**rules, collective: comms}


def calls_for(rules: Rules, ranks: int) -> Iterator[Call]:
    """Yield calls with the smallest and the largest message of each range of sizes, whether or not it has a row.

    Each call is made on a communicator of all ranks, and on one of SMALL_RANKS ranks. Open MPI handles a call without
    data before it checks the rules, so a call of size 0 would prove nothing.
    """
    for name, comms in rules.items():
        for size in sorted({ranks, min(SMALL_RANKS, ranks)}):
            comm = next((comm for comm in comms if comm.holds(ANY_NODES, size)), CommRule(()))
            if tells_sizes(name):
                yield from (Call(name, stated, size) for stated in _ends(name, comm, size))
            else:
                yield Call(name, int(takes_data(name)), size)


def _ends(name: str, comm: CommRule, ranks: int) -> Iterator[int]:
    unit = compared_bytes(name, 1, ranks)
    step = 4 if CATALOGUE[name].sums else 1
    steps = by_size(comm.rows)
    for (low, _), (end, _) in zip(steps, [*steps[1:], (None, None)], strict=True):
        first = max(step, -(-low // (unit * step)) * step)
        last = first if end is None else (end - 1) // (unit * step) * step
        yield from (stated for stated in sorted({first, last}) if first <= last)


def _row_number(rules: Rules, call: Call) -> int:
    """Return the number of the row that must decide the call, from 1 within its collective.

    Return 0 if the built-in rules must decide.
    """
    compared = compared_bytes(call.collective, call.size, call.ranks)
    place = locate(rules, call.collective, ANY_NODES, call.ranks, compared)
    if place.comm is None or place.row is None:
        return 0
    return sum(len(comm.rows) for comm in rules[call.collective][: place.comm]) + place.row + 1


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
                result = json.loads(line)
                found[Call(result["collective"], result["size"], result["ranks"])] = result["rc"]
            except (ValueError, KeyError, TypeError) as error:
                raise TunerError(f"the probe printed {line!r}, not a result: reinstall the probe") from error
    if output.exit_status or set(found) != set(calls):
        words = (output.stderr.strip().splitlines() or ["nothing on standard error"])[0]
        raise TunerError(
            f"the rules file could not be proved: the probe ended with {output.exit_status} after {len(found)} of "
            f"{len(calls)} calls ({words}): nothing is published"
        )
    return found


def _failure(call: Call, what: str) -> TunerError:
    return TunerError(
        f"the rules file is not in effect as written: {call.collective} of {call.size} bytes on {call.ranks} ranks: "
        f"{what}. Nothing is published. Check that all nodes can read artifacts.directory, and that no other coll "
        "component outranks tuned (ompi_info --all)"
    )
