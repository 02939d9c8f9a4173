# SPDX-License-Identifier: Apache-2.0
"""This machine's Python on a cluster that runs another Debian release, so that `reprise` can run there.

The roots of the releases have no Python with the packages that Reprise needs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.cluster.machine import VirtualCluster
from tests.cluster.spec import PYTHONPATH, SOURCE

PLACE = "/opt/python"


def install_reprise(cluster: VirtualCluster) -> None:
    """Install Python and the command `reprise` on the cluster, with libraries that the cluster's system lacks."""
    stdlib, program = Path(sysconfig.get_path("stdlib")), Path(sys.executable).resolve()
    place, libraries = cluster.path(PLACE), cluster.path(f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}")
    (place / "bin").mkdir(parents=True)
    shutil.copy(program, place / "bin/python3")
    unneeded = shutil.ignore_patterns("__pycache__", "test", "dist-packages", "config-*", "idlelib", "tkinter")
    shutil.copytree(stdlib, place / "lib" / stdlib.name, ignore=unneeded)
    for library in _libraries([program, *(stdlib / "lib-dynload").glob("*.so")]):
        if not (libraries / library.name).exists():
            shutil.copy(library, libraries)
    packages = f"{SOURCE}/.venv/lib/{stdlib.name}/site-packages"
    command = f'#!/bin/sh\nPYTHONPATH={PYTHONPATH}:{packages} exec {PLACE}/bin/python3 -P -m reprise "$@"\n'
    cluster.write("/usr/local/bin/reprise", command, mode=0o755)


def _libraries(files: list[Path]) -> set[Path]:
    """Return the libraries that the files need."""
    said = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    return {Path(path) for path in re.findall(r"=> (/\S+)", said)}
