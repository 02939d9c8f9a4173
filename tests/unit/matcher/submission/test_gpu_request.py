# SPDX-License-Identifier: Apache-2.0
"""Test whether the options and variables of a submission show that the job gets GPUs."""

from __future__ import annotations

import pytest

from reprise.matcher.submission import Script, Submission, parse

GPUS = (
    "--gpus=4",
    "-G 1",
    "--gpus-per-node=a100:2",
    "--gpus-per-task 1",
    "--gpus-per-socket=1",
    "--gres=gpu",
    "--gres=gpu:10",
    "--gres=gpu:a100:4",
    "--gres nvme:1,gpu:2",
    "--gres=gres/gpu:1",
    "--tres-per-task=cpu:4,gres/gpu:1",
    "--tres-per-task=gres:gpu:1",
)
NO_GPUS = (
    "",
    "--gpus=0",
    "--gpus-per-node=a100:0",
    "--gres=nvme:1",
    "--gres=gpu:0",
    "--gres=gpu:a100:0",
    "--gres=gpumem:8",
    "--gres=none",
    "--gpu-bind=closest",
    "--cpus-per-gpu=4",
    "--comment=gpu:4",
)


def gets(options: str, env: dict[str, str] | None = None, command: str = "sbatch", text: str = "") -> bool:
    script = Script("/h/job.sh", f"#!/bin/sh\n{text}\nsrun ./a\n")
    submission = Submission(command, (command, *options.split(), "/h/job.sh"), "/h", env or {}, (), script)
    return parse(submission, user="alice", submit_time=1.0).gpus


def test_an_option_that_requests_gpus_is_recognized() -> None:
    assert [one for one in GPUS if not gets(one)] == []
    assert [one for one in GPUS if not gets("", text=f"#SBATCH {one}")] == []
    assert [one for one in NO_GPUS if gets(one)] == []


@pytest.mark.parametrize(
    ("command", "env", "expected"),
    [
        ("sbatch", {"SBATCH_GPUS": "4"}, True),
        ("sbatch", {"SBATCH_GRES": "gpu:1"}, True),
        ("sbatch", {"SBATCH_GPUS": "0"}, False),
        ("batch", {"SLURM_JOB_GPUS": "0"}, True),  # the GPU with the number 0
        ("batch", {"SLURM_GPUS_ON_NODE": "0"}, False),
        ("batch", {}, False),
        ("sbatch", {"SLURM_JOB_GPUS": "0,1", "SLURM_GPUS_ON_NODE": "2"}, False),  # the GPUs of an enclosing job
        ("srun", {"SLURM_GPUS_PER_NODE": "4"}, True),
        ("salloc", {"SALLOC_GRES": "gpu"}, True),
    ],
)
def test_a_variable_of_the_command_requests_gpus(command: str, env: dict[str, str], expected: bool) -> None:
    assert gets("", env, command) is expected


def test_an_option_overrides_what_the_script_requests() -> None:
    assert not gets("--gpus=0", text="#SBATCH --gpus=4")
