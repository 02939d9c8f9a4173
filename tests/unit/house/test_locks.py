# SPDX-License-Identifier: Apache-2.0
"""Test that packages installed from an index are exactly the files that the lock files name by their hashes."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from bench.tuner import play
from tests.places import ROOT

NAMES = ("requirements.lock", "requirements-dev.lock", "bench/tuner/peers.lock", "requirements-docs.lock")
LOCKS = [ROOT / name for name in NAMES]
PIN = re.compile(r"([A-Za-z0-9][\w.-]*)==([^\s;\\]+)(?: ; [^\\]+)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(lock: Path) -> dict[str, str]:
    return {plain(name): version for name, version, _ in PIN.findall(lock.read_text())}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_line_of_a_lock_is_a_pin_with_hashes(lock: Path) -> None:
    rest = PIN.sub("", lock.read_text()).splitlines()
    assert [line for line in rest if not line.startswith("#")] == []
    assert len(pinned(lock)) > 10


def test_the_product_is_installed_from_a_lock_without_what_only_tests_need() -> None:
    product, dev = pinned(LOCKS[0]), pinned(LOCKS[1])
    assert product.keys() & dev.keys() == set()
    ranges = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["web"]
    needed = {plain(re.split(r"[<>=\[ ]", one)[0]) for one in ranges + PROJECT["build-system"]["requires"]}
    assert needed - product.keys() == set()
    assert {"pytest", "hypothesis", "mypy"} <= dev.keys()


def test_the_environment_is_the_locked_one() -> None:
    known = pinned(LOCKS[0]) | pinned(LOCKS[1])
    here = {plain(one.name): one.version for one in importlib.metadata.distributions()}
    assert {name: (known[name], here[name]) for name in known.keys() & here if known[name] != here[name]} == {}


def test_nothing_is_installed_from_an_index_without_its_hash() -> None:
    lines = re.sub(r"\\\n", " ", (ROOT / "Makefile").read_text()).splitlines()
    installing = [command for line in lines for command in re.findall(r"pip (?:install|\$\$?\()[^&;|]*", line)]
    assert len(installing) == 6
    assert [one for one in installing if not re.search(r"\$\(LOCKED\)|--no-deps --no-build|--no-index", one)] == []
    assert re.search(r"^LOCKED := .*--require-hashes", "\n".join(lines), re.MULTILINE)
    scripts = [path for path in sorted((ROOT / "packaging").rglob("*")) if path.is_file()]
    assert [path.name for path in scripts if re.search(r"pip3? install", path.read_text())] == []


@pytest.mark.slow
def test_a_file_whose_hash_differs_from_the_locks_is_refused(tmp_path: Path) -> None:
    version = pinned(LOCKS[0])["annotated-types"]
    wheel = tmp_path / f"annotated_types-{version}-py3-none-any.whl"
    about = f"annotated_types-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("annotated_types/__init__.py", "raise SystemExit('another one')\n")
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: annotated-types\nVersion: {version}\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")
    (found,) = [pin for pin in PIN.finditer(LOCKS[0].read_text()) if pin[1] == "annotated-types"]
    (tmp_path / "lock").write_text(found[0])
    words = [
        "install",
        "--require-hashes",
        "--no-index",
        "--find-links",
        str(tmp_path),
        "--target",
        f"{tmp_path}/there",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--isolated", *words, "--requirement", str(tmp_path / "lock")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "there").exists()


def test_stored_results_of_peers_outlast_new_hashes_in_their_lock(tmp_path: Path) -> None:
    lock = tmp_path / "peers.lock"
    text = LOCKS[2].read_text()
    lock.write_text(re.sub(r"sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", text))
    assert play.versions(lock) == play.versions(LOCKS[2]) and "numpy==" in play.versions(lock)
    lock.write_text(text.replace("numpy==2.", "numpy==3."))
    assert play.versions(lock) != play.versions(LOCKS[2])
