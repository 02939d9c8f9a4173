# SPDX-License-Identifier: Apache-2.0
"""Check that docs/reference/commands.md lists every exit status and every command, and which commands have `--json`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from reprise.cli.foreground import INTERRUPTED_STATUS
from reprise.cli.main import reprise
from reprise.config import ConfigError
from reprise.database.errors import DatabaseError
from reprise.matcher.errors import MatcherError
from reprise.tuner.errors import TunerError
from reprise.tuner.report.following import EXIT_STATUS
from tests.places import ROOT

PAGE = (ROOT / "docs/reference/commands.md").read_text()
ALWAYS = {"config show", "match calibrate", "db export"}
RULES_NOT_USED = 3


def commands(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for word in command.list_commands(context):
        child = command.get_command(context, word)
        assert child
        if child.hidden:  # a former name of a command
            continue
        yield from commands(child, f"{name} {word}".strip())


def statuses(error: type[Exception]) -> Iterator[int]:
    yield getattr(error, "exit_status", 1)
    for child in error.__subclasses__():
        yield from statuses(child)


def section(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


def test_every_command_is_on_the_page_with_its_output_for_programs() -> None:
    said = dict(re.findall(r"^\| `([\w ]+)` \| (\w*) ?\|", section("Commands"), re.MULTILINE))
    real = {
        name: "always" if name in ALWAYS else "yes" if any("--json" in one.opts for one in command.params) else ""
        for name, command in commands(reprise)
    }
    assert said == real


def test_every_exit_status_is_on_the_page() -> None:
    said = {int(number) for number in re.findall(r"^\| (\d+) \|", section("Exit statuses"), re.MULTILINE)}
    errors = (DatabaseError, MatcherError, TunerError, ConfigError)
    real = {status for error in errors for status in statuses(error)}
    assert said == {0, 1, 2, RULES_NOT_USED, INTERRUPTED_STATUS} | real | set(EXIT_STATUS.values())
    used = {int(number) for number in re.findall(r"\b(\d+)(?=[:,]| \|)", section("Commands"))}
    assert used <= said


def test_manual_pages_name_every_exit_status() -> None:
    from reprise.cli.manual import STATUSES

    assert {int(number) for number in re.findall(r"\b\d+\b", STATUSES)} == {
        int(number) for number in re.findall(r"^\| (\d+) \|", section("Exit statuses"), re.MULTILINE)
    }
