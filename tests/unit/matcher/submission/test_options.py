# SPDX-License-Identifier: Apache-2.0
"""Test options of sbatch, srun and salloc: the tables match the installed commands, and getopt_long's rules apply."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reprise.matcher.submission.directives import read_directives
from reprise.matcher.submission.option_tables import RELEASES, SALLOC, SBATCH, SRUN, TABLES, Option, OptionTable, Takes
from reprise.matcher.submission.slurm_options import given_options, parse_options
from reprise.matcher.submission.submitted import Script, Submission
from reprise.matcher.submission.work_limit import Work
from tools import slurm_options

VECTORS = Path(__file__).parents[3] / "vectors"
UNKNOWN = tomllib.loads((VECTORS / "unknown_options.toml").read_text())["cases"]


@pytest.mark.parametrize("command", TABLES)
def test_table_has_exactly_the_options_of_the_installed_command(command: str, tmp_path: Path) -> None:
    if not shutil.which("gcc") or not shutil.which(command):
        pytest.skip("needs a C compiler and Slurm's commands")
    conf = tmp_path / "slurm.conf"
    conf.write_text(slurm_options.CONFIGURATION)
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    words = [command, "--version"]
    version = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    release = ".".join(version.split()[1].split(".")[:2])
    installed = {name: (names[0], takes) for names, takes in installed_options()[command].items() for name in names}
    table = TABLES[command]
    options = {**table.by_release[RELEASES.index(release)], **table.short}
    ours = {name: (option.name, option.takes.name.lower()) for name, option in options.items() if name != "reprise"}
    assert ours == installed


@cache
def installed_options() -> slurm_options.Options:
    return slurm_options.read_release(Path("/"))


def test_the_table_is_as_the_tool_writes_it() -> None:
    text = slurm_options.TABLE.read_text()
    table = tomllib.loads(text)
    assert text == slurm_options.table_text(slurm_options.releases_in(table), table["plugins"])


def test_each_abbreviation_that_a_release_accepts_is_understood() -> None:
    wrong = [
        (command, release, abbreviation)
        for command, table in TABLES.items()
        for release, options in zip(RELEASES, table.by_release, strict=True)
        for abbreviation, option in accepted(options)
        if not (found := table.find(abbreviation)) or (found.takes is Takes.VALUE) != (option.takes is Takes.VALUE)
    ]
    assert not wrong


def accepted(options: Mapping[str, Option]) -> Iterator[tuple[str, Option]]:
    """Yield each abbreviation that getopt_long accepts, and the option that it means."""
    for abbreviation in {name[:length] for name in options for length in range(1, len(name) + 1)}:
        meant = {option for name, option in options.items() if name.startswith(abbreviation)}
        if abbreviation in options or len(meant) == 1:
            yield abbreviation, options.get(abbreviation) or meant.pop()


@pytest.mark.parametrize("case", UNKNOWN, ids=lambda case: case["line"])
def test_an_unknown_long_option_never_hides_the_script(case: dict[str, Any]) -> None:
    argv = ("sbatch", *case["line"].split())
    script = Script(f"/home/u/{argv[case['script']]}", "#!/bin/sh\n") if case["script"] else None
    if script:
        rest = given_options(Submission("sbatch", argv, script=script)).rest
        assert rest == list(argv[case["script"] :])
    looks = case.get("by_looks", case["script"])
    if "--wrap" not in argv:
        assert given_options(Submission("sbatch", argv)).rest == (list(argv[looks:]) if looks else [])


def test_a_directive_has_no_script_that_an_unknown_option_could_hide() -> None:
    text = "#!/bin/sh\n#SBATCH --not-ours ./x -N 2\n#SBATCH --not-ours --ntasks=4\n"
    assert read_directives(text, Work()) == {"nodes": "2", "ntasks": "4"}


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("srun --not-ours hostname", "hostname"),
        ("srun --not-ours ./a.out 5", "./a.out 5"),
        ("srun --not-ours 5 ./a.out", "./a.out"),
        ("srun --not-ours 5", "5"),
        ("srun --not-ours gmx mdrun", "gmx mdrun"),
        ("srun --not-ours 00:10:00 gmx mdrun", "gmx mdrun"),
        ("salloc --not-ours off make", "make"),
    ],
)
def test_for_srun_and_salloc_the_look_of_the_next_word_decides(line: str, rest: str) -> None:
    command = line.split()[0]
    assert given_options(Submission(command, tuple(line.split()))).rest == rest.split()


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


def test_an_abbreviation_is_looked_up_once_and_no_other_word_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    table = replace(SRUN, _abbreviated={})
    looked_up: list[list[str]] = []
    meanings = OptionTable._meanings

    def counted(self: OptionTable, names: list[str]) -> Iterator[Option]:
        looked_up.append(names)
        return meanings(self, names)

    monkeypatch.setattr(OptionTable, "_meanings", counted)
    for _ in range(3):
        parse_options(table, ["--c", "--nod=2", "--zz", "--c"])
    assert len(looked_up) == 2
    assert set(table._abbreviated) == {"c", "nod"}
