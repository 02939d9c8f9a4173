# SPDX-License-Identifier: Apache-2.0
"""Check rules for the whole source: one package, the permitted imports between folders, and each file's first lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import api
from importlinter.contracts.layers import LayersContract

from tests.places import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS: dict[str, str] = PYPROJECT["tool"]["setuptools"]["package-dir"]
# Modules that the daemon must not import, directly, indirectly, or within a function, because each takes a second to
# import.
HEAVY = {"jellyfish", "pandas", "recordlinkage", "reprise.matcher.linkage.reference_engine"}
# Modules that a command may import only when it needs them, because each takes a tenth of a second or more to import.
LATE = {"matplotlib", "optuna", "pandas", "prometheus_client", "psycopg", "recordlinkage", "scipy", "sklearn"}
BEGIN = (
    *("reprise.cli.main", "reprise.cli.db", "reprise.cli.match", "reprise.cli.tune", "reprise.doctor.diagnosis"),
    *("reprise.matcher.daemon.daemon", "reprise.tuner.report.campaign_overview", "reprise.tuner.report.report_files"),
    *("reprise.tuner.campaign.session", "reprise.tuner.report.following"),
)
# File names that every room (folder of the code) may use. These names are clear only together with the room's name.
OF_EACH = {"__init__", "__main__", "errors"}


def sources(part: str) -> Iterator[Path]:
    return (path for path in (ROOT / part).rglob("*.py") if "__pycache__" not in path.parts)


def packages() -> set[str]:
    """Return the dotted names of the package, its parts and its rooms: a name for each folder with an `__init__.py`."""
    found = set()
    for name, folder in FOLDERS.items():
        for path in (ROOT / folder).rglob("__init__.py"):
            rest = path.parent.relative_to(ROOT / folder).parts
            found.add(".".join((name, *rest)))
    return found


# --- one package


def test_every_room_is_installed() -> None:
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == packages()


@pytest.mark.parametrize("part", sorted(set(FOLDERS.values()) - {"reprise"}))
def test_a_part_is_importable_under_its_own_name_only(part: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {part}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ImportError: this is reprise.{part}: import it by that name"


def test_only_the_package_is_importable_once_installed(tmp_path: Path) -> None:
    """Outside the checkout, Python finds the package `reprise`, but no folder of the checkout, such as `web`."""
    names = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name.isidentifier())
    assert {"bench", "database", "matcher", "reprise", "tests", "tuner", "web"} <= set(names)
    code = """if True:
        import importlib.util, sys
        found = {name: importlib.util.find_spec(name) for name in sys.argv[1:]}
        print(*(name for name, spec in found.items() if spec and "site-packages" not in str(spec.origin)))
    """
    command = [sys.executable, "-I", "-c", code, *names]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["reprise"]


@pytest.mark.parametrize("command", [["--version"], ["db", "init"], ["tune", "--help"], ["config", "check"]])
def test_modules_of_other_names_on_the_path_change_nothing(command: list[str], tmp_path: Path) -> None:
    """Module systems set PYTHONPATH. Files there or in the current directory may have names such as `database`."""
    shadows = tmp_path / "site"
    shadows.mkdir()
    for name in ("database", "web", "tuner", "matcher", "templates", "numpy", "click", "sqlite3", "reprise"):
        (shadows / f"{name}.py").write_text(f"raise SystemExit('the wrong {name}')\n")
    config = tmp_path / "reprise.toml"
    config.write_text(f'[database]\npath = "{tmp_path}/reprise.db"\n')
    done = subprocess.run(
        [Path(sys.executable).with_name("reprise"), "--config", str(config), *command],
        cwd=shadows,
        env={**os.environ, "PYTHONPATH": str(shadows), "PYTHONSTARTUP": str(shadows / "numpy.py")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "head",
    ["#!/x/bin/python\n", "#!/bin/sh\n'''exec' \"/a b/bin/python\" \"$0\" \"$@\"\n' '''\n"],
    ids=["short path", "long path"],
)
def test_a_command_is_isolated_once_however_pip_starts_it(head: str, tmp_path: Path) -> None:
    command = tmp_path / "command"
    command.write_text(f"{head}main()\n")
    for _ in range(2):
        subprocess.run([ROOT / "tools/isolate", command], check=True)
    isolated = command.read_text()
    assert isolated.count(" -I") == 1 and isolated.replace(" -I", "") == f"{head}main()\n"
    assert "/python -I\n" in isolated or '/python" -I "$0"' in isolated


# --- rooms


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> grimp.ImportGraph:
    directory = linked(tmp_path_factory.mktemp("package"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(directory))
        patch.delitem(sys.modules, "reprise")  # the tests have imported `reprise` from another directory
        return grimp.build_graph("reprise", include_external_packages=True, cache_dir=None)


def linked(directory: Path) -> Path:
    subprocess.run([sys.executable, ROOT / "tools/package-links", str(directory)], check=True)
    return directory


LAYERS = [
    one for one in api.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"] if one["type"] == "layers"
]


def rooms(contract: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return each room of an import-linter contract, with the rooms that this room must not import."""
    found: list[tuple[str, list[str]]] = []
    above: list[str] = []
    for layer in contract["layers"]:
        these = [f"{contract['containers'][0]}.{room.strip()}" for room in re.split("[|:]", layer)]
        apart = "|" in layer
        found += [(room, above + [other for other in these if apart and other != room]) for room in these]
        above = above + these
    return found


FORBIDDEN = [(contract, low, high) for contract in LAYERS for low, over in rooms(contract) for high in over]


def kept(contract: dict[str, Any], graph: grimp.ImportGraph) -> bool:
    checked = LayersContract(
        name=contract["name"], session_options={"root_packages": ["reprise"]}, contract_options=contract
    )
    return checked.check(graph, verbose=False).kept


@pytest.mark.parametrize("contract", LAYERS, ids=lambda one: str(one["id"]))
def test_a_contract_fails_on_each_arrow_that_it_forbids(contract: dict[str, Any], graph: grimp.ImportGraph) -> None:
    assert kept(contract, graph)
    forbidden = [(low, high) for one, low, high in FORBIDDEN if one is contract]
    assert len(forbidden) >= 20
    for low, high in forbidden:
        planted = deepcopy(graph)
        planted.add_module(f"{low}.planted")
        planted.add_import(importer=f"{low}.planted", imported=high)
        assert not kept(contract, planted), f"the contract lets {low} import {high}"


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--no-cache",
        "--no-logo",
        str(ROOT / "pyproject.toml"),
    ]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


PLANTED = {
    "matcher/planted.py": ("import reprise.tuner.model.space", "not listed as layers"),  # a file outside all rooms
    "matcher/linkage/planted.py": ("import reprise.matcher.daemon.server", "linkage is not allowed to import"),
    "database/planted.py": ("def f():\n    from reprise.matcher import errors", "database is not allowed to import"),
    "web/planted.py": ("import reprise.cli.jobs", "web is not allowed to import"),
    "tuner/search/planted.py": ("import bench.match", "reprise is not allowed to import bench"),
    "planted/__init__.py": ("", "not listed as layers"),  # a part that no contract lists
}


QUICK = ("matcher/planted.py", "tuner/search/planted.py")  # only two cases, because each starts the linter
SLOW = [pytest.param(file, marks=pytest.mark.slow) for file in (None, *PLANTED) if file not in QUICK]


@pytest.mark.parametrize("file", [*QUICK, *SLOW])
def test_the_linter_finds_a_forbidden_import_planted_in_a_file(file: str | None, tmp_path: Path) -> None:
    links = linked(tmp_path / "links")
    house = tmp_path / "house"
    shutil.copytree(links, house, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.c"))
    if file is None:
        assert lint(house).returncode == 0, lint(house).stdout
        return
    (house / "reprise" / file).parent.mkdir(exist_ok=True)
    (house / "reprise" / file).write_text(f"{PLANTED[file][0]}\n")
    done = lint(house)
    assert done.returncode == 1 and PLANTED[file][1] in " ".join(done.stdout.split()), done.stdout


def test_a_files_name_tells_its_room() -> None:
    """No two files of the product have the same name, except those in OF_EACH and in the folder of commands."""
    names = Counter(
        path.stem for folder in FOLDERS.values() for path in sources(folder) if path.parent != ROOT / "reprise/cli"
    )
    assert {name: count for name, count in names.items() if count > 1 and name not in OF_EACH} == {}


def test_no_part_has_files_beside_its_rooms() -> None:
    for part in ("matcher", "tuner"):
        assert {path.stem for path in (ROOT / part).glob("*.py")} == {"__init__", "errors"}


def test_the_map_has_every_room() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    named = set(re.findall(r"^\| `([a-z_/]+)/` \|", page, flags=re.MULTILINE))
    assert named == {
        name.removeprefix("reprise.").replace(".", "/") if name in FOLDERS else folder_of(name) for name in packages()
    } - {"database/migrations"}


def test_the_map_names_only_existing_files() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    there = {str(path.relative_to(ROOT)) for path in tracked_files()}
    named = set(re.findall(r"`([\w/-]+\.(?:py|c|toml))`", page))
    assert len(named) > 40
    assert {name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in there)} == set()


def folder_of(package: str) -> str:
    top, *rest = package.removeprefix("reprise.").split(".")
    return "/".join((FOLDERS[f"reprise.{top}"], *rest)) if f"reprise.{top}" in FOLDERS else f"reprise/{top}"


# --- what is imported when


def test_the_daemon_imports_no_slow_module(graph: grimp.ImportGraph) -> None:
    """Imports within functions count, too."""
    needed = graph.find_upstream_modules("reprise.matcher.daemon.daemon")
    assert {"reprise.matcher.daemon.service", "reprise.matcher.linkage.engine", "numpy"} <= needed
    assert not needed & HEAVY


def test_commands_start_without_importing_slow_modules() -> None:
    """Slow modules are imported only by the methods, policies and reports that need them."""
    code = f"import sys; import {', '.join(BEGIN)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = {name.split(".")[0] for name in done.stdout.split()}
    assert "numpy" in imported and not imported & LATE


# --- every file
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
"""SQL that RHEL 8's SQLite, 3.26, does not support (https://sqlite.org/changes.html)."""


def test_no_sql_needs_a_newer_sqlite_than_rhel_8_has() -> None:
    found = [
        f"{path.name}: {match[0]}"
        for path in sorted((ROOT / "database").rglob("*"))
        if path.suffix in (".py", ".sql") and path.stem != "postgresql"
        for match in LATER_THAN_3_26.finditer(path.read_text())
    ]
    assert not found
