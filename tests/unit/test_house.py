# SPDX-License-Identifier: Apache-2.0
"""What holds for the whole house: which part may import which, and what every file begins with."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# part: the other parts it may import
ARROWS = {
    "database": set(),
    "templates": set(),
    "matcher": {"database", "reprise"},
    "tuner": {"database", "matcher", "reprise", "templates"},
    "reprise": {"database", "matcher", "tuner"},
}
# where one part may import only some modules of another
ONLY = {("tuner", "matcher"): ("matcher.linkage", "matcher.submission", "matcher.metadata", "matcher.secrets")}
# what the base of all parts may not import at all
LEAVES = ("reprise/__init__.py", "reprise/config.py")
# what the daemon may not import, directly or through others, not even late: it takes a second
HEAVY = {"jellyfish", "matcher.linkage.reference", "pandas", "recordlinkage"}
# what no command may import before it is known to be needed: half a second each, or more
LATE = {"matplotlib", "optuna", "pandas", "recordlinkage", "scipy", "sklearn"}
BEGIN = (
    *("database.cli", "matcher.cli", "matcher.daemon", "reprise.doctor"),
    *("tuner.overview", "tuner.report.write", "tuner.session", "tuner.watching"),
)


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name for name in names if name.split(".")[0] in ARROWS}


@pytest.mark.parametrize("part", ARROWS)
def test_arrows_between_parts_point_one_way(part: str) -> None:
    for path in (ROOT / part).rglob("*.py"):
        for name in imported(path):
            other = name.split(".")[0]
            assert other == part or other in ARROWS[part], f"{path} imports {name}"
            allowed = ONLY.get((part, other))
            assert allowed is None or name.startswith(allowed), f"{path} imports {name}"


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_base_imports_nothing_of_ours(leaf: str) -> None:
    assert imported(ROOT / leaf) == set()


def module_file(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def imported_by(name: str) -> set[str]:
    """The names of what a module imports, anywhere in it, and the packages that it lies in."""
    names = {name.rpartition(".")[0]} - {""}
    path = module_file(name)
    for node in ast.walk(ast.parse(path.read_text())) if path else ():
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_the_daemon_imports_nothing_that_takes_long() -> None:
    known: set[str] = set()
    waiting = {"matcher.daemon"}
    while waiting:
        name = waiting.pop()
        known.add(name)
        found = imported_by(name)
        heavy = HEAVY & {*found, *(one.split(".")[0] for one in found)}
        assert not heavy, f"{name} imports {heavy}"
        waiting |= {one for one in found if module_file(one)} - known
    assert {"matcher.service", "matcher.linkage.engine"} <= known, "looks through what is imported"


def test_commands_begin_without_what_takes_long() -> None:
    """What only some methods, policies and reports need is imported by these."""
    code = f"import sys; import {', '.join(BEGIN)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = {name.split(".")[0] for name in done.stdout.split()}
    assert "numpy" in imported and not imported & LATE


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_every_source_file_states_its_licence() -> None:
    sources = [p for p in tracked_files() if p.suffix in {".py", ".c", ".h", ".sql", ".j2", ".yaml", ".toml"}]
    texts = {path: path.read_text() for path in sources}
    assert not [p for p, text in texts.items() if text and "SPDX-License-Identifier: Apache-2.0" not in text[:200]]


LATER_THAN_3_26 = re.compile(
    r"\biif\(|\bRETURNING\b|\bMATERIALIZED\b|->>|\bFILTER \(|\bNULLS (FIRST|LAST)\b|\bunixepoch\("
)
"""What SQLite of RHEL 8 does not know (https://sqlite.org/changes.html)."""


def test_no_sql_needs_a_newer_sqlite_than_rhel_8_has() -> None:
    found = [
        f"{path.name}: {match[0]}"
        for path in sorted((ROOT / "database").rglob("*"))
        if path.suffix in (".py", ".sql")
        for match in LATER_THAN_3_26.finditer(path.read_text())
    ]
    assert not found
