# SPDX-License-Identifier: Apache-2.0
"""The proof: it passes for a file in effect, and for nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.examples import examples
from tests.unit.collectives_values import BUILD, open_mpi, rules_path
from tests.unit.test_collectives_rules import tables
from tuner.collectives.compiler import Table, compile_rules, emit
from tuner.collectives.proof import calls_for, prove, render_bare
from tuner.collectives.rules import CommEntry, Row, Rules, parse, read
from tuner.component import TrialOutput, TrialPlan
from tuner.errors import TunerError

TABLE: Table = {
    "bcast": {4: [Row(1024, 7, 4, 0), Row(65536, 4, 4, 32768), Row(1048576, 3, 4, 8192)]},
    "reduce": {4: [Row(64, 5, 4, 0)]},
    "gather": {4: [Row(1, 2, 4, 0), Row(100, 0, 4, 0)]},
    "barrier": {4: [Row(0, 3, 4, 0)]},
}
RULES = compile_rules(TABLE, BUILD)
TEXT = emit(RULES, ["a test"], BUILD)
PLAN = TrialPlan(["probe"], 4, 1, {"OMPI_MCA_coll_tuned_dynamic_rules_filename": "{rules}"})


def test_a_file_in_effect_is_proved_with_few_launches(place: Path) -> None:
    launches = []

    def run(plan: TrialPlan) -> TrialOutput:
        launches.append(plan)
        assert rules_path(plan).parent == place
        assert rules_path(plan).stat().st_mode & 0o777 == 0o644
        return open_mpi()(plan)

    proof = prove(RULES, TEXT, 4, PLAN, run, place)
    # 6 rows of bcast, 4 of reduce, 5 of gather and 3 of barrier: three, three, three and two bits; then the file itself
    assert proof.launches == len(launches) == 3 + 3 + 3 + 2 + 1
    assert not list(place.iterdir())


def test_each_row_among_all_ranks_is_probed_at_its_first_and_last_size() -> None:
    calls = {str(call) for call in calls_for(RULES, 4)}
    assert {"bcast:1:4", "bcast:1023:4", "bcast:1024:4", "bcast:65535:4", "bcast:65536:4", "bcast:1048576:4"} <= calls
    assert {"reduce:4:4", "reduce:60:4", "reduce:64:4", "gather:1:4", "gather:99:4", "gather:100:4"} <= calls
    assert {"bcast:1:2", "barrier:0:4", "barrier:0:2"} <= calls


def _ignored(_: str) -> Rules:
    return {}


def _first_entry(text: str) -> Rules:
    """A reader for which the smallest entry serves all communicators."""
    return {c: entries[:1] for c, entries in parse(text).items()}


def _own_entry_only(text: str) -> Rules:
    """A reader without the guards: the entry of 4 ranks hits the communicator of 2."""
    return {c: [entry for entry in entries if entry.comm_size == 4] for c, entries in parse(text).items()}


def _exclusive(text: str) -> Rules:
    """A reader for which a rule starts one byte later."""

    def later(entry: CommEntry) -> CommEntry:
        return CommEntry(entry.comm_size, [dataclasses.replace(r, size=r.size + (r.size > 0)) for r in entry.rows])

    return {c: [later(entry) for entry in entries] for c, entries in parse(text).items()}


@pytest.mark.parametrize("reader", [_ignored, _first_entry, _own_entry_only, _exclusive])
def test_a_file_that_is_read_differently_is_not_proved(reader: Callable[[str], Rules], place: Path) -> None:
    with pytest.raises(TunerError, match="not in effect as written"):
        prove(RULES, TEXT, 4, PLAN, open_mpi(reader), place)
    assert not list(place.iterdir())


def test_a_file_that_fails_calls_is_not_proved(place: Path) -> None:
    with pytest.raises(TunerError, match="with the file itself it fails with 13"):
        prove(RULES, render_bare(RULES).replace("1024 7", "1024 77"), 4, PLAN, open_mpi(), place)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (TrialOutput(1, "", "mpirun: no such host\nmore", 0.1), "mpirun: no such host"),
        (TrialOutput(0, '{"collective": "bcast"}', "", 0.1), "which is no result"),
        (TrialOutput(0, "", "", 0.1), "after 0 of"),
    ],
)
def test_a_probe_without_answer_proves_nothing(output: TrialOutput, why: str, place: Path) -> None:
    with pytest.raises(TunerError, match=why):
        prove(RULES, TEXT, 4, PLAN, lambda _: output, place)


def test_nodes_that_disagree_are_a_failure(place: Path) -> None:
    def run(plan: TrialPlan) -> TrialOutput:
        output = open_mpi()(plan)
        return dataclasses.replace(output, stdout=output.stdout.replace('"rc": 13', '"rc": -1'))

    with pytest.raises(TunerError, match="returned -1"):
        prove(RULES, TEXT, 4, PLAN, run, place)


@given(tables())
@settings(max_examples=examples(50))
def test_every_compiled_file_can_be_proved_and_an_ignored_one_cannot(table: Table) -> None:
    import tempfile

    rules = compile_rules(table, BUILD)
    if not rules:
        return
    ranks = max(max(sizes) for sizes in table.values())
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        prove(rules, emit(rules, [], BUILD), ranks, PLAN, open_mpi(read), place)
        with pytest.raises(TunerError):
            prove(rules, emit(rules, [], BUILD), ranks, PLAN, open_mpi(_ignored), place)
