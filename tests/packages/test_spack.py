# SPDX-License-Identifier: Apache-2.0
"""Run the installation of the Spack recipe, with this machine's Slurm, Open MPI and Python and without Spack."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from reprise import __version__
from tests import spack
from tests.packages.systems import TEST_TIMEOUT_S
from tests.places import ROOT

pytestmark = [pytest.mark.packages, pytest.mark.timeout(TEST_TIMEOUT_S)]


def test_the_recipe_installs_everything_below_its_prefix(place: Path) -> None:
    tree, prefix = place / "spack-tree", place / "spack"
    tree.mkdir()
    files = "git ls-files -z | tar --null --files-from=- -c | tar -x -C"
    subprocess.run(["sh", "-c", f'{files} "$1"', "sh", str(tree)], cwd=ROOT, check=True)
    spack.installed(tree, prefix, "/usr/bin/mpicc", "/usr/bin/python3", "/usr/include", "+command", "+tools")
    (line,) = re.findall(r"^optional (\S+)(.*)$", (prefix / "share/reprise/plugstack.conf").read_text(), re.MULTILINE)
    assert line[0] == f"{prefix}/lib/slurm/spank_reprise.so" and Path(line[0]).is_file()
    assert f" preload_directory={prefix}/lib" in line[1] and (prefix / "lib/libreprise_sro.so").is_file()
    assert f" witness={prefix}/libexec/reprise/reprise-witness.so" in line[1]
    said = subprocess.run([prefix / "bin/reprise", "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"reprise, version {__version__}\n"
    settings = (prefix / "etc/reprise/reprise.toml").read_text()
    units = (prefix / "lib/systemd/system/reprise-matcher.service").read_text()
    assert "/usr/local" not in settings + units and f"ExecStart={prefix}/bin/reprise serve" in units
