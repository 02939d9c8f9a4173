# SPDX-License-Identifier: Apache-2.0
"""Test that renamed commands keep their former names for a release, without a line in the help text."""

from __future__ import annotations

import click
import pytest

from reprise.cli.main import reprise


def command(path: str) -> click.Command:
    found: click.Command = reprise
    for word in path.split():
        assert isinstance(found, click.Group)
        below = found.get_command(click.Context(found), word)
        assert below, path
        found = below
    return found


@pytest.mark.parametrize(
    ("former", "name"),
    [("jobs import", "jobs replay"), ("match top", "match nearest"), ("db records", "records")],
)
def test_a_former_name_runs_the_renamed_command_and_is_hidden(former: str, name: str) -> None:
    old, new = command(former), command(name)
    assert old.hidden and not new.hidden
    assert old.callback is new.callback and old.params == new.params
    group = command(former.split()[0])
    listed = group.get_help(click.Context(group)).split("Commands:")[1]
    assert f"  {former.split()[1]} " not in listed


@pytest.mark.parametrize(("one", "other"), [("enable", "release"), ("disable", "retire")])
def test_records_are_enabled_and_disabled_under_both_names(one: str, other: str) -> None:
    assert command(f"records {one}").callback is command(f"records {other}").callback
    assert not command(f"records {one}").hidden and not command(f"records {other}").hidden
