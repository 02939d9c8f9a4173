# SPDX-License-Identifier: Apache-2.0
"""Test the proof of a selection file, which passes only if the file is in effect."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import TrialOutput, TrialPlan
from reprise.tuner.mpich.selection_file import Rule, Rules
from reprise.tuner.mpich.selection_proof import decided, prove
from tests.unit.mpich_values import FILE, LIBRARY, TABLE, mpich

RULES: Rules = {
    "bcast": [Rule(1024, "scatter_ring_allgather"), Rule(65536, "nb"), Rule(1048576, "")],
    "allreduce": [Rule(0, "reduce_scatter_allgather")],
    "allgather": [Rule(4096, "ring"), Rule(8192, "")],
    "barrier": [Rule(0, "nb")],
}
PLAN = TrialPlan(["probe"], 4, 1, {FILE: "{rules}"})


def test_a_file_in_effect_is_proved(place: Path) -> None:
    launches = []

    def run(plan: TrialPlan) -> TrialOutput:
        launches.append(plan)
        path = Path(plan.environment[FILE])
        assert path.parent == place
        assert path.stat().st_mode & 0o777 == 0o644
        return mpich()(plan)

    proof = prove(LIBRARY, RULES, 4, PLAN, run, place)
    assert list(map(str, proof.calls)) == [
        *("bcast:1024:4", "bcast:65532:4", "bcast:65536:4", "bcast:1048572:4"),
        *("allreduce:16:4", "allgather:1024:4", "allgather:2044:4", "barrier:0:4"),
    ]
    # One launch uses the file itself, one makes the calls that no rule may decide, 5 launches test one rule each, and 8
    # show that a call fails without its rule.
    assert proof.launches == len(launches) == 2 + 5 + 8
    assert not list(place.iterdir())


def test_the_proof_selects_only_algorithms_that_every_known_release_has(place: Path) -> None:
    """A release ends every program that is given a file with a name it does not know, so that nothing is proved.

    MPICH 5.0 no longer has MPIR_Barrier_intra_dissemination, for example.
    """
    renamed = "MPIR_Barrier_intra_dissemination"
    table = json.loads(json.dumps(TABLE).replace(renamed, "MPIR_Barrier_intra_k_dissemination"))
    newer = replace(LIBRARY, version="5.0.2", table=table, names=LIBRARY.names - {renamed})
    written = []

    def run(plan: TrialPlan) -> TrialOutput:
        written.append(Path(plan.environment[FILE]).read_text())
        return mpich()(plan)

    prove(newer, RULES, 4, PLAN, run, place)
    assert written and not any(renamed in text for text in written)


def _ignored(_: str) -> dict[str, Any]:
    return TABLE


def _ignored_up_to_8_ranks(text: str) -> dict[str, Any]:
    table = json.loads(text)
    bcast = TABLE["collective=bcast"]
    return {**table, "collective=bcast": {"comm_size<=8": bcast, "any": table["collective=bcast"]}}


def _ignored_from_100_kb(text: str) -> dict[str, Any]:
    table = json.loads(text)
    large = {"avg_msg_size<=100000": table["collective=bcast"], "avg_msg_size=any": TABLE["collective=bcast"]}
    return {**table, "collective=bcast": large}


def _another_rule(text: str) -> dict[str, Any]:
    return json.loads(text.replace("avg_msg_size<=65535", "avg_msg_size<=32767"))  # type: ignore[no-any-return]


def _for_all_communicators(text: str) -> dict[str, Any]:
    return json.loads(text.replace("comm_size<4", "comm_size<0"))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "reader", [_ignored, _ignored_up_to_8_ranks, _ignored_from_100_kb, _another_rule, _for_all_communicators]
)
def test_a_file_that_acts_otherwise_than_written_is_not_proved(reader: Any, place: Path) -> None:
    with pytest.raises(TunerError, match="not in effect as written: bcast"):
        prove(LIBRARY, RULES, 4, PLAN, mpich(reader), place)
    assert not list(place.iterdir())


def test_a_program_that_does_not_start_is_no_proof(place: Path) -> None:
    def run(plan: TrialPlan) -> TrialOutput:
        output = mpich()(plan)
        return output if output.exit_status == 0 else TrialOutput(1, "", "srun: error: no nodes", 0.1)

    with pytest.raises(TunerError, match=r"the program ended before it \(srun: error: no nodes\)"):
        prove(LIBRARY, RULES, 4, PLAN, run, place)


def test_output_that_a_launcher_loses_now_and_then_does_not_matter(place: Path) -> None:
    seen: list[int] = []

    def run(plan: TrialPlan) -> TrialOutput:
        output = mpich()(plan)
        seen.append(output.exit_status)
        lost = output.exit_status and sum(seen) % 3
        return replace(output, stdout="") if lost else output

    assert prove(LIBRARY, RULES, 4, PLAN, run, place).launches == 2 + 5 + 3 * 8


def test_a_file_without_a_rule_is_refused(place: Path) -> None:
    with pytest.raises(TunerError, match="nothing to prove"):
        prove(LIBRARY, {"bcast": [Rule(8, "")]}, 4, PLAN, mpich(), place)


def test_a_rule_is_probed_only_where_its_conditions_hold() -> None:
    rule = Rule(0, "reduce_scatter_allgather")
    assert [call.size for call in decided("allreduce", [rule, Rule(64, "nb")], rule, 8)] == [32, 60]
    assert not decided("allreduce", [rule, Rule(32, "nb")], rule, 8)
