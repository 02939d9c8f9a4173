# SPDX-License-Identifier: Apache-2.0
"""Writer of selection files, which contain MPICH's built-in table and rules for communicators of one size.

MPICH ends a program if the file is missing or has an unknown key or name, or if a call finds no algorithm in the file.
A rule is therefore inserted below conditions that the built-in table of the installed library uses, and every path
through the file ends in an algorithm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from reprise.tuner.errors import TunerError
from reprise.tuner.mpich.installed_library import MpichLibrary, Tree
from reprise.tuner.mpich.mpich_catalogue import CATALOGUE, full_name, serves

INT_MAX = 2**31 - 1  # MPICH reads a bound as a C int
PAGE = 4096  # smallest page size in bytes; larger page sizes are multiples of it
# Conditions of algorithms: the key that must hold, and the key of the opposite.
YES_NO = {
    "commutative": ("is_commutative=yes", "is_commutative=no"),
    "built-in": ("is_op_built_in=yes", "is_op_built_in=no"),
}


@dataclass(frozen=True)
class Rule:
    """Choice of an algorithm for calls whose size, as MPICH compares it, is at least `size` bytes, up to the next rule.

    `algorithm` is "" for the built-in choice.
    """

    size: int
    algorithm: str


Rules = Mapping[str, Sequence[Rule]]
"""Rules of each collective, in the order of their sizes. Sizes below the first rule have the built-in choice."""


def with_rules(library: MpichLibrary, rules: Rules, ranks: int) -> Tree:
    """Return the library's table with rules for communicators of exactly `ranks` ranks.

    Raise TunerError if a rule cannot be expressed, or names an algorithm that the library does not have.
    """
    for collective, given in rules.items():
        _check(library, collective, given, ranks)
    return inserted(library.table, rules, ranks)


def from_zero(rules: Sequence[Rule]) -> list[Rule]:
    """Return rules that begin at size 0, with the built-in choice for sizes below the first rule."""
    return [*([] if rules and rules[0].size == 0 else [Rule(0, "")]), *rules]


def inserted(table: Tree, rules: Rules, ranks: int) -> Tree:
    """Return a table with rules as `with_rules` does, unchecked.

    A rule may also name an algorithm in full, as files do (MPIR_Bcast_intra_binomial). Such a rule has no conditions.
    """
    found = dict(table)
    for collective, given in rules.items():
        key = f"collective={collective}"
        built_in = table[key]["comm_type=intra"]
        chosen = _by_size(collective, given, built_in)
        if CATALOGUE[collective].not_in_place:
            chosen = {"is_sendbuf_inplace=yes": built_in, "is_sendbuf_inplace=no": chosen}
        intra = {f"comm_size<{ranks}": built_in, f"comm_size<={ranks}": chosen, "comm_size=any": built_in}
        found[key] = {**table[key], "comm_type=intra": intra}
    return found


def text_of(table: Tree) -> str:
    """Return the text of a selection file.

    MPICH maps the file into memory and reads up to a zero byte, which follows the text unless the text ends with a
    page. Such a text gets one more newline, so that MPICH never reads beyond the file.
    """
    text = json.dumps(table, indent=1) + "\n"
    return text if len(text) % PAGE else text + "\n"


def _check(library: MpichLibrary, collective: str, rules: Sequence[Rule], ranks: int) -> None:
    if collective not in CATALOGUE or "comm_type=intra" not in library.table.get(f"collective={collective}", {}):
        raise TunerError(f"MPICH {library.version} has no choice for {collective}: leave this collective out")
    known = library.algorithms(collective)
    for rule in rules:
        if rule.algorithm and (rule.algorithm not in known or not serves(collective, rule.algorithm, ranks)):
            choose = ", ".join(name for name in known if serves(collective, name, ranks))
            raise TunerError(
                f"MPICH {library.version} has no algorithm {rule.algorithm!r} of {collective} for {ranks} ranks: "
                f"use one of {choose}"
            )
        if not 0 <= rule.size <= INT_MAX:
            raise TunerError(f"{collective}: MPICH cannot compare {rule.size} bytes: use sizes up to 2 GiB in total")
    if any(one.size >= other.size for one, other in pairwise(rules)):
        raise TunerError(f"{collective}: the rules' sizes are not in order")
    if len(rules) > 1 and not CATALOGUE[collective].key:
        raise TunerError(f"{collective}: MPICH compares no size of this collective: give one rule")


def _by_size(collective: str, rules: Sequence[Rule], built_in: Tree) -> Tree:
    """Return a JSON object that maps each rule's range of sizes to the rule's choice."""
    found: Tree = {}
    for step, following in pairwise([*from_zero(rules), None]):
        assert step is not None  # noqa: S101
        node = _guarded(collective, step.algorithm, built_in)
        if following is None and not found:
            return node
        key = CATALOGUE[collective].key
        found[f"{key}=any" if following is None else f"{key}<={following.size - 1}"] = node
    return found


def _guarded(collective: str, algorithm: str, built_in: Tree) -> Tree:
    """Return an object that chooses the algorithm where its conditions hold, and the built-in choice elsewhere."""
    if not algorithm:
        return built_in
    if algorithm.startswith("MPIR_"):
        return {f"algorithm={algorithm}": {}}
    node: Tree = {f"algorithm={full_name(collective, algorithm)}": {}}
    for condition in reversed(CATALOGUE[collective].algorithms[algorithm]):
        if condition == "long":  # MPICH takes the first key that holds, and `count=any` always holds
            node = {"count<pow2": built_in, "count=any": node}
        elif condition in YES_NO:
            yes, no = YES_NO[condition]
            node = {yes: node, no: built_in}
    return node
