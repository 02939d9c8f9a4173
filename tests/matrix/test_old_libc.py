# SPDX-License-Identifier: Apache-2.0
"""Test that programs of older and newer Debian releases start with libraries that were built on this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.matrix.roots import APART
from tests.places import ROOT
from tests.unit.accelerators.test_old_libc import BUILT

pytestmark = pytest.mark.matrix


@pytest.mark.parametrize("name", BUILT)
def test_a_program_starts_with_its_own_libc_and_preloaded_libraries(root: Path, name: str) -> None:
    with TemporaryDirectory(dir=root / "var/tmp") as place:
        library = Path(shutil.copy(ROOT / name, place))
        seen = f"/{library.relative_to(root)}"
        words = ["env", f"LD_PRELOAD={seen}", "REPRISE_PROFILE=/tmp", "cat", "/proc/self/maps"]
        script = f"mount -t proc proc {root}/proc && exec chroot {root} {' '.join(words)}"
        done = subprocess.run([*APART, "sh", "-c", script], capture_output=True, text=True, check=True)
    assert seen in done.stdout, "the library is loaded"
    assert done.stderr == ""
