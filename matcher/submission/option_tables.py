# SPDX-License-Identifier: Apache-2.0
"""Tables of the options of sbatch, srun and salloc, over all releases of Slurm (slurm_options.toml)."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from importlib import resources
from itertools import takewhile
from typing import Any, NamedTuple


class Takes(IntEnum):
    """Whether an option takes no value, a value, or only an attached value (as in `-koff` and `--nice=5`)."""

    NOTHING = 0
    VALUE = 1
    ATTACHED = 2


class Option(NamedTuple):
    """Reported name of an option, which is the first of its synonyms, and whether the option takes a value."""

    name: str
    takes: Takes


_TAKES = {"nothing": Takes.NOTHING, "value": Takes.VALUE, "attached": Takes.ATTACHED}


@dataclass(frozen=True)
class OptionTable:
    """The options of one command.

    `by_release` maps the long names to options, for each release, the oldest first. `whole` are the long names that may
    not be abbreviated. `short` maps the letters to options.
    """

    by_release: tuple[Mapping[str, Option], ...]
    whole: Mapping[str, Option]
    short: Mapping[str, Option]
    _abbreviated: dict[str, Option | None] = field(default_factory=dict, compare=False, repr=False)
    """Results of `find` for abbreviations; there are some 2,000, and a hostile script may repeat one 8,000 times."""

    @cached_property
    def _exact(self) -> Mapping[str, Option]:
        """Options by their full long names; if releases differ, the newest release counts."""
        exact = dict(self.whole)
        for options in self.by_release:
            exact |= options
        return exact

    @cached_property
    def _names(self) -> list[str]:
        return sorted({name for options in self.by_release for name in options})

    def find(self, name: str) -> Option | None:
        """Return the long option with this name or abbreviation; None if it is unknown.

        An abbreviation has the meaning that it has in the releases that accept it. If these releases mean different
        options, the returned option has the name "", unless only some of the options take the next word as a value:
        then None is returned.
        """
        if exact := self._exact.get(name):
            return exact
        if name in self._abbreviated:
            return self._abbreviated[name]
        names = list(takewhile(lambda known: known.startswith(name), self._names[bisect_left(self._names, name) :]))
        if not names:
            return None
        self._abbreviated[name] = self._common(set(self._meanings(names)))
        return self._abbreviated[name]

    @staticmethod
    def _common(found: set[Option]) -> Option | None:
        """Return what different meanings have in common; None if only some of them take the next word as a value."""
        if len({takes is Takes.VALUE for _, takes in found}) != 1:
            return None
        meant = {option.name for option in found}
        return Option(meant.pop() if len(meant) == 1 else "", max(takes for _, takes in found))

    def _meanings(self, names: list[str]) -> Iterator[Option]:
        """Yield one option for each release in which all of these names that exist mean the same option."""
        for options in self.by_release:
            meant = {options[name] for name in names if name in options}
            if len(meant) == 1:
                yield meant.pop()


def _rows(table: Mapping[str, Any], command: str) -> Iterator[tuple[list[str], Option, range]]:
    """Yield the names of each option of a command, the option, and the indices of the releases that have it."""
    releases = table["releases"]
    for row in table["options"]:
        if command in row["commands"].split():
            names = row["names"].split()
            first = releases.index(row["since"]) if "since" in row else 0
            last = releases.index(row["until"]) if "until" in row else len(releases) - 1
            yield names, Option(names[0], _TAKES[row["takes"]]), range(first, last + 1)


def _table(table: Mapping[str, Any], command: str) -> OptionTable:
    plugins = {row["names"]: Option(row["names"], _TAKES[row["takes"]]) for row in table["plugins"]}
    abbreviated = {row["names"]: plugins[row["names"]] for row in table["plugins"] if row["abbreviated"] == "yes"}
    by_release: list[dict[str, Option]] = [dict(abbreviated) for _ in table["releases"]]
    short: dict[str, Option] = {}
    for names, option, releases in _rows(table, command):
        for name in names:
            if len(name) == 1:
                short[name] = option
            else:
                for release in releases:
                    by_release[release][name] = option
    return OptionTable(tuple(by_release), plugins, short)


_DATA = tomllib.loads(resources.files(__package__ or "").joinpath("slurm_options.toml").read_text("utf-8"))
RELEASES: tuple[str, ...] = tuple(_DATA["releases"])
"""Releases of Slurm whose options are known, the oldest first."""
SBATCH = _table(_DATA, "sbatch")
SRUN = _table(_DATA, "srun")
SALLOC = _table(_DATA, "salloc")
TABLES = {"sbatch": SBATCH, "srun": SRUN, "salloc": SALLOC}
