# SPDX-License-Identifier: Apache-2.0
"""Test the metadata of submissions: options and their precedence, sizes, names, and directories."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reprise.matcher.submission import JobFacts, Script, Submission, parse
from reprise.matcher.submission.directives import split_directive
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.script_execution import Started, started
from reprise.matcher.submission.size_options import node_count
from reprise.matcher.submission.submitted import ARGUMENT_LIMIT, TEXT_LIMIT
from reprise.matcher.submission.work_limit import Work
from tests.examples import examples

HEAD = "#!/bin/bash\n"


def sbatch(
    text: str = HEAD, argv: str = "", env: Mapping[str, str] | None = None, facts: JobFacts | None = None
) -> JobMetadata:
    submission = Submission(
        "sbatch", ("sbatch", *argv.split(), "dir/run.sh"), "/home/alice", env or {}, (), Script("dir/run.sh", text)
    )
    return parse(submission, user="alice", submit_time=1.0, facts=facts)


def test_the_command_line_overrides_the_environment_which_overrides_the_script() -> None:
    script = HEAD + "#SBATCH --job-name=script\n#SBATCH -p script -A script\n"
    env = {"SBATCH_JOB_NAME": "env", "SBATCH_PARTITION": "env"}
    job = sbatch(script, "-J line", env)
    assert (job.job_name, job.partition, job.account) == ("line", "env", "script")


def test_sbatch_ignores_variables_of_an_enclosing_job() -> None:
    job = sbatch(env={"SLURM_JOB_NAME": "outer", "SLURM_NTASKS": "8", "SLURM_JOB_NUM_NODES": "4"})
    assert (job.job_name, job.nodes, job.tasks) == ("run.sh", 1, 1)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("#SBATCH -J foo", "foo"),
        ("#SBATCH -J foo # comment -J bar", "foo"),
        ("#SBATCH\t-J\tfoo", "foo"),
        ("#SBATCH-J foo", "foo"),
        ("#SBATCH -J a\n#SBATCH -J foo", "foo"),
        ("\n\n# hi\n   \n#SBATCH -J foo", "foo"),
        ("#SBATCH -N2 -J foo -n4", "foo"),
        ("#SBATCH -J 'my \\ job'", "my  job"),
        ('#SBATCH --job-name=a"b c"d', "ab cd"),
        ('#SBATCH -J "a\\"b"', 'a"b'),
        ("#SBATCH -J a#b", "a"),
        ("true\n#SBATCH -J foo", "run.sh"),
        (":\n#SBATCH -J foo", "run.sh"),
        ("  #SBATCH -J foo", "run.sh"),
        ("# SBATCH -J foo", "run.sh"),
        ("##SBATCH -J foo", "run.sh"),
        ("#SBATCH -J a\n#SBATCH hetjob\n#SBATCH -J b", "a"),
        ("#SBATCH -J a\n#SBATCH packjob\n#SBATCH -J b", "a"),
    ],
)
def test_directives_are_read_as_sbatch_reads_them(lines: str, name: str) -> None:
    """Each case was observed with sbatch 22.05; tests/cluster/test_submission_slurm.py checks the installed sbatch."""
    assert sbatch(HEAD + lines + "\ntrue\n").job_name == name


def test_a_backslash_outside_quotes_does_not_join_words() -> None:
    assert list(split_directive(r" -J a\ b \# \"c", Work())) == ["-J", "a", "b", "#", '"c']


@pytest.mark.parametrize(
    ("text", "nodes"),
    [("4", 4), ("2-4", None), ("4-4", 4), ("1k", 1024), ("1m", 1048576), ("+2", 2), (" 2", 2)]
    + [(bad, None) for bad in ("0", "", "x", "2,4", "-3", "2-", "٣", "9" * 400)],
)
def test_nodes_are_known_only_where_the_option_leaves_no_choice(text: str, nodes: int | None) -> None:
    assert node_count(text) == nodes


@pytest.mark.parametrize(
    ("argv", "size"),
    [
        ("-n 8", (None, 8, None)),
        ("-N 2", (2, None, None)),
        ("-N 2 -n 8", (2, 8, None)),  # one node may get more tasks than the other
        ("-N 2 -n 8 --ntasks-per-node=4", (2, 8, 4)),
        ("-N 1 -n 8", (1, 8, 8)),
        ("-N 4 -n 4", (4, 4, 1)),
        ("-N 2 --ntasks-per-node=3", (2, 6, 3)),
        ("--ntasks-per-node=3", (None, None, 3)),
        ("-N 2 -n 3", (2, 3, None)),
        ("-N 2 -n 3 --ntasks-per-node=2", (2, 3, None)),
        ("-N 2 -n 4 --ntasks-per-node=3", (2, 4, None)),  # one node may get 3 tasks and the other 1
        ("-N 3 -n 2", (2, 2, 1)),  # Slurm lowers the node count to the task count
        ("-N 2-4 -n 8", (None, 8, None)),
    ],
)
def test_sizes_are_derived_only_where_they_are_exact(argv: str, size: tuple[int | None, ...]) -> None:
    job = sbatch(argv=argv)
    assert (job.nodes, job.tasks, job.tasks_per_node) == size


def test_sizes_that_slurm_reports_at_the_start_override_the_options() -> None:
    job = sbatch(argv="-N 2-4", facts=JobFacts(nodes=3, tasks=6))
    assert (job.nodes, job.tasks, job.tasks_per_node) == (3, 6, 2)


@pytest.mark.parametrize(
    ("options", "placement"),
    [
        ("", ""),
        ("-m cyclic", "node"),
        ("--distribution=cyclic:block,Pack", "node"),
        ("-m block:cyclic", "core"),
        ("--distribution=plane=4", ""),
        ("--distribution=arbitrary", ""),
        ("-m Cyclic", "node"),
    ],
)
def test_the_placement_of_tasks_is_read_from_slurms_options(options: str, placement: str) -> None:
    assert sbatch(argv=options).placement == placement
    assert sbatch(HEAD.replace("\n", f"\n#SBATCH {options}\n", 1) if options else HEAD).placement == placement


def test_the_launchers_task_count_is_used_if_slurms_options_have_none() -> None:
    assert sbatch(HEAD + "mpirun -np 8 ./x", "-N 4").tasks == 8
    assert sbatch(HEAD + "mpirun -np 8 ./x", "-N 4 -n 16").tasks == 16


@pytest.mark.parametrize(
    ("option", "directory"), [("", "/home/alice"), ("-D /tmp", "/tmp"), ("-D sub/x", "/home/alice/sub/x")]
)
def test_the_directory_is_where_the_job_will_run(option: str, directory: str) -> None:
    assert sbatch(argv=option).directory == directory


@pytest.mark.parametrize(
    ("path", "option", "found"),
    [
        ("dir/run.sh", "", "/home/alice/dir/run.sh"),
        ("./run.sh", "-D /tmp", "/home/alice/run.sh"),
        ("/opt/run.sh", "", "/opt/run.sh"),
        ("", "", ""),
        ("run.sh", "--wrap=x", ""),
        ("x" * TEXT_LIMIT, "", ""),
    ],
)
def test_the_scripts_path_is_relative_to_the_submission_directory(path: str, option: str, found: str) -> None:
    argv = ("sbatch", *option.split(), path)
    job = parse(Submission("sbatch", argv, "/home/alice", {}, (), Script(path, HEAD)), user="alice", submit_time=1.0)
    assert job.script_path == found


@pytest.mark.parametrize(
    "submission",
    [
        Submission("sbatch", ("sbatch",), "/home/alice"),
        Submission("sbatch", ("sbatch", "run.sh"), "", {}, (), Script("run.sh", HEAD)),
        Submission("batch", (), "/home/alice", {}, (), Script("/var/spool/slurmd/job00007/slurm_script", HEAD)),
        Submission("srun", ("srun", "./x"), "/home/alice"),
    ],
    ids=["standard input", "nobody knows where", "started", "no script"],
)
def test_the_path_of_an_invisible_script_is_not_guessed(submission: Submission) -> None:
    assert parse(submission, user="alice", submit_time=1.0).script_path == ""


def run(command: str, *argv: str, env: Mapping[str, str] | None = None, script: Script | None = None) -> JobMetadata:
    return parse(Submission(command, argv, "/w", env or {}, (), script), user="u", submit_time=0.0)


def test_a_job_without_a_name_gets_slurms_default_name() -> None:
    assert sbatch().job_name == "run.sh"
    assert run("sbatch", "sbatch").job_name == "sbatch"
    assert run("sbatch", "sbatch", "--wrap", "./x").job_name == "wrap"
    assert run("srun", "srun", "-n2", "/opt/bin/prog", "-a").job_name == "prog"
    assert run("salloc", "salloc", "-N2", "mpirun", "x").job_name == "interactive"


def test_wrapped_text_is_read_as_a_script() -> None:
    job = run("sbatch", "sbatch", "-N2", "--wrap", "cd x && mpirun ./solver -n 3")
    assert (job.path, dict(job.options), job.launcher) == ("./solver", {"n": ("3",)}, "mpirun")


def test_srun_and_salloc_name_their_program_on_the_command_line() -> None:
    job = run("srun", "srun", "-N", "2", "-n4", "env", "A=1", "./prog", "-x", "1")
    assert (job.path, job.nodes, job.tasks, job.launcher) == ("./prog", 2, 4, "srun")
    assert run("salloc", "salloc", "-N2", "mpirun", "-np", "4", "./prog").program == "prog"
    assert run("salloc", "salloc", "-N2").program == ""


def test_srun_reads_its_own_variables() -> None:
    env = {
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_NNODES": "5",
        "SLURM_NTASKS": "4",
        "SLURM_NPROCS": "9",
        "SLURM_JOB_NAME": "e",
    }
    job = run("srun", "srun", "prog", env=env)
    assert (job.nodes, job.tasks, job.job_name) == (2, 4, "e")


def test_the_first_component_of_a_heterogeneous_job_is_used() -> None:
    assert sbatch(argv="-N1 -J a : -N3 -J b").nodes == 1
    assert run("srun", "srun", "-n1", "./a", "-x", "1", ":", "-n3", "./b").options == {"x": ("1",)}


def test_at_the_start_the_job_is_described_by_its_own_environment() -> None:
    env = {"SLURM_JOB_NAME": "n", "SLURM_JOB_PARTITION": "p", "SLURM_JOB_NUM_NODES": "3", "SLURM_SUBMIT_DIR": "/home/a"}
    script = Script("/var/spool/job1/slurm_script", HEAD + "#SBATCH -J other -N9\nsrun $SLURM_SUBMIT_DIR/x\n")
    job = parse(Submission("batch", (), "", env, (), script), user="a", submit_time=0.0, facts=JobFacts(3, 6))
    assert (job.job_name, job.partition, job.nodes, job.tasks, job.directory) == ("n", "p", 3, 6, "/home/a")
    assert job.path == "/home/a/x"


def test_submit_and_start_describe_the_same_program() -> None:
    text = HEAD + "#SBATCH -N2 -J n\nBIN=$SLURM_SUBMIT_DIR/bin\nmodule load ompi\nmpirun $BIN/x --size=3 in.dat\n"
    submitted = sbatch(text)
    env = {"SLURM_JOB_NAME": "n", "SLURM_SUBMIT_DIR": "/home/alice", "SLURM_JOB_NUM_NODES": "2"}
    started = parse(
        Submission("batch", (), "/home/alice", env, (), Script("/spool/slurm_script", text)),
        user="alice",
        submit_time=1.0,
    )
    assert submitted.script_path and started == dataclasses.replace(submitted, script_path="")


def test_a_script_can_be_described_without_being_submitted() -> None:
    submission = Submission.for_script("/w/job.sh", HEAD + "#SBATCH -N2\nsrun ./x\n", ["-J", "n"], "/home/a")
    job = parse(submission, user="a", submit_time=0.0)
    assert (job.job_name, job.nodes, job.program, job.directory) == ("n", 2, "x", "/home/a")


def test_a_script_of_another_language_is_the_program_itself() -> None:
    job = sbatch("#!/usr/bin/env python3\n#SBATCH -J py\nimport os\nmpirun = 1\n")
    assert (job.job_name, job.program, job.path) == ("py", "run.sh", "dir/run.sh")


def test_metadata_of_a_job_is_bounded() -> None:
    job = sbatch(HEAD + f"srun ./{'x' * 5000} " + f"--a {'y' * 5000} " + "z " * 5000)
    assert len(job.path) == TEXT_LIMIT and len(job.options["a"][0]) == TEXT_LIMIT
    assert sum(len(values) for values in job.options.values()) <= ARGUMENT_LIMIT


WORDS = "-N --nodes= -n4 -J --wrap --wrap=srun : -- -D .. 2-4 '"
SHELL = """#SBATCH \\ ' " $( ${ } ) ( ` $ << EOF <<- ; ;; & | && # srun mpirun -np case in esac [[ ]] for do"""
words = st.sampled_from(WORDS.split()) | st.text(max_size=8)
shell = st.sampled_from(
    [*SHELL.split(), "\n", " ", "\t", "\0", "\x0b", "\u2028", "\xa0", "((", "bash -c", "A=$A$A", "="]
)


@settings(max_examples=examples(400))
@given(
    st.sampled_from(["sbatch", "srun", "salloc", "batch", "other", ""]),
    st.lists(words, max_size=6),
    st.lists(shell | st.text(max_size=5), max_size=60),
)
@example("sbatch", [], ["#!/bin/sh\n#SBATCH -J 'x\n", "$(", "'" * 7])
def test_any_submission_gives_metadata(command: str, argv: list[str], pieces: list[str]) -> None:
    script = Script("x", "#!/bin/sh\n" + " ".join(pieces))
    job = parse(Submission(command, (command, *argv), "", {}, (), script), user="u", submit_time=0.0)
    assert JobMetadata.from_json(job.to_json()) == job


def test_a_cached_script_is_read_again_if_anything_it_depends_on_has_changed() -> None:
    text = HEAD + "#SBATCH -J again\ncd $SLURM_SUBMIT_DIR\nmpirun ./a $1\n"
    python = "#!/usr/bin/env python3\n"

    def read(
        text: str, argument: str = "x", cwd: str = "/c", path: str = "r.sh", command: str = "sbatch"
    ) -> JobMetadata:
        argv = (command, path, argument) if command == "sbatch" else ()
        submission = Submission(command, argv, cwd, {"SLURM_SUBMIT_DIR": cwd}, (), Script(path, text))
        return parse(submission, user="alice", submit_time=1.0)

    first = read(text)
    assert first == read(text) and (first.job_name, first.options) == ("again", {"": ("x",)})
    assert read(text, "y").options == {"": ("y",)}
    assert read(text, command="batch").options != first.options
    assert read(text + "#").job_name == "again"
    assert [read("mpirun $SLURM_SUBMIT_DIR/a", cwd=cwd).path for cwd in ("/c", "/d")] == ["/c/a", "/d/a"]
    assert [read(python, path=path).path for path in ("p.py", "q.py")] == ["p.py", "q.py"]
    wrapped = Submission("sbatch", ("sbatch", "--wrap", text), "/c")
    assert parse(wrapped, user="alice", submit_time=1.0).job_name == "wrap"


def _noted(reads: list[str], text: str, *others: Any) -> Iterator[Started]:
    reads.append(text)
    return started(text, *others)


def test_neither_long_scripts_nor_long_results_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["reprise.matcher.submission.script_contents"]
    for text in (
        HEAD + "#" * module.REMEMBERED_LIMIT,
        HEAD + "A=" + 1000 * "a" + "\nB=$A$A$A$A\nmpirun ./a $B $B $B\n",
        HEAD + "mpirun ./a\n",
    ):
        reads: list[str] = []
        monkeypatch.setattr(module, "started", partial(_noted, reads))
        assert sbatch(text) == sbatch(text)
        assert len(reads) == (1 if text.endswith("./a\n") else 3 if "$B" in text else 2)


@pytest.mark.parametrize(
    ("argv", "text", "size"),
    [
        ("", HEAD, (1, 1, 1)),
        ("-n 1", HEAD, (1, 1, 1)),
        ("-n 2", HEAD, (None, 2, None)),
        ("--gpus=4", HEAD, (None, None, None)),
        ("-n 1 --gpus=4", HEAD, (None, 1, None)),
        ("--gres=gpu:4 -c 8", HEAD, (1, 1, 1)),
        ("--ntasks-per-node=4", HEAD, (None, None, 4)),
        ("-w n[1-2]", HEAD, (None, None, None)),
        ("-N 1-2", HEAD, (None, None, None)),
        ("", HEAD + "mpirun -np 8 ./x\n", (None, 8, None)),
    ],
)
def test_a_job_without_a_node_count_has_one_node_if_slurm_gives_one(
    argv: str, text: str, size: tuple[int | None, int | None, int | None]
) -> None:
    job = sbatch(text, argv)
    assert (job.nodes, job.tasks, job.tasks_per_node) == size


def test_the_size_of_a_job_with_an_invisible_script_is_unknown() -> None:
    job = parse(Submission("sbatch", ("sbatch",), "/home/alice"), user="alice", submit_time=1.0)
    assert (job.nodes, job.tasks) == (None, None)
    job = parse(
        Submission("sbatch", ("sbatch",), "/h", {"SBATCH_GPUS": "4"}, (), Script("x", HEAD)), user="a", submit_time=1.0
    )
    assert job.nodes is None


def test_metadata_of_older_releases_names_no_programs() -> None:
    data = sbatch(HEAD + "./a\n./b\n").to_json()
    assert data.pop("programs") == ["a", "b"]
    assert JobMetadata.from_json(data).programs == ()
