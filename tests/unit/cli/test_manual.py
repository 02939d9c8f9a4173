# SPDX-License-Identifier: Apache-2.0
"""Test that manual pages and completions cover all commands and settings, and that groff and the shells accept them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import get_args

import click
import pytest
from pydantic import BaseModel

from reprise.cli import manual, settings
from reprise.cli.main import reprise as program
from reprise.config import Config
from reprise.database.entities import Scope
from reprise.tuner import noise, search
from reprise.tuner.definition import pruning
from reprise.tuner.definition.campaign_definition import Definition, ExecutorKind
from reprise.tuner.definition.schedule import DAYS
from reprise.tuner.search.initial_design import DESIGNS
from tests.places import ROOT

PLUGSTACK = (ROOT / "etc/plugstack.conf.d/reprise.conf").read_text()
PAGES = manual.pages(PLUGSTACK)
FILES: dict[str, type[BaseModel]] = {"reprise.toml.5": Config, "reprise-campaign.5": Definition}


def plain(roff: str) -> str:
    """Return the text of a page in one line, as `man` would show it."""
    text = re.sub(r"\\f[BIR]|\\&", "", roff)
    for escape, char in (("\\-", "-"), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ha", "^"), ("\\(ti", "~"), ("\\e", "\\")):
        text = text.replace(escape, char)
    return " ".join(text.split())


def commands() -> list[tuple[str, click.Command, click.Context]]:
    found = []
    for name in program.list_commands(click.Context(program)):
        context = click.Context(program, info_name="reprise")
        command = program.get_command(context, name)
        assert command
        for leaf, its in manual._leaves(command, click.Context(command, info_name=name, parent=context)):
            found.append((its.command_path, leaf, its))
    return found


COMMANDS = commands()


@pytest.mark.parametrize(("path", "command", "context"), COMMANDS, ids=[path for path, _, _ in COMMANDS])
def test_every_command_and_option_is_in_its_manual_page(
    path: str, command: click.Command, context: click.Context
) -> None:
    name = path.split()[1]
    page = plain(next(text for file, text in PAGES.items() if file.rsplit(".", 1)[0] == f"reprise-{name}"))
    assert path in page
    for parameter in command.params:
        for option in parameter.opts if isinstance(parameter, click.Option) and not parameter.hidden else ():
            assert option in page, option


@pytest.mark.parametrize("page", FILES)
def test_every_setting_is_in_its_manual_page(page: str) -> None:
    text = PAGES[page]
    for name, field in FILES[page].model_fields.items():
        assert name in plain(text)
        for inner in getattr(field.annotation, "model_fields", {}):
            assert f"\\fB{manual.escaped(inner)}\\fR" in text


def tables(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for kind in (field.annotation, *get_args(field.annotation)):
            if settings._is_table(kind):
                yield from tables(kind)


@pytest.mark.parametrize("page", FILES)
def test_every_setting_has_a_description(page: str) -> None:
    described = re.findall(r"^\.TP\n\\fB(.*?)\\fR \(.*\)\n(.*)", PAGES[page], re.MULTILINE)
    assert len(described) == sum(
        not any(settings._is_table(kind) for kind in (field.annotation, *get_args(field.annotation)))
        for table in tables(FILES[page])
        for field in table.model_fields.values()
    )
    assert [name for name, text in described if len(text) < 6] == []


def test_settings_with_a_fixed_choice_list_their_values() -> None:
    for page, setting, words in (
        ("reprise.toml.5", "mode", ("on", "observe", "off")),
        ("reprise-campaign.5", "method", search.METHODS),
        ("reprise-campaign.5", "design", DESIGNS),
        ("reprise-campaign.5", "policy", noise.POLICIES),
        ("reprise-campaign.5", "policy", pruning.POLICIES),
        ("reprise-campaign.5", "kind", get_args(ExecutorKind)),
        ("reprise-campaign.5", "scope", Scope),
        ("reprise-campaign.5", "days", DAYS),
        ("reprise-campaign.5", "launcher", ("srun", "mpirun", "hydra")),
    ):
        assert re.search(rf"\b{setting} \(default [^;]+; one of {', '.join(words)}\)", plain(PAGES[page])), setting


def test_the_plugins_arguments_are_in_its_manual_page() -> None:
    text = plain(PAGES["spank_reprise.8"])
    for argument in re.findall(r"^#   (\w+=)", PLUGSTACK, re.MULTILINE):
        assert argument in text


def test_text_that_looks_like_roff_is_escaped() -> None:
    assert manual.escaped(".TH x\n'quoted' -a `b` \\") == "\\&.TH x\n\\&\\(aqquoted\\(aq \\-a \\(gab\\(ga \\e"


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed: `make deps-check`")
@pytest.mark.parametrize("name", PAGES)
def test_groff_accepts_each_page_without_a_warning(name: str) -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-z"]
    done = subprocess.run(command, input=PAGES[name], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize(("file", "shell"), [("reprise.bash", "bash"), ("_reprise", "zsh"), ("reprise.fish", "fish")])
def test_each_shell_accepts_its_completion_file(file: str, shell: str) -> None:
    text = manual.completions()[file]
    assert "reprise" in text
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed: `make deps-check`")
    subprocess.run([shell, "-n"], input=text, text=True, check=True, capture_output=True)


def test_bash_completes_commands_and_options() -> None:
    environment = {"COMP_WORDS": "reprise jobs li", "COMP_CWORD": "2", "_REPRISE_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", "from reprise.cli.main import reprise; reprise.main(prog_name='reprise')"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "plain,list\n"


def test_the_page_on_settings_is_generated_from_the_configuration() -> None:
    assert (ROOT / "docs/reference/configuration.md").read_text() == settings.page(), "run make docs-settings"
