# SPDX-License-Identifier: Apache-2.0
"""Test conflicts with variables that the user has set, and the masking of secrets on command lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.database.secret_masking import MASK, masked_text
from reprise.database.secret_names import names_secret
from reprise.matcher.decision.user_choices import chosen_names, conflict
from reprise.matcher.submission import Script, Submission
from reprise.matcher.submission.masked_metadata import masked
from reprise.matcher.submission.metadata import JobMetadata

TUNED = ("OMPI_MCA_coll_tuned_*",)
FORCED = "OMPI_MCA_coll_tuned_bcast_algorithm"


def chosen(line: str, *argv: str, env: dict[str, str] | None = None) -> tuple[str, ...]:
    script = Script("/job.sh", f"#!/bin/bash\n{line}\nsrun ./a\n")
    return chosen_names(Submission("sbatch", ("sbatch", *argv, "/job.sh"), "/", env or {}, (), script))


@pytest.mark.parametrize(
    "line",
    [
        f"export {FORCED}=6",
        f"{FORCED}=6 mpirun ./a",
        f"env A=1 {FORCED}=6 mpirun ./a",
        f"setenv {FORCED} 6",
        "mpirun --mca coll_tuned_bcast_algorithm 6 ./a",
        "OPTIONS='--mca coll_tuned_bcast_algorithm 6'",
        f"{FORCED}+=6",
        f": ${{{FORCED}:=6}}",
        "mpirun -mca coll_tuned_bcast_algorithm 6 ./a",
        "mpirun -n 4 \\\n  --mca \\\n  coll_tuned_bcast_algorithm 6 ./a",
        "mpirun --gmca coll_tuned_bcast_algorithm 6 ./a",
        "mpirun --mca 'coll_tuned_bcast_algorithm' 6 ./a",
        f"mpirun -x {FORCED}=6 ./a",
        f"#SBATCH --export=ALL,{FORCED}=6",
        "mpirun --tune my.conf ./a",
        "mpirun --am my.conf ./a",
        f"if true; then export A=1 {FORCED}=6; fi",
        f"# a comment does not go on \\\nexport {FORCED}=6",
        "for c in bcast; do export OMPI_MCA_coll_tuned_${c}_algorithm=6; done",
        f'os.environ["{FORCED}"] = "6"',
        f'os.putenv("{FORCED}", "6")',
        "mpirun --omca coll_tuned_bcast_algorithm 6 ./a",
    ],
)
def test_a_variable_that_the_script_sets_is_the_users_choice(line: str) -> None:
    assert conflict(TUNED, chosen(line))


@pytest.mark.parametrize(
    "line",
    [
        f"# export {FORCED}=6",
        f"   # {FORCED}=6",
        "mpirun --mca btl tcp,self ./a",
        "export OMPI_MCA_btl=tcp",
        "mpirun ./a --amount 3 --tuned=1",
        f"export MY_{FORCED}=6",
        "export OMP_NUM_THREADS=4",
        "mpirun \\\n  # --mca coll_tuned_bcast_algorithm 6 \n  ./a",
        f"echo ${FORCED}",
        f"echo ${{{FORCED}:-6}} ${{{FORCED}-6}}",
        f'[ "${FORCED}" = 6 ] && echo six',
    ],
)
def test_other_lines_set_no_variable(line: str) -> None:
    assert conflict(TUNED, chosen(line)) is None


def test_variables_on_the_command_line_and_in_the_environment_count_too() -> None:
    assert conflict(TUNED, chosen("", f"--export=ALL,{FORCED}=1")) == FORCED
    assert conflict(TUNED, chosen("", env={"SBATCH_EXPORT": f"ALL,{FORCED}=1"})) == FORCED
    assert conflict(TUNED, chosen_names(Submission("srun", (), set_names=(FORCED,)))) == FORCED


def test_a_pattern_without_a_star_matches_only_itself() -> None:
    assert conflict(("ROMIO_HINTS",), ["ROMIO_HINTS"]) == "ROMIO_HINTS"
    assert conflict(("ROMIO_HINTS",), ["ROMIO_HINTS_X", "ROMIO_HINT"]) is None


@given(st.text("AB_", max_size=4), st.text("AB_", max_size=4), st.booleans(), st.booleans())
def test_two_patterns_conflict_when_some_name_matches_both(a: str, b: str, star_a: bool, star_b: bool) -> None:
    names = [a, b, a + b, b + a]  # if any name matches both patterns, one of these names does

    def matches(text: str, star: bool, name: str) -> bool:
        return name.startswith(text) if star else name == text

    expected = any(matches(a, star_a, name) and matches(b, star_b, name) for name in names)
    assert (conflict([a + "*" * star_a], [b + "*" * star_b]) is not None) == expected


@pytest.mark.parametrize(
    "text",
    [
        "OMPI_MCA_x" + " " * 130_000,
        "OMPI_MCA_" * 14_000,
        "-mca " * 26_000,
        "#" * 131_000,
        "\\\n" * 65_000,
        "a." * 65_000,
        "a://" * 30_000,
        "x=" * 65_000,
        "OMPI_MCA_x'] " * 10_000,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    begun = time.process_time()
    chosen(text)
    masked_text(text)
    assert time.process_time() - begun < 0.5


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "db-password",
        "DB_PASSWORD",
        "token",
        "apiKey",
        "api-key",
        "key",
        "auth",
        "authToken",
        "secret1",
        "pass",
    ],
)
def test_names_of_secrets_are_recognized(name: str) -> None:
    assert names_secret(name, "hunter2")


@pytest.mark.parametrize("name", ["monkey", "keyboard", "passes", "author", "tokenizer", "compass", "n", "", "input"])
def test_names_that_only_resemble_those_of_secrets_are_not_recognized(name: str) -> None:
    assert not names_secret(name, "hunter2")


def test_secrets_are_masked_wherever_a_command_line_may_hold_them() -> None:
    job = JobMetadata(
        "alice",
        job_name="token=abc",
        options={
            "password": ("hunter2",),
            "verbose": ("",),
            "key": ("",),
            "": ("http://bob:hunter2@host/x", "API_KEY=hunter2", "steps=3"),
            "url": ("postgres://u:hunter2@db",),
        },
        script_path="/tmp/http://bob:hunter2@host/x",
    )
    clean = masked(job)
    assert "hunter2" not in str(clean) and "abc" not in str(clean)
    assert clean.options["password"] == (MASK,)
    assert clean.options["key"] == ("",), "a switch without a value stays without a value"
    assert clean.options[""] == (f"http://{MASK}@host/x", f"API_KEY={MASK}", "steps=3")
    assert masked(clean) == clean


def test_a_text_without_secrets_is_unchanged() -> None:
    for text in ("http://host:80/x", "user@host:/path", "a=b", "12:30:00", "s3://bucket/key"):
        assert masked_text(text) == text


@pytest.mark.parametrize("line", ["#BB_LUA pool=ram capacity=4G", "#SBB close=wait pool=flash capacity=1T"])
def test_a_job_that_asks_slurm_for_a_burst_buffer_has_chosen_its_forwarding(line: str) -> None:
    assert conflict(("REPRISE_FORWARD_*",), chosen(line)) and conflict(("LD_PRELOAD",), chosen(line))
    assert conflict(("LD_PRELOAD",), chosen("", "--bb=pool=ram capacity=4G"))


@pytest.mark.parametrize("line", ["#BB_LUA capacity=4G", "# pool=ram", "./a pool=ram", "#BB_LUA pool=ramp"])
def test_other_lines_ask_for_no_burst_buffer_of_ours(line: str) -> None:
    assert not chosen(line)
