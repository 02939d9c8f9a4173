# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts where, and what its TaskProlog gives to tasks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.sro.conftest import SRO

GIVEN = {"REPRISE_DECISION": "d-1", "SRO_DISABLE": "0", "SRO_PREFETCH_SIZE": "1048576"}


@pytest.fixture(scope="module")
def installed(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("installed")
    words = ["make", "-s", "-C", str(SRO), f"BUILD={programs}", f"PREFIX={place}", "install"]
    subprocess.run(words, check=True, capture_output=True)
    return place


def printed(installed: Path, environment: dict[str, str]) -> str:
    prolog = installed / "share" / "reprise" / "sro_task_prolog"
    done = subprocess.run([prolog], env={"PATH": os.defpath, **environment}, capture_output=True, text=True, check=True)
    return done.stdout  # ld.so complains of libraries that are not there


def test_a_task_with_settings_gets_the_library_behind_those_that_it_has(installed: Path) -> None:
    library = installed / "lib" / "libreprise_sro.so"
    assert printed(installed, GIVEN) == f"export LD_PRELOAD={library}\n"
    others = {"LD_PRELOAD": "/a/one.so:/a/two.so"}
    assert printed(installed, GIVEN | others) == f"export LD_PRELOAD=/a/one.so:/a/two.so:{library}\n"


@pytest.mark.parametrize("absent", ["REPRISE_DECISION", "SRO_DISABLE"])
def test_other_tasks_get_nothing(installed: Path, absent: str) -> None:
    assert printed(installed, {name: value for name, value in GIVEN.items() if name != absent}) == ""
    assert printed(installed, GIVEN | {"SRO_DISABLE": "1"}) == ""


def test_a_task_that_has_it_gets_it_once(installed: Path) -> None:
    library = str(installed / "lib" / "libreprise_sro.so")
    assert printed(installed, GIVEN | {"LD_PRELOAD": f"/a.so:{library}"}) == ""


def test_uninstalling_leaves_nothing_and_tasks_get_nothing(programs: Path, tmp_path: Path) -> None:
    words = ["make", "-s", "-C", str(SRO), f"BUILD={programs}", f"PREFIX={tmp_path}"]
    subprocess.run([*words, "install"], check=True)
    (tmp_path / "lib" / "libreprise_sro.so").rename(tmp_path / "kept")
    assert printed(tmp_path, GIVEN) == ""
    (tmp_path / "kept").rename(tmp_path / "lib" / "libreprise_sro.so")
    subprocess.run([*words, "uninstall"], check=True)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
