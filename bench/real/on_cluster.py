# SPDX-License-Identifier: Apache-2.0
"""Modules of this benchmark that run on the cluster, and the settings that they print."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.real.catalogue import Program
from bench.real.comparing import Environment
from bench.real.running import USER, directory
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import SOURCE


def answer_of(cluster: VirtualCluster, module: str, *arguments: str) -> Any:
    """Run a module of `bench.real` on the cluster, and return the JSON that it prints."""
    argv = [f"{SOURCE}/.venv/bin/python", "-P", "-m", f"bench.real.{module}", *arguments]
    return json.loads(cluster.run(argv, user="reprise", env={"PYTHONPATH": f"{SOURCE}/build/package:{SOURCE}"}).stdout)


def placed(cluster: VirtualCluster, program: Program, place: str, setting: Mapping[str, Any]) -> Environment:
    """Write a setting's `files` where the user's jobs can read them, and return the setting's `environment`.

    `place` is the name of a new directory in the program's directory; it replaces `{directory}` in the variables.
    """
    whole = f"{directory(program)}/{place}"
    for name, text in setting["files"].items():
        cluster.write(f"{whole}/{name}", text, user=USER)
    return {name: value.replace("{directory}", whole) for name, value in setting["environment"].items()}
