# SPDX-License-Identifier: Apache-2.0
"""Test measuring collectives with Reprise's, OSU's and Intel's benchmarks, and with stubs that imitate OSU and IMB."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reprise.config import Config
from reprise.database.entities import TrialRole, TrialState
from reprise.database.facade import Database
from reprise.tuner.campaign import session
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import TrialOutput, TrialPlan, Wanted
from reprise.tuner.openmpi import collectives_campaign, rules_channel
from reprise.tuner.openmpi.benchmarks import IMB_NAMES
from reprise.tuner.openmpi.catalogue import CATALOGUE
from reprise.tuner.openmpi.collective_spaces import DEFAULT
from reprise.tuner.openmpi.collectives_component import CollectivesComponent
from reprise.tuner.openmpi.collectives_settings import read as read_settings
from tests.places import ROOT
from tests.unit.collectives_values import BUILD
from tests.unit.tuner_site import Site

OSU_PROGRAMS = ("osu_allreduce", "osu_bcast", "osu_barrier", "osu_reduce_scatter", "osu_ibcast", "osu_bcast_persistent")

# Prints output as OSU 5.x does with `-f` (7.x also names the datatype): about 20 us with a rules file, 10 us without.
OSU_STUB = """#!/bin/bash
t=10.25; [ -z "$OMPI_MCA_coll_tuned_use_dynamic_rules" ] || t=20.50
columns="Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
[ "$1" = -f ] || columns="Avg Latency(us)"
name=${0##*/}; IFS=: read -r size last <<<"${*: -1}"
printf '\\n# OSU MPI %s Latency Test v7.4\\n' "${name#osu_}"
if [ "$name" = osu_barrier ]; then printf '# %s\\n 1 0 %s 100\\n' "$columns" "$t"; exit; fi
printf '# Datatype: MPI_CHAR.\\n# Size       %s\\n' "$columns"
for (( ; size <= last; size *= 2)); do printf '%-10d 1 0 %18s 100\\n' "$size" "$t"; done
"""

# Called as `IMB-MPI1 -npmin N ... NAME`; reads the message sizes from the file `sizes` in the working directory.
IMB_STUB = """#!/bin/bash
t=10.25; [ -z "$OMPI_MCA_coll_tuned_use_dynamic_rules" ] || t=20.50
printf '#----\\n# Benchmarking %s \\n# #processes = %d \\n#----\\n' "${*: -1}" "$2"
if [ "${*: -1}" = Barrier ]; then
  printf '#repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\\n 1000 0.1 %s 1\\n' "$t"; exit
fi
printf '       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\\n'
while read -r size; do printf '%13d %12d %12.2f %12s %12d\\n' "$size" 1000 0.1 "$t" 1; done <sizes
printf '\\n\\n# All processes entering MPI_Finalize\\n\\n'
"""


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def osu(tmp_path: Path) -> Path:
    for name in OSU_PROGRAMS:
        program(tmp_path / "osu/libexec/osu-micro-benchmarks/mpi/collective" / name, OSU_STUB)
    return tmp_path / "osu"


@pytest.fixture
def imb(tmp_path: Path) -> Path:
    return program(tmp_path / "imb/IMB-MPI1", IMB_STUB)


def make(benchmark: str = "own", path: Path | None = None, **settings: Any) -> CollectivesComponent:
    given = {
        "collectives": ["bcast"],
        "sizes": [1024, 2048],
        "nodes": 4,
        "benchmark": benchmark,
        "benchmark_path": path,
    }
    checked = read_settings({}, {**given, **settings})
    return CollectivesComponent("openmpi-collectives", "1", checked, BUILD, Config())


def plan(made: CollectivesComponent, *problems: str) -> TrialPlan:
    return made.plan_round([Wanted(problem, DEFAULT, 0.5) for problem in problems])


def read(made: CollectivesComponent, problem: str, stdout: str, stderr: str = "") -> float:
    return made.read(problem, TrialOutput(0, stdout, stderr, 1.0)).value


def rounds(made: CollectivesComponent) -> dict[str, str]:
    return {problem.key: problem.round.removeprefix("4x1/") for problem in made.problems()}


def test_osu_is_called_with_the_first_and_the_last_size(osu: Path) -> None:
    called = plan(make("osu", osu, warmup=5, repetitions=50), "bcast/1024", "bcast/2048").argv
    where = osu / "libexec/osu-micro-benchmarks/mpi/collective"
    assert called == [str(where / "osu_bcast"), "-f", "-x", "5", "-i", "50", "-m", "1024:2048"]


def test_osu_chooses_its_repetitions_by_default(osu: Path) -> None:
    assert plan(make("osu", osu), "bcast/2048").argv[1:] == ["-f", "-x", "200", "-m", "2048:2048"]


def test_osu_s_barrier_has_no_size(osu: Path) -> None:
    assert plan(make("osu", osu, collectives=["barrier"]), "barrier/0").argv[1:] == ["-f", "-x", "200"]


def test_one_run_of_osu_measures_one_collective_at_sizes_that_double(osu: Path) -> None:
    made = make("osu", osu, collectives=["bcast", "allreduce", "barrier"], sizes=[64, 4, 8, 16, 96])
    found = rounds(made)
    assert [found[f"bcast/{size}"] for size in (4, 8, 16, 64, 96)] == ["1", "1", "1", "2", "3"]
    assert [found[f"allreduce/{size}"] for size in (4, 16, 96)] == ["4", "4", "6"]
    assert found["barrier/0"] == "7"


def test_imb_reads_its_sizes_from_a_file(imb: Path) -> None:
    planned = plan(make("imb", imb, tasks_per_node=2, repetitions=50, max_seconds=3), "bcast/1024", "bcast/2048")
    counted = ["-npmin", "8", "-time", "3", "-iter", "50,2047", "-mem", "2"]
    assert planned.argv == [str(imb), *counted, "-msglen", "sizes", "Bcast"]
    assert planned.files == {"sizes": "1024\n2048\n"}


def test_imb_may_take_the_memory_that_the_largest_size_needs(imb: Path) -> None:
    made = make("imb", imb, collectives=["alltoall"], sizes=[2**20], nodes=1024)
    assert "-mem 3" in " ".join(plan(made, f"alltoall/{2**20}").argv)


def test_imb_s_barrier_has_no_size(imb: Path) -> None:
    planned = plan(make("imb", imb, collectives=["barrier"]), "barrier/0")
    assert planned.argv[1:] == ["-npmin", "4", "-time", "10", "Barrier"]
    assert not planned.files


def test_a_trial_of_imb_has_its_rules_beside_the_sizes(imb: Path) -> None:
    planned = make("imb", imb).plan("bcast/1024", {"algorithm": 2, "segment": 512, "fanout": 3})
    assert set(planned.files) == {"sizes", "rules.conf"}


def test_one_run_of_imb_measures_one_collective_at_any_sizes(imb: Path) -> None:
    made = make("imb", imb, collectives=["bcast", "reduce"], sizes=[4, 12, 1000])
    assert list(rounds(made).values()) == ["1"] * 3 + ["2"] * 3


OSU_COLUMNS = "Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
OSU_TABLE = f"# OSU MPI Broadcast Latency Test v5.6.3\n# Size       {OSU_COLUMNS}"
OSU_ROW = "1024    1.70   1.00   2.50   1000\n"


@pytest.mark.parametrize(
    "text",
    [
        OSU_TABLE + f"512     1.10   1.00   1.20   1000\n{OSU_ROW}2048    3.00   2.00   4.00   1000\n",
        f"# OSU MPI Broadcast Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       {OSU_COLUMNS}{OSU_ROW}",
        "# Size   Avg Latency (us)  Min Latency (us)  Max Latency (us)  Iterations\n" + OSU_ROW,
        "node1: 1024 pages of memory are locked\n1024 7.00 7.00 7.00\n\n" + OSU_TABLE + "a warning\n" + OSU_ROW,
    ],
    ids=["5.x", "7.x", "spaced", "warnings"],
)
def test_osu_s_slowest_rank_is_read(text: str, osu: Path) -> None:
    assert read(make("osu", osu), "bcast/1024", text) == pytest.approx(2.5e-6)


def test_osu_s_slowest_rank_of_a_barrier_is_read(osu: Path) -> None:
    text = f"# OSU MPI Barrier Latency Test v5.8\n# {OSU_COLUMNS}     8.32   8.00   8.64   1000\n"
    assert read(make("osu", osu, collectives=["barrier"]), "barrier/0", text) == pytest.approx(8.64e-6)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no time"),
        (OSU_TABLE, "no time"),
        (OSU_TABLE + OSU_ROW.replace("1024", "2048"), "no time"),
        (OSU_TABLE + "1024    1.70   1.00   2.5", "no time"),
        (OSU_TABLE + "1024    1.70   1.00\n", "no time"),
        (OSU_TABLE + OSU_ROW.replace("2.50", "*****"), "no time"),
        (OSU_TABLE + OSU_ROW.replace("2.50", "nan"), "nan s, which is not a valid time"),
        (OSU_TABLE + OSU_ROW.replace("2.50", "0.00"), "0.0 s, which is not a valid time"),
        ((OSU_TABLE + OSU_ROW) * 2, "2 times"),
        (OSU_ROW, "no time"),
        (f"# {OSU_COLUMNS}     8.32   8.00   8.64   1000\n", "no time"),
        ("# Size       Avg Latency(us)\n1024    2.50\n", "no time"),
        ("# Size           Overall(us)       Compute(us)    Pure Comm.(us)\n1024   2.50  1.00  9.00\n", "no time"),
    ],
)
def test_another_output_of_osu_is_one_clear_error(text: str, why: str, osu: Path) -> None:
    with pytest.raises(ObjectiveError, match=rf"^bcast/1024: .*{why}") as caught:
        read(make("osu", osu), "bcast/1024", text, "This test requires at least two processes\n")
    assert "\n" not in str(caught.value)


def imb_table(*rows: str, name: str = "Bcast", ranks: int = 4, more: str = "") -> str:
    columns = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]" + more
    return "\n".join(["#----", f"# Benchmarking {name} ", f"# #processes = {ranks} ", "#----", columns, *rows, "", ""])


ROW = "         1024         1000         1.00         2.50         1.70"


@pytest.mark.parametrize(
    "text",
    [
        imb_table("            0         1000         0.03         0.04         0.03", ROW),
        imb_table(ROW + "         0.00", more="      defects"),
        imb_table(ROW.replace("2.50", "7.00"), ranks=2) + imb_table(ROW),
        imb_table(ROW.replace("2.50", "7.00"), name="Ibcast") + imb_table(ROW),
        "1024 1000 1.00 7.00 9.00\n# #processes = many\n"
        + imb_table("a warning", ROW)
        + "\n# All processes entering MPI_Finalize\n",
    ],
    ids=["plain", "checked", "blocks of ranks", "blocks of benchmarks", "warnings"],
)
def test_imb_s_slowest_rank_is_read(text: str, imb: Path) -> None:
    assert read(make("imb", imb), "bcast/1024", text) == pytest.approx(2.5e-6)


def test_imb_s_slowest_rank_of_a_barrier_is_read(imb: Path) -> None:
    text = "# Benchmarking Barrier \n# #processes = 4 \n #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    made = make("imb", imb, collectives=["barrier"])
    assert read(made, "barrier/0", text + "         1000        22.93        22.95        22.94\n") == pytest.approx(
        22.95e-6
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no time"),
        (imb_table(), "no time"),
        (imb_table(ROW, ranks=2), "no time"),
        (imb_table(ROW, name="Reduce"), "no time"),
        (imb_table(ROW.replace("1024", "2048")), "no time"),
        (imb_table("         1024         1000         1.00         2.5")[:-2], "no time"),
        (imb_table("         1024         1000         1.00"), "no time"),
        (imb_table('         1024 out-of-mem.; needed X=   1.500 GB; use flag "-mem X"'), "no time"),
        (imb_table(ROW.replace("2.50", "nan")), "nan s, which is not a valid time"),
        (imb_table(ROW.replace("2.50", "0.00")), "0.0 s, which is not a valid time"),
        (imb_table(ROW) * 2, "2 times"),
        (imb_table(ROW).replace("t_max[usec]", "t[usec]"), "no time"),
    ],
)
def test_another_output_of_imb_is_one_clear_error(text: str, why: str, imb: Path) -> None:
    with pytest.raises(ObjectiveError, match=rf"^bcast/1024: .*{why}") as caught:
        read(make("imb", imb), "bcast/1024", text)
    assert "\n" not in str(caught.value)


def test_a_packages_prefix_in_a_programs_name_is_ignored(tmp_path: Path) -> None:
    found = program(tmp_path / "bin/mpitests-osu_bcast")
    assert plan(make("osu", tmp_path), "bcast/1024").argv[0] == str(found)
    assert plan(make("osu", found), "bcast/1024").argv[0] == str(found)


def test_imb_is_found_below_a_directory_too(imb: Path) -> None:
    assert plan(make("imb", imb.parent), "bcast/1024").argv[0] == str(imb)


def test_two_names_of_one_program_are_not_ambiguous(osu: Path) -> None:
    (osu / "bin").mkdir()
    (osu / "bin/osu_bcast").symlink_to(next(osu.rglob("osu_bcast")))
    assert plan(make("osu", osu), "bcast/1024").argv[0].endswith("/osu_bcast")


def refused(why: str, *arguments: Any, **settings: Any) -> None:
    with pytest.raises(TunerError, match=why) as caught:
        make(*arguments, **settings)
    assert "\n" not in str(caught.value)


def test_a_benchmark_that_cannot_be_used_is_refused_before_anything_is_measured(osu: Path, imb: Path) -> None:
    refused("benchmark_path: is missing: set it to the path of OSU", "osu")
    refused("set `benchmark` to osu or imb", "own", osu)
    refused(
        r"nowhere: No such file or directory: use a path that this host and all nodes can access",
        "osu",
        osu / "nowhere",
    )
    refused("'benchmark_path': .*absolute", "osu", Path("osu"))
    refused("is neither osu_allgather nor a directory that contains it", "osu", osu, collectives=["bcast", "allgather"])
    refused("is neither IMB-MPI1 nor a directory that contains it", "imb", osu)
    refused("is neither IMB-MPI1 nor", "imb", program(imb.with_name("IMB-NBC")))
    refused("reduce_scatter cannot be measured with imb", "imb", imb, collectives=["bcast", "reduce_scatter"])
    refused("'benchmark': .*'own', 'osu' or 'imb'", "mpptest")
    imb.chmod(0o644)
    refused("IMB-MPI1 is not executable: `chmod", "imb", imb)
    shutil.copytree(osu / "libexec", osu / "old")
    refused(r"contains several programs named osu_bcast \(.*libexec.*, .*old.*\)", "osu", osu)


def test_the_catalogue_has_all_collectives_that_imb_measures() -> None:
    assert set(IMB_NAMES) < set(CATALOGUE)


@pytest.mark.parametrize("benchmark", ["osu", "imb"])
def test_a_campaign_is_measured_with_an_installed_benchmark(
    benchmark: str, osu: Path, imb: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules_channel, "describe", lambda _: BUILD)
    shutil.copy(ROOT / "etc/components/openmpi-collectives.yaml", site.directory / "components")
    mapping = collectives_campaign.campaign(
        collectives=["bcast", "barrier"],
        sizes="4:8",
        nodes=[4],
        tasks_per_node=[1],
        strategy="shared",
        executor={"kind": "local"},
        benchmark={"benchmark": benchmark, "benchmark_path": os.fspath(osu if benchmark == "osu" else imb)},
    )
    mapping["search"].update(method="random", budget=3, initial=2)
    with Database.open(site.config.database.path) as database:
        campaign = session.begin(database, check(mapping, "test"), site.config, 1_000_000.0).id
    assert not site.run(campaign)  # no record, because a rules file makes the stubs slower
    trials = site.trials(campaign)
    assert {trial.state for trial in trials} == {TrialState.COMPLETE}
    assert set(Counter(trial.problem for trial in trials)) == {"bcast/4", "bcast/8", "barrier/0"}
    default = {trial.value for trial in trials if trial.role is TrialRole.DEFAULT}
    assert list(default) == [pytest.approx(10.25e-6)]
    tuned = {trial.value for trial in trials if trial.problem == "barrier/0" and trial.parametrization["algorithm"]}
    assert list(tuned) == [pytest.approx(20.5e-6)]
