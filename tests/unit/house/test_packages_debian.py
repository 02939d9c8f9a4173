# SPDX-License-Identifier: Apache-2.0
"""Test that each make target installs the groups of Debian packages it needs, and that `tools/deps` reads groups."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.debian import LIST, groups, included, packages
from tests.places import ROOT

TEXT = LIST.read_text()
RULES = dict(re.findall(r"^([a-z][a-z-]*):(?!=) *([^#\n]*)", (ROOT / "Makefile").read_text(), re.MULTILINE))
"""Each target of the Makefile, with its prerequisites."""
NOT_FOR_TRYING = {"chromium", "mariadb-server-core", "zsh", "fish", "rpm", "debhelper", "clang-format", "debootstrap"}


def installed_by(target: str) -> list[str]:
    """Return the groups that a target and its prerequisites name, without the groups that those groups include."""
    if target == "deps":
        return [name for name in groups(TEXT) if not name.startswith("bench-")]
    found = []
    for word in RULES[target].split():
        if word.startswith("deps-"):
            found.append(word.removeprefix("deps-"))
        elif word in RULES:
            found += installed_by(word)
    return found


def strays(text: str, installing: dict[str, list[str]]) -> list[str]:
    """Return each benchmark group that a target other than a benchmark installs, directly or through another group."""
    return [
        f"{target}: {group}"
        for target, names in installing.items()
        if not target.startswith("bench-")
        for group in included(text, names)
        if group.startswith("bench-")
    ]


def test_each_package_occurs_once() -> None:
    counted = Counter(package for group in groups(TEXT).values() for package in group.packages)
    assert [package for package, count in counted.items() if count > 1] == []
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", package) for package in counted)


def test_every_group_that_a_target_installs_exists_and_every_group_is_used() -> None:
    named = {name for target in RULES if target != "deps" for name in installed_by(target)}
    assert {"cluster", "check", "test", "matrix"} <= named
    assert set(included(TEXT, named)) == set(groups(TEXT))


@pytest.mark.parametrize("target", ["demo", "cluster"])
def test_the_demo_installs_nothing_that_only_tests_and_packages_need(target: str) -> None:
    assert installed_by(target) == ["cluster"]
    found = set(packages(TEXT, ["cluster"]))
    assert {"gcc", "libopenmpi-dev", "python3-venv", "slurmd", "slurmctld", "munge", "iproute2"} <= found
    assert set(packages(TEXT, groups(TEXT))) >= NOT_FOR_TRYING
    assert not found & NOT_FOR_TRYING


def test_the_group_test_has_all_packages_without_which_tests_are_skipped() -> None:
    parts = {group for part in ("lint", "check", "test-slow", "test-cluster") for group in installed_by(part)}
    assert parts <= set(included(TEXT, ["test"]))
    assert {"chromium", "debhelper", "valgrind", "zsh", "fish", "git"} <= set(packages(TEXT, ["test"]))


def test_packages_for_a_benchmark_are_installed_for_nothing_else() -> None:
    assert strays(TEXT, {target: installed_by(target) for target in RULES}) == []


def test_a_benchmarks_group_in_the_demo_is_found() -> None:
    text = "[demo]\n@bench-apps\n[bench-apps]\nlammps\n"
    assert strays(text, {"demo": ["demo"], "bench-apps": ["bench-apps"]}) == ["demo: bench-apps"]


def test_a_group_has_its_packages_and_those_of_included_groups() -> None:
    text = "# Both\n[a]\n@b\ngcc  # of GNU\n\n[b]\nmake\n[c]\nclang\n"
    assert packages(text, ["a"]) == ["make", "gcc"]
    assert packages(text, ["a", "b"]) == ["make", "gcc"]
    with pytest.raises(ValueError, match=r"\[c\] occurs twice"):
        groups(f"{text}[c]\n")


def deps(*words: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "tools/deps", *words], capture_output=True, text=True, check=False)


def test_tools_deps_reads_the_groups_as_the_tests_do() -> None:
    assert deps("--list", *groups(TEXT)).stdout.split() == packages(TEXT, groups(TEXT))
    assert deps("--list", "cluster").stdout.split() == packages(TEXT, ["cluster"])


def test_make_deps_installs_every_group_but_those_for_benchmarks_alone() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    asked = subprocess.run(["make", "-n", "deps"], cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in asked.splitlines()] == installed_by("deps")


def test_a_missing_group_is_named() -> None:
    done = deps("--list", "nodes", "misspelt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "deps: etc/packages.debian has no group [misspelt]\n"
