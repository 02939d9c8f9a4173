# SPDX-License-Identifier: Apache-2.0
"""What packages run and hold, looked at without building them; `tests/packages` builds and installs them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.unit.test_docs import ROOT

PACKAGING = ROOT / "packaging"
SPEC = (PACKAGING / "reprise.spec").read_text()
OF_RPM = SPEC.split("\n%preun plugin\n")[1].split("\n%")[0]
OF_DEBIAN = (PACKAGING / "debian/reprise-plugin.prerm").read_text()
LINE = "optional spank_reprise.so endpoint=unix:/run/reprise/matcher.sock\n"


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    (tmp_path / "plugstack.conf.d").mkdir()
    return tmp_path


def removed(script: str, slurm: Path, argument: str) -> str:
    """What the script says when the package goes, with this directory for /etc/slurm; it never refuses."""
    command = ["sh", "-c", script.replace("/etc/slurm/", f"{slurm}/"), "sh", argument]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr


both = pytest.mark.parametrize(
    ("script", "last", "upgrade"), [(OF_DEBIAN, "remove", "upgrade"), (OF_RPM, "0", "1")], ids=["deb", "rpm"]
)


@both
@pytest.mark.parametrize("name", ["plugstack.conf", "plugstack.conf.d/reprise.conf"])
def test_a_plugin_that_goes_names_the_file_that_still_loads_it(
    script: str, last: str, upgrade: str, name: str, slurm: Path
) -> None:
    (slurm / name).write_text(f"# ours\n{LINE}")
    (said,) = removed(script, slurm, last).splitlines()
    assert said.startswith(f"reprise-plugin: {slurm / name} names spank_reprise.so: take that line out")
    assert (slurm / name).read_text() == f"# ours\n{LINE}", "the file is the admin's"
    assert removed(script, slurm, upgrade) == ""


@both
def test_a_plugin_that_nothing_loads_goes_without_a_word(script: str, last: str, upgrade: str, slurm: Path) -> None:
    (slurm / "plugstack.conf").write_text("include plugstack.conf.d/*\n")
    assert removed(script, slurm, last) == ""
    (slurm / "plugstack.conf.d/reprise.conf").write_text(f"#{LINE}")
    (slurm / "plugstack.conf.d/other.conf").write_text("optional spank_other.so\n")
    assert removed(script, slurm, last) == ""


def test_both_packages_say_the_same() -> None:
    (debian,), (rpm,) = (re.findall(r"^ +for file in .*?done$", text, re.M | re.S) for text in (OF_DEBIAN, OF_RPM))
    assert debian == rpm
