# SPDX-License-Identifier: Apache-2.0
"""Test reading jobs from sacct's output. The rows are from a real Slurm 22.05.8, except for times and names."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.submission import sacct
from tests.places import ROOT, UNIT

HEAD = "JobID|User|Account|Partition|NNodes|Submit|WorkDir|JobName|SubmitLine"
ROW = "7|alice|phys|main|2|2026-11-21T14:40:31|/home/alice|inscript|sbatch -n 8 j.sh"


def read(*rows: str, head: str = HEAD) -> sacct.Accounted:
    return sacct.read("\n".join([head, *rows]) + "\n")


def test_everything_but_the_script_of_a_batch_job_is_known() -> None:
    [job] = read(ROW).jobs
    assert (job.user, job.account, job.partition, job.nodes) == ("alice", "phys", "main", 2)
    assert (job.directory, job.job_name, job.tasks, job.tasks_per_node) == ("/home/alice", "inscript", 8, None)
    assert (job.program, job.path, job.script, job.options) == ("", "", "", {})
    assert job.submit_time == datetime(2026, 11, 21, 14, 40, 31).timestamp()


def test_the_command_of_srun_is_the_program() -> None:
    [job] = read("8|alice|phys|main|1|2026-11-21T14:40:35|/home/alice|prog|srun -n 2 ./prog --a=1").jobs
    assert (job.program, job.path, job.options, job.tasks) == ("prog", "./prog", {"a": ("1",)}, 2)


def test_a_wrapped_script_extends_to_the_end_of_its_row() -> None:
    rows = (
        "3|alice|phys|main|1|2026-11-21T14:40:31|/home/alice|wrap|sbatch --wrap echo one\necho 2|cat\nsrun ./solve -k"
    )
    found = read(rows, ROW)
    assert found.unreadable == 0 and len(found.jobs) == 2
    job = found.jobs[0]
    assert (job.program, job.options, job.launcher) == ("solve", {"k": ()}, "srun")


def test_quotes_are_ordinary_characters() -> None:
    [job] = read("8|alice|p|main|1|2026-11-21T14:40:35|/w|it's|srun -n 2 --comment=it's ./prog it's").jobs
    assert (job.program, job.job_name, job.options) == ("prog", "it's", {"": ("it's",)})


def test_a_job_name_may_contain_line_ends() -> None:
    found = read("12|alice|phys|main|1|2026-11-21T14:40:35|/home/alice|new\nline|sbatch -J new\nline j.sh", ROW)
    assert [job.job_name for job in found.jobs] == ["new\nline", "inscript"] and not found.unreadable


def test_a_job_name_with_the_separator_loses_only_its_end_and_the_command() -> None:
    [job] = read("2|alice|phys|main|1|2026-11-21T14:40:31|/home/alice|a|b|sbatch -J a|b -n2 j.sh x|y").jobs
    assert (job.job_name, job.tasks, job.nodes) == ("a", None, 1)


def test_tasks_and_components_of_one_submission_count_once() -> None:
    rows = [
        f"{number}|alice|phys|main|1|2026-11-21T14:40:31|/home/alice|{number}|sbatch j.sh"
        for number in ("4_0", "4_1", "4_[2-9%3]", "10+0", "10+1", "11", "12_[1-3]")
    ]
    assert [job.job_name for job in read(*rows).jobs] == ["4_0", "10+0", "11", "12_[1-3]"]


def test_steps_are_ignored() -> None:
    steps = (
        "7.batch||phys||1|2026-11-21T14:40:31||batch|",
        "7.0||phys||1|2026-11-21T14:40:31||hostname|srun hostname",
        "4_2.extern||phys||1|2026-11-21T14:40:31||extern|",
    )
    found = read(ROW, *steps)
    assert len(found.jobs) == 1 and found.unreadable == 0


@pytest.mark.parametrize(
    "row",
    ["9||phys|main|1|2026-11-21T14:40:31|/|x|sbatch j.sh", "9|alice|phys", "9|"],
    ids=["no user", "cut short", "only a number"],
)
def test_unreadable_rows_are_counted(row: str) -> None:
    found = read(ROW, row)
    assert (len(found.jobs), found.unreadable) == (1, 1)


@pytest.mark.parametrize("submit", ["Unknown", "None", "", "9999-99-99T99:99:99", "1900-01-01T00:00:00"])
@pytest.mark.parametrize("nodes", ["", "0", "1.50K", "-1", "\u0665\u2460", "99999999999999999999"])
def test_values_that_slurm_does_not_know_stay_unknown(submit: str, nodes: str) -> None:
    [job] = read(f"9|alice||debug,main|{nodes}|{submit}||x|").jobs
    assert (job.submit_time, job.nodes, job.partition, job.directory, job.account) == (0, None, "debug", "", "")


def test_a_separator_at_the_end_of_each_line_is_ignored() -> None:
    [job] = read("8|alice|prog|srun ./prog --a=b|", head="JobID|User|JobName|SubmitLine|").jobs
    assert job.options == {"a": ("b",)}


def test_other_columns_may_be_left_out() -> None:
    [job] = read("8|alice|prog", head="JobID|User|JobName").jobs
    assert (job.user, job.job_name, job.nodes) == ("alice", "prog", None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no column JobID"),
        ("JobID,User,JobName\n", "has no column JobID"),
        ("JobID|User\n1|alice\n", "has no column JobName"),
        ("User|JobID|JobName\nalice|1|x\n", "does not begin with JobID"),
        ("sacct: error: Problem talking to the database\n", "has no column JobID"),
    ],
)
def test_other_input_is_refused_with_the_correct_command(text: str, said: str) -> None:
    with pytest.raises(sacct.SacctError) as refused:
        sacct.read(text)
    assert str(refused.value) == f"the first line {said}: use the output of `{sacct.COMMAND}`"


# The fields of a job in Slurm's OpenAPI that Reprise reads. OLD is version dbv0.0.38 of Slurm 22.05, with the field
# names that are in the plugin of that version. NEW is versions v0.0.40 to v0.0.42 of Slurm 24.11, where a number may be
# an object that also states whether the number is set.
OLD: dict[str, Any] = {
    **{"job_id": 7, "user": "alice", "account": "phys", "partition": "main,debug", "name": "solve"},
    **{"working_directory": "/home/alice", "allocation_nodes": 2, "steps": []},
    "array": {"job_id": 0, "limits": {}, "task": None, "task_id": None},
    "het": {"job_id": 0, "job_offset": None},
    "time": {"elapsed": 1800, "submission": 1700000000, "start": 1700000001, "end": 1700001801},
}
NEW: dict[str, Any] = {
    **OLD,
    "array": {"job_id": 0, "task": "", "task_id": {"set": False, "infinite": False, "number": 0}},
    "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
    "submit_line": "srun -n 2 ./prog --a=1",
}


# Types of these fields in Slurm 24.11.5, from components/schemas in the output of Debian 13's `slurmrestd
# --generate-openapi-spec -s slurmdbd -d v0.0.40` (also v0.0.41 and v0.0.42).
SCHEMAS = json.loads((UNIT / "data/slurmdb_job_24.11.json").read_text())
TYPES = {str: "string", int: "integer", bool: "boolean"}


def types(job: Any, schema: Any) -> Any:
    """Return the types of those fields of a job that the schema names, nested as in the schema."""
    if isinstance(schema, dict) and isinstance(job, dict):
        return {name: types(job[name], schema[name]) for name in schema if name in job}
    return TYPES.get(type(job))


@pytest.mark.parametrize("parser", SCHEMAS)
def test_the_job_in_these_tests_has_the_types_of_slurm_24_11(parser: str) -> None:
    assert types(NEW, SCHEMAS[parser]) == SCHEMAS[parser]


def read_json(*jobs: Any) -> sacct.Accounted:
    return sacct.read(json.dumps({"meta": {"plugins": {}}, "jobs": jobs, "errors": []}, indent=1))


@pytest.mark.parametrize(("told", "program"), [(OLD, ""), (NEW, "prog")], ids=["22.05", "24.11"])
def test_json_gives_the_same_jobs_as_rows(told: dict[str, Any], program: str) -> None:
    found = read_json(told)
    [one] = found.submitted
    job = one.job
    assert (job.user, job.account, job.partition, job.nodes) == ("alice", "phys", "main", 2)
    assert (job.directory, job.job_name, job.program, job.submit_time) == ("/home/alice", "solve", program, 1700000000)
    assert (one.node_hours, found.unreadable) == (1.0, 0)


def test_tasks_and_components_in_json_count_as_one_submission(told: dict[str, Any] = NEW) -> None:
    tasks = [{**told, "job_id": number, "array": {"job_id": 20, "task_id": {"set": True}}} for number in (20, 21, 22)]
    parts = [{**told, "job_id": number, "het": {"job_id": 30}} for number in (30, 31)]
    as_number = {**told, "job_id": 40, "allocation_nodes": {"set": True, "infinite": False, "number": 4}}
    pending = {**told, "job_id": 41, "time": {"elapsed": 0, "submission": 1700000000}, "allocation_nodes": 0}
    found = read_json(*tasks, *parts, as_number, pending)
    assert [(one.job.nodes, one.node_hours) for one in found.submitted] == [(2, 3.0), (2, 2.0), (4, 2.0), (None, 0.0)]


@pytest.mark.parametrize(
    "job", [3, None, {}, {"job_id": 7}, {**OLD, "user": None}, {**OLD, "job_id": None}, {**OLD, "user": ["alice"]}]
)
def test_unreadable_jobs_in_json_are_counted(job: Any) -> None:
    found = read_json(OLD, job)
    assert (len(found.jobs), found.unreadable) == (1, 1)


@pytest.mark.parametrize("text", ["{", "{}", '{"jobs": {}}', '{"jobs": null}'])
def test_other_json_is_refused_with_the_correct_command(text: str) -> None:
    with pytest.raises(
        sacct.SacctError, match=r"^this is not the JSON of sacct .*: use the output of `sacct -aX --json`$"
    ):
        sacct.read(text)


def test_node_hours_are_summed_over_a_submission() -> None:
    head = "JobID|User|NNodes|ElapsedRaw|JobName"
    rows = (
        "4_0|alice|2|1800|x",
        "4_1|alice|2|3600|x",
        "4_[2-9]|alice|2|0|x",
        "5|alice||60|x",
        "6|alice|1||x",
        "7|alice||0|x",
    )
    assert [one.node_hours for one in read(*rows, head=head).submitted] == [3.0, None, None, 0.0]
    assert [one.node_hours for one in read(ROW).submitted] == [None], "this output lacks a column for node-hours"


@given(st.text(alphabet=st.sampled_from("1|_+.[]\n\r\x00\x0b\x85\u2028ab\ufffd '\"")))
def test_any_rows_give_jobs_or_are_counted(text: str) -> None:
    found = read(text, ROW)
    assert found.jobs and found.unreadable >= 0


@pytest.mark.skipif(not shutil.which("sacct", path="/usr/bin"), reason="Slurm is not installed")
def test_sacct_has_all_requested_columns() -> None:
    """Search sacct's binary for the columns, because `sacct --helpformat` prints them only if slurmdbd answers."""
    table = Path("/usr/bin/sacct").read_bytes()
    columns = sacct.COMMAND.split()[3].split(",")
    assert [name for name in columns if f"{name}\0".encode() not in table] == []
    assert columns[0] == "JobID" and columns[-1] == "SubmitLine"


def test_the_administrators_page_has_the_command_for_sacct() -> None:
    assert f"{sacct.COMMAND} -S " in (ROOT / "docs/how-to/calibrate.md").read_text()
