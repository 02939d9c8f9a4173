# SPDX-License-Identifier: Apache-2.0
"""Test the detection of options of sbatch, srun and mpirun that set what an environment variable would set."""

from __future__ import annotations

import time

import pytest

from reprise.matcher.decision.user_choices import chosen_names, conflict
from reprise.matcher.decision.user_options import MPIRUN_VARIABLES, chosen_by_options
from reprise.matcher.submission import Script, Submission

DISTRIBUTION, THREADS, BIND = "SLURM_DISTRIBUTION", "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND"


def chosen(line: str = "", *argv: str, command: str = "sbatch", env: dict[str, str] | None = None) -> tuple[str, ...]:
    script = Script("/job.sh", f"#!/bin/bash\n{line}\nsrun ./a\n")
    return chosen_by_options(Submission(command, (command, *argv, "/job.sh"), "/", env or {}, (), script))


@pytest.mark.parametrize(
    ("line", "variable"),
    [
        ("#SBATCH --distribution=cyclic", DISTRIBUTION),
        ("#SBATCH --distribution cyclic:block", DISTRIBUTION),
        ("#SBATCH -m cyclic", DISTRIBUTION),
        ("#SBATCH -mblock", DISTRIBUTION),
        ("#SBATCH --distrib=plane=4", DISTRIBUTION),
        ("srun -n 4 -m plane=2 ./a", DISTRIBUTION),
        ("srun -m '*:cyclic' ./a", DISTRIBUTION),
        ("srun -m $D ./a", DISTRIBUTION),
        ("OPTIONS='--distribution=cyclic'", DISTRIBUTION),
        ('OPTIONS="-m cyclic"', DISTRIBUTION),
        ("OPTIONS=(-m cyclic)", DISTRIBUTION),
        ('OPTIONS="-c 4"', THREADS),
        ("srun -m Cyclic ./a", DISTRIBUTION),
        ("srun -n 4 \\\n  --distribution=arbitrary ./a", DISTRIBUTION),
        ("#SBATCH --cpus-per-task=4", THREADS),
        ("#SBATCH -c 4", THREADS),
        ("#SBATCH -c4", THREADS),
        ("srun --cpus-per-task $N ./a", THREADS),
        ("srun -c$N ./a", THREADS),
        ("srun --cpu-bind=cores ./a", BIND),
        ("srun --cpu_bind=none ./a", BIND),
        ("#SBATCH --hint=nomultithread", "SLURM_HINT"),
    ],
)
def test_an_option_of_slurm_sets_the_corresponding_variable(line: str, variable: str) -> None:
    assert chosen(line) == (variable,)


@pytest.mark.parametrize(
    ("argv", "variable"),
    [
        (["--distribution=cyclic"], DISTRIBUTION),
        (["-Hm", "cyclic"], DISTRIBUTION),
        (["--distr", "block"], DISTRIBUTION),
        (["-c", "2"], THREADS),
        (["--cpus-per-t=2"], THREADS),
    ],
)
@pytest.mark.parametrize("command", ["sbatch", "salloc", "srun"])
def test_options_on_the_command_line_count(argv: list[str], variable: str, command: str) -> None:
    assert chosen("", *argv, command=command) == (variable,)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("SBATCH_DISTRIBUTION", DISTRIBUTION),
        ("SLURM_DISTRIBUTION", DISTRIBUTION),
        ("SLURM_CPUS_PER_TASK", THREADS),
        ("SLURM_CPU_BIND", BIND),
        ("SBATCH_HINT", "SLURM_HINT"),
    ],
)
def test_variables_that_slurm_reads_as_options_count(name: str, variable: str) -> None:
    assert chosen(env={name: "x"}) == (variable,)


@pytest.mark.parametrize(
    "words",
    [
        "--map-by node",
        "-map-by node",
        "--bind-to none",
        "--bind-to-core",
        "--rank-by slot",
        "--bynode",
        "-npernode 2",
        "-N 2",
        "--rankfile f",
        "-rf f",
        "--cpus-per-rank 2",
        "--cpu-set 0,1",
    ],
)
def test_any_placement_option_of_mpirun_sets_all_its_placement_variables(words: str) -> None:
    assert chosen(f"mpirun -np 4 {words} ./a") == MPIRUN_VARIABLES
    assert chosen(f"mpirun \\\n {words} \\\n ./a") == MPIRUN_VARIABLES
    assert chosen(f'OPTIONS="{words}"') == MPIRUN_VARIABLES


@pytest.mark.parametrize("line", ["#SBATCH -N 4", "srun -N 4 ./a", "srun \\\n -N 4 ./a", "x=$(sbatch -N 4 next.sh)"])
def test_a_number_of_nodes_is_no_placement(line: str) -> None:
    assert chosen(f"{line}\nmpirun ./a") == ()
    assert chosen(line, "-N", "4") == ()


def test_tasks_per_node_of_mpirun_count_next_to_nodes_of_slurm() -> None:
    for line in ("srun -N 4 bash -c 'mpirun -N 2 ./a'", 'PLACE="-N 2"\nmpirun $PLACE ./a'):
        assert chosen(f"#SBATCH -N 4\n{line}") == MPIRUN_VARIABLES


@pytest.mark.parametrize(
    "line",
    [
        "python3 -m venv x",
        "# srun --distribution=cyclic ./a",
        "bash -c 'true'",
        "bash -c true",
        "grep -c x file",
        "make -C 4",
        "mpirun -np 4 ./a --mapping-by-hand",
        "srun --disable-status ./a",
        "echo my--map-by",
        "./a --some-bind-to x",
        "srun --nodes 2 ./a",
    ],
)
def test_other_words_set_no_variable(line: str) -> None:
    assert chosen(line) == ()


def test_variables_set_by_options_are_among_the_chosen_names() -> None:
    script = Script("/job.sh", "#!/bin/bash\n#SBATCH -c 4\nexport OMP_STACKSIZE=1g LD_PRELOAD=/mine.so\nsrun ./a\n")
    names = chosen_names(Submission("sbatch", ("sbatch", "/job.sh"), "/", {}, ("OMP_PLACES",), script))
    assert set(names) == {THREADS, "OMP_STACKSIZE", "LD_PRELOAD", "OMP_PLACES"}
    assert conflict(["OMP_*"], names) and conflict(["LD_PRELOAD"], names) and not conflict(["KMP_*"], names)


@pytest.mark.parametrize(
    "text", ["-m " * 40_000, "--map-by" * 16_000, "m" * 130_000, "-c" * 60_000, " -m" + "=" * 130_000]
)
def test_hostile_text_takes_no_time(text: str) -> None:
    begun = time.process_time()
    chosen(text)
    assert time.process_time() - begun < 0.5
