# SPDX-License-Identifier: Apache-2.0
"""Test reading batch scripts from the output of `sacct -B`, which is from a real Slurm 22.05.8, except for times."""

from __future__ import annotations

from io import StringIO

import pytest

from reprise.matcher.submission import SCRIPT_LIMIT, parse, sacct
from reprise.matcher.submission.sacct_scripts import LISTED, PRINTED, batch_scripts, submissions
from tests.places import ROOT

JOBS = """\
JobID|User|Account|Partition|NNodes|ElapsedRaw|Submit|WorkDir|JobName|SubmitLine
1|alice|science|main|1|0|2026-11-25T14:17:32|/home/alice/tides/run1|tides|sbatch job.sh 3 a b
3|alice|science|main|1|1|2026-11-25T14:17:32|/home/alice/waves|nonl.sh|sbatch nonl.sh
4|alice|science|main|1|1|2026-11-25T14:17:32|/home/alice/waves|wrap|sbatch --wrap srun ./waves
5|alice|science|main|1|1|2026-11-25T14:17:32|/home/alice/waves|hostname|srun hostname
2_1|alice|science|main|1|0|2026-11-25T14:17:32|/home/alice/tides/run1|tides|sbatch --array=1-3 -c 1 job.sh
2_2|alice|science|main|1|0|2026-11-25T14:17:32|/home/alice/tides/run1|tides|sbatch --array=1-3 -c 1 job.sh
8+0|bob|science|main|1|0|2026-11-25T14:17:33|/home/bob|het.sh|sbatch het.sh
8+1|bob|science|main|1|0|2026-11-25T14:17:33|/home/bob|het.sh|sbatch het.sh
11|carol|science|main|1|0|2026-11-25T14:17:33|/home/carol|sbatch|sbatch
"""
RULE = "-" * 80
TIDES = "#!/bin/bash\n#SBATCH -N 1 -J tides\n\nsrun ./tide2d $1\nBatch=1\n"
SCRIPTS = f"""\
Batch Script for 1
{RULE}
{TIDES}
Batch Script for 3
{RULE}
#!/bin/bash
srun ./waves
Batch Script for 4
{RULE}
#!/bin/sh
# This script was created by sbatch --wrap.

srun ./waves

Batch Script for 5
{RULE}
NONE

Batch Script for 2_1
{RULE}
{TIDES}
Batch Script for 2_2
{RULE}
{TIDES}
Batch Script for 8+0
{RULE}
#!/bin/bash
#SBATCH -N1
#SBATCH hetjob
#SBATCH -N1
hostname

Batch Script for 8+1
{RULE}
#!/bin/bash
#SBATCH -N1
exit 0

Batch Script for 11
{RULE}
#!/bin/bash
hostname

"""


def read(text: str) -> list[tuple[str, str]]:
    return list(batch_scripts(StringIO(text, newline="\n")))


def test_each_script_is_read_as_submitted() -> None:
    found = read(SCRIPTS)
    assert [number for number, _ in found] == ["1", "3", "4", "2", "2", "8", "8", "11"]
    assert found[0][1] == TIDES
    assert found[1][1] == "#!/bin/bash\nsrun ./waves"
    assert found[-1][1] == "#!/bin/bash\nhostname\n"


@pytest.mark.parametrize(
    "text",
    [
        "Batch Script for 7\nand more\n",
        f"{RULE}\necho x\n{RULE}\n",
        "Batch Script for 7",
        f"a\nBatch Script for 7\n\n{RULE}\n",
        f"Batch Script for 7\nBatch Script for 8\n{RULE[:9]}\n",
    ],
)
def test_a_script_may_contain_lines_like_a_header(text: str) -> None:
    assert read(f"Batch Script for 1\n{RULE}\n{text}\n") == [("1", text)]


@pytest.mark.parametrize("text", ["", "nonsense\n", "NONE\n", f"Batch Script for 1\n{RULE}\n", "Batch Script for 1"])
def test_other_output_contains_no_script(text: str) -> None:
    assert read(text) == []


def test_a_script_without_an_end_is_truncated() -> None:
    ((_, text),) = read(f"Batch Script for 1\n{RULE}\n" + "echo again\n" * SCRIPT_LIMIT)
    assert SCRIPT_LIMIT <= len(text) < SCRIPT_LIMIT + 20


def test_scripts_are_combined_with_users_and_command_lines_of_their_jobs() -> None:
    found = list(submissions(sacct.read(JOBS), read(SCRIPTS)))
    jobs = [parse(one.command, user=one.job.user, submit_time=one.job.submit_time) for one, _ in found if one.command]
    assert [one.number for one, _ in found] == ["1", "3", "4", "2", "8", "11"]
    assert [job.user for job in jobs] == ["alice"] * 4 + ["bob", "carol"]
    assert [job.program for job in jobs] == ["tide2d", "waves", "waves", "tide2d", "", ""]
    assert [job.job_name for job in jobs] == ["tides", "nonl.sh", "wrap", "tides", "het.sh", "sbatch"]
    assert jobs[0].options == {"": ("3",)} and jobs[0].directory == "/home/alice/tides/run1"
    assert jobs[0].script == jobs[3].script != ""


def test_jobs_without_command_lines_have_a_name_and_a_script() -> None:
    jobs = sacct.read("JobID|User|WorkDir|JobName\n1|alice|/home/alice/tides|tides\n")
    ((one, text),) = submissions(jobs, read(SCRIPTS))
    assert one.command and text == TIDES
    job = parse(one.command, user="alice", submit_time=0.0)
    assert (job.program, job.job_name, job.directory) == ("tide2d", "tides", "/home/alice/tides")


def test_the_commands_are_in_the_documentation() -> None:
    page = (ROOT / "docs/how-to/calibrate.md").read_text()
    assert f"{LISTED} -S now-30days | {PRINTED} > scripts/scripts.txt\n" in page
