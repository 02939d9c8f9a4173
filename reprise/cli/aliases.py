# SPDX-License-Identifier: Apache-2.0
"""Make commands available under other names: former names, which help does not list, and second names."""

from __future__ import annotations

import copy

import click


def former(command: click.Command, name: str) -> click.Command:
    """Return a copy of a command with the name that it had in an earlier release, hidden from help."""
    found = named(command, name)
    found.hidden = True
    return found


def named(command: click.Command, name: str) -> click.Command:
    """Return a copy of a command with another name."""
    found = copy.copy(command)
    found.name = name
    return found
