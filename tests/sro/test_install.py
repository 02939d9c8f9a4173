# SPDX-License-Identifier: Apache-2.0
"""Test `make install` and `make uninstall` of the library."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.sro.conftest import SRO


def test_make_installs_a_library_that_programs_can_load_and_uninstalls_it(programs: Path, tmp_path: Path) -> None:
    words = ["make", "-s", "-C", str(SRO), f"BUILD={programs}", f"PREFIX={tmp_path}"]
    subprocess.run([*words, "install"], check=True)
    library = tmp_path / "lib" / "libreprise_sro.so"
    environment = {"PATH": os.defpath, "LD_PRELOAD": str(library)}
    done = subprocess.run(["true"], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""  # ld.so would report a library that it cannot load
    subprocess.run([*words, "uninstall"], check=True)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
