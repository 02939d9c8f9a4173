# SPDX-License-Identifier: Apache-2.0
"""Other names of commands: former ones, which help no longer lists, and second ones."""

from __future__ import annotations

import copy

import click


def former(command: click.Command, name: str) -> click.Command:
    """Return a command under a name that it had in the release before, hidden from help."""
    found = named(command, name)
    found.hidden = True
    return found


def named(command: click.Command, name: str) -> click.Command:
    """Return a command under another name."""
    found = copy.copy(command)
    found.name = name
    return found
