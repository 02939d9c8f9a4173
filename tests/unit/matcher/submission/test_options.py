# SPDX-License-Identifier: Apache-2.0
"""Test options of sbatch, srun and salloc: the tables match the installed commands, and getopt_long's rules apply."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reprise.matcher.submission.slurm_options import SALLOC, SBATCH, SRUN, TABLES, Takes, parse_options

# A library that prints the options that a command passes to getopt_long, and then exits.
SHIM = r"""
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int getopt_long(int argc, char *const *argv, const char *letters, const struct option *option, int *index)
{
    (void)argc, (void)argv, (void)index;
    printf("%s\n", letters);
    for (; option->name; option++)
        printf("%s %d\n", option->name, option->has_arg);
    fflush(stdout);
    _exit(0);
}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not shutil.which("sbatch"):
        pytest.skip("needs a C compiler and Slurm's commands")
    directory = tmp_path_factory.mktemp("shim")
    (directory / "shim.c").write_text(SHIM)
    (directory / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=localhost\nNodeName=n\nPlugStackConfig=/dev/null\n"
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-o", directory / "shim.so", directory / "shim.c"], check=True)
    return directory


def installed_options(command: str, shim: Path) -> dict[str, Takes]:
    environment = {**os.environ, "LD_PRELOAD": str(shim / "shim.so"), "SLURM_CONF": str(shim / "slurm.conf")}
    done = subprocess.run([command, "x"], env=environment, capture_output=True, text=True, timeout=30, check=True)
    letters, *long = done.stdout.splitlines()
    options = {name: Takes(int(takes)) for name, takes in (line.split() for line in long)}
    assert letters.startswith("+"), "options end at the first word that is not an option"
    position = 1
    while position < len(letters):
        colons = len(letters[position + 1 :]) - len(letters[position + 1 :].lstrip(":"))
        options[letters[position]] = Takes(colons)
        position += 1 + colons
    return options


@pytest.mark.parametrize("command", TABLES)
def test_table_has_exactly_the_options_of_the_installed_command(command: str, shim: Path) -> None:
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout
    table = TABLES[command]
    ours = {name: takes for name, (_, takes) in (table.long | table.short).items()}
    installed = installed_options(command, shim)
    if "22.05" in version:
        assert ours == installed
    else:
        known = ours | {name: takes for name, (_, takes) in table.whole.items()}
        assert {name: known[name] for name in installed if name in known} == {
            name: takes for name, takes in installed.items() if name in known
        }


@pytest.mark.parametrize("words", ["-N4", "-N 4", "--nodes=4", "--nodes 4", "-QHN4", "-vvvN 4", "--nodes 2 -N4"])
def test_every_way_to_write_a_value_is_read(words: str) -> None:
    assert parse_options(SBATCH, words.split()).values["nodes"] == "4"


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("--job=x", "job-name", "x"),
        ("--part debug", "partition", "debug"),
        ("--tasks=3", "ntasks-per-node", "3"),  # an alias, not an abbreviation of `ntasks`
        ("--ntasks-per-no 3", "ntasks-per-node", "3"),
        ("--no-k", "no-kill", ""),
    ],
)
def test_an_unambiguous_abbreviation_is_read(words: str, name: str, value: str) -> None:
    assert parse_options(SBATCH, words.split()).values == {name: value}


def test_an_ambiguous_abbreviation_is_ignored() -> None:
    assert parse_options(SBATCH, ["--node=2", "-n4"]).values == {"ntasks": "4"}


def test_an_exact_name_is_never_ambiguous() -> None:
    assert parse_options(SBATCH, ["--ntasks", "4"]).values == {"ntasks": "4"}


@pytest.mark.parametrize(("words", "value"), [("-k off", ""), ("-koff", "off"), ("--no-kill=off", "off")])
def test_an_optional_value_is_taken_only_when_attached(words: str, value: str) -> None:
    assert parse_options(SBATCH, words.split()).values["no-kill"] == value


def test_arguments_after_the_script_are_not_read_as_options() -> None:
    parsed = parse_options(SBATCH, ["-N2", "run.sh", "-N", "8", "--job-name=x"])
    assert (parsed.values, parsed.rest) == ({"nodes": "2"}, ["run.sh", "-N", "8", "--job-name=x"])


def test_two_dashes_end_the_options() -> None:
    assert parse_options(SBATCH, ["-N2", "--", "--odd-name"]).rest == ["--odd-name"]


def test_a_letters_meaning_depends_on_the_command() -> None:
    assert parse_options(SBATCH, ["-W", "run.sh"]).rest == ["run.sh"]
    assert parse_options(SRUN, ["-W", "30", "prog"]).rest == ["prog"]
    assert parse_options(SALLOC, ["-K", "prog"]).rest == ["prog"]


def test_the_option_reprise_takes_a_value_and_options_of_other_plugins_are_ignored() -> None:
    parsed = parse_options(SBATCH, ["--reprise", "explain", "--fastio=yes", "--x-unknown", "-N2", "run.sh"])
    assert (parsed.values, parsed.rest) == ({"reprise": "explain", "nodes": "2"}, ["run.sh"])


@pytest.mark.parametrize("words", [["-N"], ["--nodes"], ["-"], ["--"], ["---"], ["--="], ["-é"], [""], []])
def test_broken_command_lines_are_read_without_an_error(words: list[str]) -> None:
    assert parse_options(SBATCH, words).values in ({}, {"nodes": ""})
