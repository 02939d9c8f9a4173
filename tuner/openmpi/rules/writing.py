# SPDX-License-Identifier: Apache-2.0
"""Writing of rules files in each form. The text of every file is read back, as a check, before it is returned.

The classic form cannot express "no rule for these communicators": releases up to 5.0 would use the entry of the next
smaller communicators, or the first entry if no entry is for smaller ones. So entries that leave everything to the
built-in rules are written below, between and above the other entries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from reprise.templates import render
from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.algorithms import Algorithms
from reprise.tuner.openmpi.catalogue import NAMES
from reprise.tuner.openmpi.rules.releases import FAMILIES, NODE_LEVEL, Family, read
from reprise.tuner.openmpi.rules.rule_steps import NO_RANKS, NO_SIZES, RankSteps, SizeSteps, by_nodes, by_ranks
from reprise.tuner.openmpi.rules.rules_model import BUILT_IN, RANKS_MAX, SIZE_MAX, Choice, Rules, differences


class Form(Enum):
    """Forms of rules files."""

    CLASSIC = "classic"  # for Open MPI 4.1 and 5.0; in 6, the entries would apply to other communicators
    REQUESTS = "classic, with numbers of requests"  # for releases of 4.1 from 4.1.8 on, and of 5.0 from 5.0.7 on
    PORTABLE = "classic, with the same meaning in all releases"
    JSON = "JSON"  # for Open MPI 6
    NODES = "with a level of nodes"  # for builds of Bull and Eviden

    @property
    def families(self) -> Sequence[Family]:
        """Families of releases that interpret the form as intended."""
        return _READERS[self]


_READERS: Mapping[Form, Sequence[Family]] = {
    Form.CLASSIC: [family for family in FAMILIES if not family.dialect.shifted],
    Form.REQUESTS: [family for family in FAMILIES if family.dialect.header and not family.dialect.shifted],
    Form.PORTABLE: FAMILIES,
    Form.JSON: [family for family in FAMILIES if family.json],
    Form.NODES: [NODE_LEVEL],
}


def form_for(families: Sequence[Family]) -> Form:
    """Return the form for a file that jobs with any of these releases may get.

    JSON is never chosen: a file in JSON cannot be proved to be in effect (`rules_proof`), and 6, the only release that
    reads JSON, also reads the portable form. Raise TunerError if no form has the same meaning for all of the releases.
    """
    for form in (Form.CLASSIC, Form.PORTABLE, Form.NODES):
        if all(family in form.families for family in families):
            return form
    raise TunerError(
        "no form of a rules file has the same meaning in stock releases and in builds with a level of nodes"
    )


@dataclass(frozen=True)
class _Entry:
    key: int
    rows: Sequence[Mapping[str, Any]]


def write(rules: Rules, form: Form, provenance: Sequence[str] = (), algorithms: Algorithms | None = None) -> str:
    """Return the text of a file with these rules.

    The lines of `provenance` become comments. `algorithms` has the names of algorithms for the comments on rows. Most
    forms cannot express rules for only some numbers of nodes: first select the rules for the job's number of nodes
    (`rules_compiler.for_nodes`). Raise TunerError if the form cannot express the rules.
    """
    comments = [" ".join(line.split()) for line in provenance]
    text = _json(rules, comments) if form is Form.JSON else _numbers(rules, form, comments, algorithms or {})
    for family in {(family.dialect, family.json): family for family in form.families}.values():
        reading = read(text.encode(), family)
        if reading.dropped or next(differences(rules, reading.rules), None):
            raise AssertionError(
                f"reading a file that was written as {form.value} does not give the same rules in {family.name}"
            )
    return text


def _numbers(rules: Rules, form: Form, comments: Sequence[str], algorithms: Algorithms) -> str:
    collectives = []
    for number, name in enumerate(NAMES):
        comms = rules.get(name, ())
        names = algorithms.get(name, {})
        if form is Form.NODES:
            nodes = [
                (key, [_Entry(ranks, _rows(sizes, names, form)) for ranks, sizes in _without_first(steps, NO_SIZES)])
                for key, steps in _without_first(by_nodes(comms), NO_RANKS)
            ]
            if nodes:
                collectives.append({"id": number, "name": name, "nodes": nodes})
            continue
        if any(comm.nodes != (0, RANKS_MAX) for comm in comms):
            raise TunerError(f"{name}: rules by nodes cannot be written as {form.value}: choose a number of nodes")
        steps = by_ranks(comms, 1)
        if steps != NO_RANKS:
            entries = [_Entry(ranks, _rows(sizes, names, form)) for ranks, sizes in _entries(steps, form)]
            collectives.append({"id": number, "name": name, "nodes": [(None, entries)]})
    version = 2 if form is Form.REQUESTS else None
    return render("rules.j2", provenance=comments, collectives=collectives, version=version)


def _without_first(steps: Sequence[tuple[int, Any]], empty: object) -> Sequence[tuple[int, Any]]:
    """Return the steps, without the first one if it leaves everything to the built-in rules.

    That step is unnecessary, since the built-in rules decide if no entry matches.
    """
    return steps[1:] if steps and steps[0][1] == empty else steps


def _entries(steps: RankSteps, form: Form) -> list[tuple[int, SizeSteps]]:
    """Return the entries as (communicator size, steps of message sizes); communicator sizes are at least 1.

    In the portable form, each key except the first occurs twice: first with the rules for smaller communicators, then
    with the rules for communicators of at least the key's size. Releases up to 5.0 use the last entry whose key does
    not exceed the communicator's size. In 6, an entry applies to sizes from the previous entry's key up to one less
    than its own key.
    """
    found: list[tuple[int, SizeSteps]] = []
    for number, (ranks, sizes) in enumerate(steps):
        if form is Form.PORTABLE and number:
            found.append((ranks, steps[number - 1][1]))
        found.append((max(ranks, 1), sizes))
    return found


def _rows(sizes: SizeSteps, names: Mapping[int, str], form: Form) -> list[Mapping[str, object]]:
    rows: list[Mapping[str, object]] = []
    for size, choice in sizes:
        if choice.requests and form is not Form.REQUESTS:
            raise TunerError(f"a number of requests cannot be written as {form.value}")
        numbers = [size, choice.algorithm, choice.fanout, choice.segment]
        if form is Form.REQUESTS:
            numbers.append(choice.requests)
        name = "built-in rules" if choice == BUILT_IN else names.get(choice.algorithm, f"algorithm {choice.algorithm}")
        rows.append({"numbers": numbers, "name": name})
    return rows


def _json(rules: Rules, comments: Sequence[str]) -> str:
    collectives: dict[str, list[dict[str, object]]] = {}
    for name, comms in rules.items():
        for comm in comms:
            if comm.nodes != (0, RANKS_MAX):
                raise TunerError(f"{name}: rules by nodes cannot be written as JSON: choose a number of nodes")
            entry: dict[str, object] = {"comm_size_min": comm.ranks[0]}
            if comm.ranks[1] != RANKS_MAX:
                entry["comm_size_max"] = comm.ranks[1]
            if comm.spread != "any":
                entry["comm_rank_distribution"] = comm.spread
            entry["rules"] = [_json_rule(row.low, row.high, row.choice) for row in comm.rows]
            collectives.setdefault(name, []).append(entry)
    document = {"rule_file_version": 3, "module": "tuned", "provenance": list(comments), "collectives": collectives}
    return json.dumps(document, indent=1) + "\n"


def _json_rule(low: int, high: int, choice: Choice) -> dict[str, int]:
    rule = {"msg_size_min": low} if high == SIZE_MAX else {"msg_size_min": low, "msg_size_max": high}
    numbers = {"faninout": choice.fanout, "seg_size": choice.segment, "reqs": choice.requests}
    return {**rule, "alg": choice.algorithm, **{key: value for key, value in numbers.items() if value}}
