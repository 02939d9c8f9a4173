# SPDX-License-Identifier: Apache-2.0
"""Small shared objects, compiled by the tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

VERSION_22_05_8 = 22 << 16 | 5 << 8 | 8


def shared_object(path: Path, source: str, *flags: str) -> Path:
    """Compile a shared object that every user may read."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("needs a C compiler")
    argv = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-x", "none", *flags, "-o", str(path)]
    subprocess.run(argv, input=source, text=True, check=True)
    path.chmod(0o755)
    return path


def spank_plugin(
    path: Path,
    *flags: str,
    version: int = VERSION_22_05_8,
    kind: str = "spank",
    function: str = "slurm_spank_init",
    body: str = "return 0;",
    extra: str = "",
) -> Path:
    """Compile a SPANK plugin with one function."""
    source = (
        f'const char plugin_name[] = "x", plugin_type[] = "{kind}"; const unsigned int plugin_version = {version};'
        f"{extra}\nint {function}(void) {{ {body} }}\n"
    )
    return shared_object(path, source, *flags)
