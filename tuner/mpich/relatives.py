# SPDX-License-Identifier: Apache-2.0
"""Variables of MPICH's relatives (Intel MPI, Cray MPICH, MVAPICH) for rules of one collective.

The table relatives.toml has the variables, their releases and where they are documented. No value was shown to take
effect in these libraries, and no campaign uses the variables yet.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise

from reprise.tuner.errors import TunerError
from reprise.tuner.mpich.selection_file import INT_MAX, Rule


@dataclass(frozen=True)
class Relative:
    """A library of MPICH's family; see relatives.toml.

    `name` is the family's name in decisions. `variables` maps each variable to its algorithms. `numbered`: the
    variables take the algorithms' numbers, from 1; otherwise their names. `values` is "ranges" if a variable takes an
    algorithm for each range of message sizes, and "one" if it takes one algorithm for all sizes.
    """

    name: str
    releases: str
    source: str
    values: str
    numbered: bool
    tested: bool
    variables: Mapping[str, Sequence[str]]


RELATIVES: Mapping[str, Relative] = {
    key: Relative(**properties)
    for key, properties in tomllib.loads(
        resources.files("reprise.tuner.mpich").joinpath("relatives.toml").read_text("utf-8")
    ).items()
}


def value_of(relative: Relative, variable: str, rules: Sequence[Rule], ranks: int) -> str:
    """Return the value of a variable for rules of its collective, on communicators of `ranks` ranks.

    A range without an algorithm is left out, so that the library chooses. Raise TunerError if the variable, an
    algorithm or a distinction of sizes is unknown to the library.
    """
    known = relative.variables.get(variable, ())
    for rule in rules:
        if rule.algorithm and rule.algorithm not in known:
            raise TunerError(
                f"{relative.name} {relative.releases}: {variable} has no algorithm {rule.algorithm!r}: "
                f"use one of {', '.join(known) or 'another variable'}"
            )
    if relative.values == "one":
        if len(rules) != 1 or rules[0].size or not rules[0].algorithm:
            raise TunerError(f"{relative.name}: {variable} has one algorithm for all sizes: give one rule from size 0")
        return _word(relative, known, rules[0].algorithm)
    parts = [
        f"{_word(relative, known, rule.algorithm)}:{rule.size}-{end}@{ranks}-{ranks}"
        for rule, end in zip(rules, _ends(rules), strict=True)
        if rule.algorithm
    ]
    if not parts:
        raise TunerError(f"{relative.name}: {variable}: no rule has an algorithm: leave the variable out")
    return ";".join(parts)


def _word(relative: Relative, known: Sequence[str], algorithm: str) -> str:
    return str(known.index(algorithm) + 1) if relative.numbered else algorithm


def _ends(rules: Sequence[Rule]) -> list[int]:
    """Return the last size of each rule's range."""
    return [*(following.size - 1 for _, following in pairwise(rules)), INT_MAX]
