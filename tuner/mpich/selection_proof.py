# SPDX-License-Identifier: Apache-2.0
"""Proof that a selection file is in effect on the machine, by launches that show which rule decides each call.

MPICH does not say which algorithm it chose, and does not use the file for calls that a device handles by itself. But it
ends the program if the file chooses an algorithm of another collective for a call. The proof uses this: it replaces the
algorithms of the call's collective by such a foreign one. If all are replaced except that of one rule, the program
survives exactly if this rule decides the call (or if the file is not used). If all are replaced, the program survives
only if the file is not used. Both launches together prove that the rule decides. Since a call that fails ends its
launch, each call has a launch of its own.

The variants are written to the directory of published files, so a node that cannot read that directory is detected,
too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprise.tuner.errors import TunerError
from reprise.tuner.model import artifacts
from reprise.tuner.model.component import Runner, TrialOutput, TrialPlan
from reprise.tuner.mpich.installed_library import MpichLibrary, Tree
from reprise.tuner.mpich.mpich_catalogue import CATALOGUE, least_long
from reprise.tuner.mpich.selection_file import Rule, Rules, from_zero, inserted, text_of, with_rules
from reprise.tuner.mpich.selection_reader import Call

SUFFIX = ".json"
SMALL_RANKS = 2  # size of the smaller communicator that the file must not affect
# An algorithm that the probed collective cannot use: the key is True if that collective is barrier, otherwise False.
# MPICH 4.0 to 5.0 have both.
FOREIGN = {True: "MPIR_Bcast_intra_binomial", False: "MPIR_Barrier_allcomm_nb"}
STEP = 4  # bytes of an element of a reduction; all probed sizes are multiples of it
MPI_SUCCESS = 0
ATTEMPTS = 3  # maximum launches for a call that must fail; the output of a program that MPICH ends may be lost


@dataclass(frozen=True)
class Proof:
    """Result of a proof: the calls that a rule of the file decides, and the number of launches."""

    calls: Sequence[Call]
    launches: int


def prove(library: MpichLibrary, rules: Rules, ranks: int, plan: TrialPlan, run: Runner, directory: Path) -> Proof:
    """Prove that a file with these rules is in effect for jobs of `ranks` tasks, and harmless to other calls.

    `plan` launches the probe in the environment that jobs get. The calls to probe are appended to its arguments, and
    `{rules}` in its environment is replaced by the file's path. Raise TunerError if a call is not decided as the file
    says, or if the file decides no call.
    """
    probe = _Probe(plan, run, directory, ranks)
    table = with_rules(library, rules, ranks)
    rules = {name: from_zero(given) for name, given in rules.items()}
    ruled = {(name, rule): decided(name, rules[name], rule, ranks) for name in rules for rule in rules[name]}
    proved = [call for (_, rule), calls in ruled.items() if rule.algorithm for call in calls]
    others = [call for (_, rule), calls in ruled.items() if not rule.algorithm for call in calls]
    others += [replace(call, ranks=SMALL_RANKS) for call in proved if ranks > SMALL_RANKS]
    if not proved:
        raise TunerError("the selection file decides no call: there is nothing to prove")
    probe.survives(table, [*proved, *others], "with the file itself, it fails")
    unruled = {name: [_foreign_rule(name, rule) if rule.algorithm else rule for rule in rules[name]] for name in rules}
    probe.survives(inserted(library.table, unruled, ranks), others, "a rule decides it, but must not")
    for (name, rule), calls in ruled.items():
        if rule.algorithm:
            key = f"collective={name}"
            foreign = {**library.table, key: _foreign(library.table[key], name)}
            kept = [one if one is rule else _foreign_rule(name, one) for one in rules[name]]
            probe.survives(inserted(foreign, {name: kept}, ranks), calls, f"the rule {rule} does not decide it")
            none = [_foreign_rule(name, one) for one in rules[name]]
            for call in calls:
                probe.fails(inserted(foreign, {name: none}, ranks), call)
    return Proof(proved, probe.launches)


def decided(name: str, rules: Sequence[Rule], rule: Rule, ranks: int) -> list[Call]:
    """Return calls on `ranks` ranks at the ends of a rule's range of sizes.

    MPICH returns from a call without data before it chooses an algorithm, so that such a call would prove nothing.
    """
    if CATALOGUE[name].size == "none":
        return [Call(name, 0 if name == "barrier" else STEP, ranks)]
    following = next((one.size for one in rules if one.size > rule.size), None)
    unit = CATALOGUE[name].compared_bytes(1, ranks) * STEP
    first = max(1, -(-rule.size // unit)) * STEP
    if "long" in CATALOGUE[name].algorithms.get(rule.algorithm, ()):
        first = max(first, least_long(ranks))
    last = first if following is None else (following - 1) // unit * STEP
    return [Call(name, size, ranks) for size in sorted({first, last}) if first <= last]


def _foreign_rule(name: str, rule: Rule) -> Rule:
    return Rule(rule.size, FOREIGN[name == "barrier"])


def _foreign(tree: Tree, name: str) -> Tree:
    """Return a copy of a table in which each algorithm is replaced by one of another collective."""
    if any(key.startswith(("algorithm=", "composition=")) for key in tree):
        return {f"algorithm={FOREIGN[name == 'barrier']}": {}}
    return {key: _foreign(value, name) for key, value in tree.items()}


class _Probe:
    def __init__(self, plan: TrialPlan, run: Runner, directory: Path, ranks: int) -> None:
        self.launches = 0
        self._plan, self._run, self._directory = plan, run, directory
        self._sentinel = Call("gather", STEP, ranks)  # no rule decides this call; its success shows that MPI started

    def survives(self, table: Tree, calls: Sequence[Call], otherwise: str) -> None:
        """Raise TunerError unless all calls return success and the program ends without an error."""
        if not calls:
            return
        output, returned = self._launch(table, calls)
        lost = next((call for call in calls if str(call) not in returned), None)
        if lost or output.exit_status:
            raise _failure(lost or calls[-1], f"{otherwise} ({_first_line(output)})")

    def fails(self, table: Tree, call: Call) -> None:
        """Raise TunerError unless the program is ended within the call."""
        for _ in range(ATTEMPTS):
            output, returned = self._launch(table, [call])
            if str(self._sentinel) in returned:
                break
        else:
            raise _failure(call, f"the program ended before it ({_first_line(output)})")
        if str(call) in returned:
            raise _failure(call, "the file is not used for it")

    def _launch(self, table: Tree, calls: Sequence[Call]) -> tuple[TrialOutput, set[str]]:
        self.launches += 1
        with artifacts.temporary(self._directory, text_of(table), SUFFIX) as path:
            environment = {name: value.replace("{rules}", str(path)) for name, value in self._plan.environment.items()}
            argv = [*self._plan.argv, str(self._sentinel), *map(str, calls)]
            output = self._run(replace(self._plan, argv=argv, environment=environment))
        return output, set(_returned(output.stdout))


def _returned(stdout: str) -> Iterator[str]:
    """Yield the calls that returned success."""
    for line in stdout.splitlines():
        if line.startswith("{"):
            try:
                result = json.loads(line)
                if result["rc"] == MPI_SUCCESS:
                    yield f"{result['collective']}:{result['size']}:{result['ranks']}"
            except (ValueError, KeyError, TypeError) as error:
                raise TunerError(f"the probe printed {line!r}, not a result: reinstall the probe") from error


def _first_line(output: TrialOutput) -> str:
    return (output.stderr.strip().splitlines() or [f"exit {output.exit_status}, nothing on standard error"])[0]


def _failure(call: Call, what: str) -> TunerError:
    return TunerError(
        f"the selection file is not in effect as written: {call.collective} of {call.size} bytes on {call.ranks} "
        f"ranks: {what}. Nothing is published. Check that all nodes can read artifacts.directory, and that "
        "mpich.library is the library that the trials load"
    )
