# SPDX-License-Identifier: Apache-2.0
"""Output of `reprise rules`: lines for people, and a JSON document with the same content for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from reprise.tuner.openmpi.algorithms import known_algorithms
from reprise.tuner.openmpi.rules import explaining, han_file
from reprise.tuner.openmpi.rules.checking import Finding, findings
from reprise.tuner.openmpi.rules.classic_form import DroppedError
from reprise.tuner.openmpi.rules.explaining import Call, choice_words, spoken
from reprise.tuner.openmpi.rules.releases import Family, Reading, agree, read
from reprise.tuner.openmpi.rules.rules_model import ANY_NODES, RANKS_MAX, SIZE_MAX, CommRule, Rules


@dataclass(frozen=True)
class Shown:
    """Output of one command: lines for people, and the document to print as JSON.

    `good`: the file has no error that prevents its use.
    """

    lines: Sequence[str]
    document: Mapping[str, Any]
    good: bool = True


def show(data: bytes, families: Sequence[Family], collective: str | None = None) -> Shown:
    """Return the rules of a file as each release reads them."""
    lines: list[str] = []
    documents = []
    for group in _grouped([read(data, family) for family in families]):
        first = group[0]
        names = [reading.family.name for reading in group]
        rules = {name: comms for name, comms in first.rules.items() if collective in (None, name)}
        lines += [f"{', '.join(names)}: {_summary(first)}", *_rule_lines(rules, first.family), ""]
        document: dict[str, Any] = {"releases": names, "form": first.form, "dropped": first.dropped}
        document["rules"] = {name: [_comm_document(comm) for comm in comms] for name, comms in rules.items()}
        documents.append(document)
    return Shown(lines[:-1], {"readings": documents})


def check(data: bytes, families: Sequence[Family], assumed: Mapping[str, str] = MappingProxyType({})) -> Shown:
    """Report whether each release reads a file or drops it, with all findings about the file.

    `assumed`: notes by family, each on a release that is only assumed to read files as that family does
    (`releases.assumption`).
    """
    readings = [read(data, family) for family in families]
    notes = [Finding("note", [name], words) for name, words in assumed.items()]
    found = [*findings(data, readings), *notes]
    width = max(len(reading.family.name) for reading in readings)
    lines = [f"{reading.family.name:{width}}  {_summary(reading)}" for reading in readings]
    if found:
        lines.append("")
    for one in found:
        everywhere = len(one.releases) == len(families)
        lines.append(f"{one.level}: {one.message}" + ("" if everywhere else f" [{', '.join(one.releases)}]"))
    document = {
        "bytes": len(data),
        "alike": agree(readings),
        "releases": [
            {
                "release": reading.family.name,
                "read": reading.dropped is None,
                "form": reading.form,
                "dropped": reading.dropped,
                "rules": sum(len(comm.rows) for comms in reading.rules.values() for comm in comms),
            }
            for reading in readings
        ],
        "findings": [asdict(one) for one in found],
    }
    return Shown(lines, document, not any(one.level == "error" for one in found))


def explain(data: bytes, families: Sequence[Family], call: Call) -> Shown:
    """Return the rule that decides a call in each release."""
    found = [explaining.explain(read(data, family), call) for family in families]
    document = {
        "call": {**asdict(call), "compared_bytes": call.compared},
        "releases": [one.as_json() for one in found],
    }
    return Shown(explaining.lines(call, found), document)


def show_han(data: bytes, families: Sequence[Family]) -> Shown:
    """Return the rules in a rules file for the component `han`, as each release reads them."""
    lines: list[str] = []
    documents = []
    for names, rules, dropped, series in _han_readings(data, families):
        lines.append(f"{', '.join(names)}: {dropped or 'read'}")
        document: list[dict[str, Any]] = []
        for (collective, level), entries in (rules or {}).items():
            lines.append(f"  {collective}, {level}")
            for entry in entries:
                rows = [f"from {row.size} bytes {_han_words(row, collective, series)}" for row in entry.rows]
                lines.append(f"    from {entry.ranks} ranks: {'; '.join(rows) or 'nothing'}")
            document.append({"collective": collective, "level": level, "entries": [asdict(entry) for entry in entries]})
        documents.append({"releases": names, "dropped": dropped, "rules": document})
    return Shown(lines, {"readings": documents})


def check_han(data: bytes, families: Sequence[Family], assumed: Mapping[str, str] = MappingProxyType({})) -> Shown:
    """Report whether the component `han` of each release reads a rules file or drops it; `assumed` as in `check`."""
    readings = list(_han_readings(data, families))
    lines = [f"{', '.join(names)}: {f'IGNORED: {dropped}' if dropped else 'read'}" for names, _, dropped, _ in readings]
    lines += [f"note: {words}" for words in assumed.values()]
    document = {
        "releases": [{"releases": names, "dropped": dropped} for names, _, dropped, _ in readings],
        "notes": list(assumed.values()),
    }
    return Shown(lines, document, not any(dropped for _, _, dropped, _ in readings))


def explain_han(data: bytes, families: Sequence[Family], call: Call) -> Shown:
    """Return the component that a rules file for `han` selects for a call, on each level where the call may occur."""
    lines = [f"{call.collective} of {call.size} bytes of each rank, among {call.ranks} ranks of a level"]
    documents = []
    for names, rules, dropped, series in _han_readings(data, families):
        lines += ["", f"{', '.join(names)}: {f'IGNORED: {dropped}' if dropped else 'read'}"]
        levels = {}
        for level in han_file.LEVELS if rules is not None else ():
            row = han_file.decide(rules or {}, call.collective, level, call.ranks, call.size)
            words = f"{row.where}: {_han_words(row, call.collective, series)}" if row else "MCA parameters decide"
            lines.append(f"    {level}: {words}")
            levels[level] = asdict(row) if row else None
        documents.append({"releases": names, "dropped": dropped, "levels": levels})
    return Shown(lines, {"call": asdict(call), "readings": documents})


def _han_readings(
    data: bytes, families: Sequence[Family]
) -> Iterator[tuple[list[str], han_file.HanRules | None, str | None, str]]:
    """Yield (releases, rules, reason why they drop the file, series).

    4.1 reads the file in one way, and all later releases in another, with the algorithms of their series. Series that
    read the file equally are yielded together, with the first one's name.
    """
    found: list[tuple[list[str], han_file.HanRules | None, str | None, str]] = []
    for series in dict.fromkeys(family.series for family in families):
        names = [family.name for family in families if family.series == series]
        rules, dropped = _han_reading(data, series)
        same = [one for one in found if one[1:3] == (rules, dropped) and (one[3] == "4.1") is (series == "4.1")]
        if same:
            same[0][0].extend(names)
        else:
            found.append((names, rules, dropped, series))
    yield from found


def _han_reading(data: bytes, series: str) -> tuple[han_file.HanRules | None, str | None]:
    try:
        return han_file.read(data, series != "4.1", known_algorithms("han", series)), None
    except DroppedError as error:
        return None, str(error)


def _han_words(row: han_file.HanRow, collective: str, series: str) -> str:
    algorithm = known_algorithms("han", series).get(collective, {}).get(row.algorithm)
    return f"{row.component} @{algorithm}" if row.algorithm else row.component


def _grouped(readings: Sequence[Reading]) -> list[list[Reading]]:
    groups: list[list[Reading]] = []
    for reading in readings:
        same = next((group for group in groups if _same(group[0], reading)), None)
        if same is None:
            groups.append([reading])
        else:
            same.append(reading)
    return groups


def _same(one: Reading, other: Reading) -> bool:
    return (one.dropped, one.form, one.rules) == (other.dropped, other.form, other.rules)


def _summary(reading: Reading) -> str:
    if reading.crashes:
        return f"CRASHES: {reading.dropped}"
    if reading.dropped:
        return f"IGNORED: {reading.dropped}"
    count = sum(len(comm.rows) for comms in reading.rules.values() for comm in comms)
    names = [name for name, comms in reading.rules.items() if comms]
    return f"read as {reading.form}: {count} row{'s' * (count != 1)} for {', '.join(names) or 'nothing'}"


def _rule_lines(rules: Rules, family: Family) -> Iterator[str]:
    for name, comms in rules.items():
        known = family.algorithms.get(name, {})
        yield f"  {name}"
        for comm in comms:
            yield f"    {_comm_words(comm)} ({comm.where})"
            for row in comm.rows:
                number = row.choice.algorithm
                words = choice_words(row.choice, known.get(number)) if number else "built-in rules"
                wrong = "" if number in known or not number else ", which does not exist"
                yield f"      {spoken((row.low, row.high), SIZE_MAX)} bytes: {words}{wrong} ({row.where})"


def _comm_words(comm: CommRule) -> str:
    words = f"{spoken(comm.ranks, RANKS_MAX)} ranks"
    if comm.nodes != ANY_NODES:
        words += f" on {spoken(comm.nodes, RANKS_MAX)} nodes"
    return words if comm.spread == "any" else f"{words}, {comm.spread}"


def _comm_document(comm: CommRule) -> dict[str, Any]:
    rows = [{"where": row.where, "compared_bytes": (row.low, row.high), **asdict(row.choice)} for row in comm.rows]
    return {"where": comm.where, "ranks": comm.ranks, "nodes": comm.nodes, "spread": comm.spread, "rows": rows}
