# SPDX-License-Identifier: Apache-2.0
"""Check that bench/README.md lists each measuring command with its needs, and quotes other pages' claims literally."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from tests.markdown import anchors
from tests.places import ROOT
from tests.unit.house.test_packages_debian import RULES, installed_by

PAGE = ROOT / "bench/README.md"
TEXT = PAGE.read_text()
TABLE = TEXT.partition("## Commands and claims")[2].partition("\n## ")[0]
ROWS = {
    cells[0].strip("`"): cells[1:]
    for row in TABLE.splitlines()
    if row.startswith("| `") and (cells := [cell.strip() for cell in row.strip("|").split("|")])
}
MEASURING = re.compile(r"bench-.*|landscapes.*|docs-evaluation|docs-submissions|soak")


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_every_command_that_measures_has_a_row() -> None:
    targets = {target for target in RULES if MEASURING.fullmatch(target)}
    assert len(targets) > 15
    assert {command.removeprefix("make ") for command in ROWS if command.startswith("make ")} == targets


@pytest.mark.parametrize("command", [command for command in ROWS if command.startswith("make ")])
def test_a_row_says_what_its_target_needs(command: str) -> None:
    target, needs = command.removeprefix("make "), ROWS[command][1]
    assert ("root" in needs.split(", ")) == ("root" in RULES[target].split())
    assert re.findall(r"`([a-z-]+)`", needs) == installed_by(target)


def test_claims_are_quoted_literally_from_their_pages_and_sections() -> None:
    quoted = [
        (claim, link)
        for cells in ROWS.values()
        for quotes, link in re.findall(r'((?:"[^"]+"[^"()]*)+)\(\[[\w-]+\]\(([^)]+)\)\)', cells[2])
        for claim in re.findall(r'"([^"]+)"', quotes)
    ]
    assert len(quoted) == TABLE.count('"') // 2 > 15
    for claim, link in quoted:
        page, _, section = link.partition("#")
        text = (PAGE.parent / page).read_text()
        assert squeezed(claim) in squeezed(text), link
        assert not section or section in anchors(text), link


def test_every_file_and_folder_of_the_benches_is_named() -> None:
    named = {name.split("/")[0] for name in re.findall(r"`bench/([^`]*)`", TEXT)}
    there = {
        path.name
        for path in (ROOT / "bench").iterdir()
        if path.suffix == ".py" or (path.is_dir() and any(one.is_file() for one in path.iterdir()))
    }
    assert there - {"__init__.py", "__pycache__"} - named == set()


def test_modules_that_are_named_can_be_run() -> None:
    modules = set(re.findall(r"python -m ([\w.]+)", TEXT))
    assert len(modules) > 3
    assert [module for module in modules if not find_spec(module)] == []


def test_file_names_below_bench_are_unique() -> None:
    names = [path.name for path in (ROOT / "bench").rglob("*.py") if not path.name.startswith("__")]
    assert sorted(names) == sorted(set(names))
