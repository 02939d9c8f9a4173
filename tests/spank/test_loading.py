# SPDX-License-Identifier: Apache-2.0
"""Test that the plugin stays loaded although Slurm opens it twice."""

from __future__ import annotations

import subprocess
from pathlib import Path

PLUGIN = Path(__file__).parents[2] / "spank/spank_reprise.so"


def test_the_plugin_stays_loaded_although_slurm_opens_it_twice() -> None:
    told = subprocess.run(["readelf", "--dynamic", str(PLUGIN)], capture_output=True, text=True, check=True).stdout
    assert "NODELETE" in told
