# SPDX-License-Identifier: Apache-2.0
"""Test selection files on the installed MPICH, with several ranks on this machine.

MPIR_CVAR_NOLOCAL makes MPICH treat each rank as if it had a node of its own, as with one task per node.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import TrialOutput, TrialPlan
from reprise.tuner.mpich.installed_library import MpichLibrary, describe
from reprise.tuner.mpich.mpich_catalogue import CATALOGUE, full_name, serves
from reprise.tuner.mpich.selection_file import Rule, Rules, inserted, text_of, with_rules
from reprise.tuner.mpich.selection_proof import prove
from reprise.tuner.mpich.selection_reader import Call, selected
from tests.places import ROOT
from tests.unit.mpich_values import FILE

MPICC, MPIEXEC = shutil.which("mpicc.mpich"), shutil.which("mpiexec.mpich")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (MPICC and MPIEXEC), reason="needs Debian's mpich and libmpich-dev"),
]
RANKS = 4
APART = {"MPIR_CVAR_NOLOCAL": "1"}
RULES: Rules = {"bcast": [Rule(1024, "scatter_ring_allgather"), Rule(65536, "")], "allreduce": [Rule(8192, "nb")]}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("programs")
    words = ["make", "-s", "-C", str(ROOT / "tuner/programs/collbench"), "FAMILY=mpich", f"MPICC={MPICC}"]
    subprocess.run([*words, f"BUILD={built}"], check=True)
    return built


@pytest.fixture(scope="module")
def library(programs: Path) -> MpichLibrary:
    needed = subprocess.run(["ldd", programs / "reprise-rulesprobe-mpich"], capture_output=True, text=True, check=True)
    return describe(next(line.split()[2] for line in needed.stdout.splitlines() if "libmpich.so" in line))


def launch(argv: list[str], environment: Mapping[str, str], ranks: int = RANKS) -> TrialOutput:
    done = subprocess.run(
        [str(MPIEXEC), "-n", str(ranks), *argv],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return TrialOutput(done.returncode, done.stdout, done.stderr, 0.0)


def run(plan: TrialPlan) -> TrialOutput:
    return launch(list(plan.argv), plan.environment, plan.nodes * plan.tasks_per_node)


def probe(programs: Path, environment: Mapping[str, str] = APART) -> TrialPlan:
    return TrialPlan([str(programs / "reprise-rulesprobe-mpich")], RANKS, 1, {FILE: "{rules}", **environment})


def test_a_file_selects_the_algorithm_per_size(programs: Path, library: MpichLibrary, place: Path) -> None:
    proof = prove(library, RULES, RANKS, probe(programs), run, place)
    assert {str(call) for call in proof.calls} >= {"bcast:1024:4", "bcast:65532:4", "allreduce:8192:4"}


def test_a_file_without_effect_is_not_proved(programs: Path, library: MpichLibrary, place: Path) -> None:
    elsewhere = TrialPlan(probe(programs).argv, RANKS, 1, APART)
    with pytest.raises(TunerError, match="the file is not used for it"):
        prove(library, RULES, RANKS, elsewhere, run, place)


def test_ranks_that_share_a_node_do_not_follow_the_file(programs: Path, library: MpichLibrary, place: Path) -> None:
    with pytest.raises(TunerError, match="not in effect as written"):
        prove(library, {"bcast": [Rule(64, "scatter_ring_allgather")]}, RANKS, probe(programs, {}), run, place)


def test_every_algorithm_of_the_catalogue_works(programs: Path, library: MpichLibrary, place: Path) -> None:
    for number in range(max(len(of.algorithms) for of in CATALOGUE.values())):
        rules = {}
        for name in CATALOGUE:
            known = [one for one in library.algorithms(name) if serves(name, one, RANKS)]
            rules[name] = [Rule(0, known[number % len(known)])]
        file = place / f"{number}.json"
        table = with_rules(library, rules, RANKS)
        file.write_text(text_of(table))
        calls = [Call(name, 0 if name == "barrier" else 4096, RANKS, count=1024) for name in CATALOGUE]
        assert [selected(table, call) for call in calls] == [
            full_name(name, given[0].algorithm) for name, given in rules.items()
        ]
        bench = [str(programs / "reprise-collbench-mpich"), "--warmup", "1", "--repetitions", "3"]
        words = [f"{call.collective}:{call.size}" for call in calls]
        output = launch([*bench, *words], {FILE: str(file), **APART})
        assert output.exit_status == 0, (rules, output.stderr)
        assert output.stdout.count('"max_s"') >= len(calls)


def test_mpich_ends_a_program_for_a_name_that_the_writer_refuses(
    programs: Path, library: MpichLibrary, place: Path
) -> None:
    with pytest.raises(TunerError, match="no algorithm 'binomail'"):
        with_rules(library, {"bcast": [Rule(0, "binomail")]}, RANKS)
    file = place / "wrong.json"
    file.write_text(text_of(inserted(library.table, {"bcast": [Rule(0, "MPIR_Bcast_intra_binomail")]}, RANKS)))
    output = launch([*probe(programs).argv, "barrier:0"], {FILE: str(file), **APART})
    assert output.exit_status and '"rc": 0' not in output.stdout


def test_a_program_without_a_file_runs_as_with_the_built_in_table(
    programs: Path, library: MpichLibrary, place: Path
) -> None:
    file = place / "built-in.json"
    file.write_text(text_of(library.table))
    calls = ["bcast:8", "bcast:1048576", "allreduce:4", "alltoall:512", "barrier:0", "gather:8", "scatter:8"]
    outputs = [launch([*probe(programs).argv, *calls], given) for given in ({}, {FILE: str(file)})]
    assert outputs[0].stdout == outputs[1].stdout
    assert outputs[0].stdout.count('"rc": 0') == len(calls)


def test_only_a_library_of_mpich_is_accepted(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="No such file"):
        describe(str(tmp_path / "libmpich.so.12"))
    with pytest.raises(TunerError, match="has no table of collectives"):
        describe("/bin/true")
