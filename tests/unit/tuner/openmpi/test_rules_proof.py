# SPDX-License-Identifier: Apache-2.0
"""Test the proof of a rules file, which passes only if the file is in effect."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import TrialOutput, TrialPlan
from reprise.tuner.openmpi.rules.rules_model import ANY_RANKS, Choice, CommRule, Rules, SizeRule
from reprise.tuner.openmpi.rules.writing import Form, write
from reprise.tuner.openmpi.rules_compiler import Row, Shape, Table, compile_rules
from reprise.tuner.openmpi.rules_proof import calls_for, prove
from tests.examples import examples
from tests.unit.collectives_values import BUILD, open_mpi, rules_in, rules_path
from tests.unit.tuner.openmpi.test_rules_compiler import measured_size, tables

TABLE: Table = {
    "bcast": {Shape(4): [Row(1024, 7, 4, 0), Row(65536, 4, 4, 32768), Row(1048576, 3, 4, 8192)]},
    "reduce": {Shape(4): [Row(64, 5, 4, 0)]},
    "gather": {Shape(4): [Row(1, 2, 4, 0), Row(100, 0, 4, 0)]},
    "barrier": {Shape(4): [Row(0, 3, 4, 0)]},
}
RULES = compile_rules(TABLE, BUILD)
TEXT = write(RULES, Form.CLASSIC, ["a test"], BUILD.algorithms)
PLAN = TrialPlan(["probe"], 4, 1, {"OMPI_MCA_coll_tuned_dynamic_rules_filename": "{rules}"})


def test_a_file_in_effect_is_proved_with_few_launches(place: Path) -> None:
    launches = []

    def run(plan: TrialPlan) -> TrialOutput:
        launches.append(plan)
        assert rules_path(plan).parent == place
        assert rules_path(plan).stat().st_mode & 0o777 == 0o644
        return open_mpi()(plan)

    proof = prove(RULES, Form.CLASSIC, TEXT, 4, PLAN, run, place)
    # Two launches distinguish the 3 rows of bcast. Each of the other collectives has one row, which needs one launch.
    # The last launch uses the file itself.
    assert proof.launches == len(launches) == 2 + 1 + 1 + 1 + 1
    assert not list(place.iterdir())


def test_each_row_among_all_ranks_is_probed_at_its_first_and_last_size() -> None:
    calls = {str(call) for call in calls_for(RULES, 4)}
    assert {"bcast:1:4", "bcast:1023:4", "bcast:1024:4", "bcast:65535:4", "bcast:65536:4", "bcast:1048576:4"} <= calls
    assert {"reduce:4:4", "reduce:60:4", "reduce:64:4", "gather:1:4", "gather:99:4", "gather:100:4"} <= calls
    assert {"bcast:1:2", "barrier:0:4", "barrier:0:2"} <= calls


def _ignored(_: str) -> Rules:
    return {}


def _first_entry(text: str) -> Rules:
    """Return the rules of a hypothetical reader that applies each collective's first entry to all communicators."""
    return {name: [dataclasses.replace(comms[0], ranks=ANY_RANKS)] for name, comms in rules_in(text).items()}


def _own_entry_only(text: str) -> Rules:
    """Return the rules of a hypothetical reader that applies the entry of 4 ranks to communicators of all sizes."""
    return {
        name: [dataclasses.replace(comm, ranks=ANY_RANKS) for comm in comms if comm.ranks == (4, 4)]
        for name, comms in rules_in(text).items()
    }


def _exclusive(text: str) -> Rules:
    """Return the rules of a hypothetical reader that starts and ends each rule's range of sizes one byte later."""

    def later(comm: CommRule) -> CommRule:
        rows = [dataclasses.replace(row, low=row.low + (row.low > 0), high=row.high + 1) for row in comm.rows]
        return dataclasses.replace(comm, rows=rows)

    return {name: [later(comm) for comm in comms] for name, comms in rules_in(text).items()}


@pytest.mark.parametrize("reader", [_ignored, _first_entry, _own_entry_only, _exclusive])
def test_a_file_that_is_read_differently_is_not_proved(reader: Callable[[str], Rules], place: Path) -> None:
    with pytest.raises(TunerError, match="not in effect as written"):
        prove(RULES, Form.CLASSIC, TEXT, 4, PLAN, open_mpi(reader), place)
    assert not list(place.iterdir())


def test_a_file_that_fails_calls_is_not_proved(place: Path) -> None:
    with pytest.raises(TunerError, match="with the file itself it fails with 13"):
        prove(RULES, Form.CLASSIC, TEXT.replace("1024 7", "1024 77"), 4, PLAN, open_mpi(), place)


def test_a_file_without_a_rule_for_these_ranks_is_not_proved(place: Path) -> None:
    with pytest.raises(TunerError, match="decides no call on 8 ranks: there is nothing to prove"):
        prove(RULES, Form.CLASSIC, TEXT, 8, PLAN, open_mpi(), place)


@pytest.mark.parametrize("end", [1, 4], ids=["calls without data", "calls of less than a float"])
def test_a_file_that_decides_only_what_no_probe_can_call_is_not_proved(end: int, place: Path) -> None:
    rules = compile_rules({"allreduce": {Shape(2): [Row(0, 1), Row(end, 0)]}}, BUILD)
    assert rules == {"allreduce": (CommRule((SizeRule(0, end - 1, Choice(1)),), (2, 2)),)}
    with pytest.raises(TunerError, match="decides no call on 2 ranks: there is nothing to prove"):
        prove(rules, Form.CLASSIC, write(rules, Form.CLASSIC), 2, PLAN, open_mpi(), place)


def test_a_form_without_an_oracle_is_not_proved(place: Path) -> None:
    with pytest.raises(TunerError, match="JSON cannot be proved"):
        prove(RULES, Form.JSON, write(RULES, Form.JSON), 4, PLAN, open_mpi(), place)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (TrialOutput(1, "", "mpirun: no such host\nmore", 0.1), "mpirun: no such host"),
        (TrialOutput(0, '{"collective": "bcast"}', "", 0.1), "not a result"),
        (TrialOutput(0, "", "", 0.1), "after 0 of"),
    ],
)
def test_a_probe_without_answer_proves_nothing(output: TrialOutput, why: str, place: Path) -> None:
    with pytest.raises(TunerError, match=why):
        prove(RULES, Form.CLASSIC, TEXT, 4, PLAN, lambda _: output, place)


def test_nodes_that_disagree_are_a_failure(place: Path) -> None:
    def run(plan: TrialPlan) -> TrialOutput:
        output = open_mpi()(plan)
        return dataclasses.replace(output, stdout=output.stdout.replace('"rc": 13', '"rc": -1'))

    with pytest.raises(TunerError, match="returned -1"):
        prove(RULES, Form.CLASSIC, TEXT, 4, PLAN, run, place)


@given(tables(size=measured_size))
@settings(max_examples=examples(50))
def test_every_compiled_file_can_be_proved_and_an_ignored_one_cannot(table: Table) -> None:
    import tempfile

    rules = compile_rules(table, BUILD)
    if not rules:
        return
    ranks = max(comm.ranks[0] for comms in rules.values() for comm in comms)
    text = write(rules, Form.CLASSIC)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        prove(rules, Form.CLASSIC, text, ranks, PLAN, open_mpi(), place)
        with pytest.raises(TunerError):
            prove(rules, Form.CLASSIC, text, ranks, PLAN, open_mpi(_ignored), place)
