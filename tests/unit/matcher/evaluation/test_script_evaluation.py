# SPDX-License-Identifier: Apache-2.0
"""Test the evaluation on a folder of scripts: which scripts belong to one application, and which answers are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.matcher.errors import MatcherError
from reprise.matcher.evaluation.community_codes import codes_in
from reprise.matcher.evaluation.script_folder import FoundScript, scripts_in
from reprise.matcher.evaluation.script_labels import LabelledScript, may_be_the_same
from reprise.matcher.evaluation.script_scenarios import ONE_SITE, centre_of, groups, sites, strangers
from reprise.matcher.evaluation.script_verdicts import Outcome, judged, judged_at, measure
from reprise.matcher.linkage import load
from tests.unit.script_folders import HEAD, write_accounting, write_files


def script(body: str, owner: str = "ada", project: str = "tides", name: str = "run.sh") -> LabelledScript:
    return LabelledScript(FoundScript(owner, f"{owner}/{project}", f"{owner}/{project}/{name}", HEAD + body))


@pytest.mark.parametrize(
    ("body", "files"),
    [
        ("srun python3 fit_tides.py --steps 3", {"fit_tides.py"}),
        ("# srun python3 old.py\nmpirun ./tide2d < in.dat > log.out", {"tide2d"}),
        ("source env.sh\nmodule load r\nRscript plots/waves.R", {"waves.R"}),
        ("python -m tides.fit -v", {"tides.fit"}),
        ('matlab -nodisplay -batch "main_tides(3)"', {"main_tides"}),
        ("python -m torch.distributed.run --nproc 4 pretrain_waves.py", {"pretrain_waves.py"}),
        ("$HOME/tides/build/tide3d --n=4", {"tide3d"}),
        ("tar xf $DATA/x.tar; hostname; date", set()),
        ("python ${MODEL}.py", set()),
        ("nextflow run nf-core/rnaseq -profile x", {"rnaseq"}),
        ("snakemake -s rules/Tides --cores 4", {"Tides"}),
        ("snakemake --cores 4", {"snakemake"}),
        ("nextflow run -resume waves.nf -profile x", {"waves.nf"}),
        ("python train_tides.py configs/deep.py --out ./deep_run", {"train_tides.py"}),
        ("./tide3d ./case_a > ./log_a", {"tide3d"}),
        ("./bind.sh ./tide3d in.dat", {"bind.sh", "tide3d"}),
        ("./bind python \\\n  fit_tides.py", {"bind", "fit_tides.py"}),
        ("./tide2d -n 3; ./plot_tides.py | ./send", {"tide2d", "plot_tides.py", "send"}),
        ("python -m mpi4py.futures fit_tides.py", {"fit_tides.py"}),
    ],
)
def test_program_files_of_a_script_are_found(body: str, files: set[str]) -> None:
    assert script(body).label.files == files


def test_known_codes_are_recognized_by_any_of_their_names() -> None:
    assert codes_in(["mpirun", "/opt/gromacs/bin/gmx_mpi", "mdrun", "-deffnm"]) == {"gromacs"}
    assert codes_in(["pw.x", "x.pw.x", "vasp_std"]) == {"quantum-espresso", "vasp"}


def test_scripts_are_one_application_if_they_name_the_same_files_in_one_project() -> None:
    first, second = script("srun ./tide2d -n 1"), script("date\nsrun ./tide2d -n 2", name="big.sh")
    assert first.application == second.application
    assert first.application != script("srun ./tide3d").application
    assert first.application != script("srun ./tide2d -n 1", project="waves").application


def test_copies_and_installed_codes_may_be_the_same_application() -> None:
    mine = script("export OMP_NUM_THREADS=4\nsrun ./tide2d --input settings.nml")
    copied = script("export OMP_NUM_THREADS=8\nsrun ./tide2d --input settings.nml", owner="bob", project="fork")
    other = script("cd /elsewhere/altogether\nsrun ./tide2d --config other.toml", owner="bob", project="mine")
    assert may_be_the_same(mine, copied)
    assert not may_be_the_same(mine, other)
    assert may_be_the_same(mine, script("cd /elsewhere/altogether\n./tide2d -x", owner="bob", project="tides"))
    assert may_be_the_same(script("gmx mdrun -s a"), script("srun gmx_mpi mdrun", owner="bob", project="md"))


def test_a_generic_program_name_is_recognized() -> None:
    assert script("python main.py").label.is_generic
    assert not script("python main.py; python fit_tides.py").label.is_generic


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a folder of twelve owners at Compute Canada, each with four applications of three scripts."""
    write_files(tmp_path, 12)
    (tmp_path / "user0/code0/README.md").write_text(f"{HEAD}srun ./never\n")
    (tmp_path / "user0/code0/made.sh").write_text(f"{HEAD}srun ./{{{{ program }}}}\n")
    (tmp_path / "user0/code0/plain.sh").write_text("srun ./never\n")
    return tmp_path


def test_a_folder_is_read_without_templates_and_documentation(folder: Path) -> None:
    found = scripts_in(folder)
    assert len(found) == 12 * 4 * 3
    assert found[0].owner == "user0" and found[0].directory == "/home/user0/code0"
    assert found[0].metadata.program.endswith("quartz")


def test_a_folder_with_few_scripts_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        MatcherError, match=r"contains 0 batch scripts as OWNER/PROJECT/PATH: 20 or more are needed, or "
    ):
        scripts_in(tmp_path)


def test_output_of_sacct_is_read_like_files(tmp_path: Path) -> None:
    """A script that its owner submits again counts once, even if the directories' names differ in a number."""
    found = scripts_in(write_accounting(tmp_path, 12))
    assert len(found) == 12 * 4 * 3
    first = found[0]
    assert (first.owner, first.project, first.path) == ("user0", "user0/code0", "user0/code0/1")
    assert (first.metadata.program, first.metadata.directory) == ("kelpquartz", "/home/user0/code0/run1")
    assert first.metadata.user == "user0" and first.metadata.job_name == "a0.sh"


@pytest.mark.parametrize(
    ("directory", "project"),
    [
        ("/home/ann/tides/run1", "ann/tides"),
        ("/scratch/phys/ann/2026-01", "ann/0-0"),
        ("/home/ann", "ann/phys"),
        ("/work/tides/run1", "ann/phys"),
    ],
)
def test_a_jobs_project_is_derived_from_its_directory(tmp_path: Path, directory: str, project: str) -> None:
    jobs = [f"{number}|ann|phys|{directory}|tides" for number in range(20)]
    (tmp_path / "jobs.txt").write_text("\n".join(["JobID|User|Account|WorkDir|JobName", *jobs]))
    printed = (f"Batch Script for {number}\n{'-' * 80}\n./tide{number}\n" for number in range(20))
    (tmp_path / "scripts.txt").write_text("\n".join(printed))
    assert {one.project for one in scripts_in(tmp_path)} == {project}


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        (None, r"/jobs\.txt: cannot be read: No such file or directory$"),
        ("User\n", r"/jobs\.txt: the first line has no column JobID: use the output of `sacct -aXP "),
        (
            "JobID|User|JobName\n1|a|b\n",
            r"contains 0 scripts in scripts\.txt with jobs in jobs\.txt: 20 or more are ",
        ),
    ],
)
def test_invalid_output_of_sacct_is_refused_in_one_line(tmp_path: Path, jobs: str | None, said: str) -> None:
    (tmp_path / "scripts.txt").write_text(f"Batch Script for 1\n{'-' * 80}\nNONE\n")
    if jobs is not None:
        (tmp_path / "jobs.txt").write_text(jobs)
    with pytest.raises(MatcherError, match=said) as refused:
        scripts_in(tmp_path)
    assert "\n" not in str(refused.value)


def test_each_computing_center_becomes_a_site() -> None:
    marks = {"TACC": "ibrun date", "NYU": "# a@nyu.edu", "SURF": "# a@surf.nl"}

    def of(owner: str, mark: str = "") -> LabelledScript:
        return LabelledScript(FoundScript(owner, f"{owner}/tides", f"{owner}/tides/a.sh", f"{mark}\nsrun ./tide2d\n"))

    several = [of(f"{centre}{number}", mark) for centre, mark in marks.items() for number in range(2)]
    assert [site.name for site in sites(several, 0)] == ["NYU", "SURF", "TACC"]
    assert [site.name for site in sites(several[:5], 0)] == [ONE_SITE], "a third center with one owner is not enough"
    at_one = [of(f"TACC{number}", marks["TACC"]) for number in range(2, 5)]
    assert [site.name for site in sites(several + at_one, 0)] == [ONE_SITE], "most owners belong to one center"
    others = [of(f"user{number}") for number in range(200)]
    assert [site.name for site in sites(several + others, 0)] == [ONE_SITE], (
        "few owners name a center, so the names may be chance"
    )


def test_records_and_queries_are_chosen_from_the_scripts(folder: Path) -> None:
    scripts = [LabelledScript(one) for one in scripts_in(folder)]
    assert {centre_of(one) for one in scripts} == {"Compute Canada"}
    (site,) = sites(scripts, 0)
    assert site.name == ONE_SITE
    assert (len(site.records), len(site.asking)) == (24, 96)  # half of 48 applications have records, all have 2 queries
    tuned = {one.application for one in site.scripts}
    assert all((one.kind == "variant") == (one.script.application in tuned) for one in site.asking)
    unknown = strangers(scripts, 0)
    assert (len(unknown.records), len(unknown.asking)) == (6, 6)
    assert not {one.script.owner for one in unknown.scripts} & {one.script.script.owner for one in unknown.asking}
    assert len(strangers(scripts, 0, 2).records) == 2
    assert [len(one.asking) for one in groups(scripts, 0)] == [96]


def test_a_good_model_finds_variants_and_a_threshold_of_0_is_wrong(folder: Path) -> None:
    scripts = [LabelledScript(one) for one in scripts_in(folder)]
    shares = measure(judged(load("site"), scripts, [0]))
    assert (shares.recall.value, shares.confused.value, shares.strangers.value) == (1, 0, 0)
    eager = measure(judged(load("site", 0.0), scripts, [0]))
    assert (eager.own_other.value, eager.strangers.value) == (1, 1)
    (site,) = sites(scripts, 0)
    assert {one.outcome for one in judged_at(load("site"), site)} == {Outcome.RIGHT, Outcome.NONE}


def test_the_command_prints_tables_and_json(folder: Path) -> None:
    command = ["match", "evaluate", "--model", "site", "--scripts", str(folder), "--seeds", "1"]
    shown = CliRunner().invoke(reprise, command)
    assert (
        shown.exit_code == 0
        and "144 scripts of 12 owners, one site, seeds" in shown.output
        and "own other" in shown.output
    )
    told = json.loads(CliRunner().invoke(reprise, [*command, "--json"]).output)
    assert told["recall"]["value"] == 1 and told["own_other"]["n"] == 48
    assert "| recall |" in CliRunner().invoke(reprise, [*command, "--markdown"]).output


def test_examples_show_no_secrets(tmp_path: Path) -> None:
    for number in range(20):
        file = tmp_path / f"user{number % 10}" / "code" / f"{number}.sh"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{HEAD}srun ./tide{number} --password=hunter2 --case={number}\n")
    command = ["match", "evaluate", "--scripts", str(tmp_path), "--threshold", "0", "--model", "site", "--markdown"]
    shown = CliRunner().invoke(reprise, command).output
    assert "--password=***" in shown and "hunter2" not in shown
