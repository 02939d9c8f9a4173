# SPDX-License-Identifier: Apache-2.0
"""How Slurm loads the plugin."""

from __future__ import annotations

import subprocess
from pathlib import Path

PLUGIN = Path(__file__).parents[2] / "spank/spank_reprise.so"


def test_it_stays_loaded_between_slurms_two_looks_at_it() -> None:
    told = subprocess.run(["readelf", "--dynamic", str(PLUGIN)], capture_output=True, text=True, check=True).stdout
    assert "NODELETE" in told
