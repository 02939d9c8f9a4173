# SPDX-License-Identifier: Apache-2.0
"""Measure how much time a program loses with its proxy's best setting, compared with the program's own best setting.

In a campaign, most settings run once on the program, and the difference between two single runs is mostly noise.
Therefore, the program runs again in rounds, with both settings in each round.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from bench.real.catalogue import Program
from bench.real.comparing import gains
from bench.real.on_cluster import answer_of, placed
from bench.real.running import OFF, run_program
from tests.cluster.machine import VirtualCluster

Loss = tuple[float, float, float]
"""Additional run time with the proxy's best setting (0.03: 3 %), with its 95 % bounds."""


def proxy_loss(
    cluster: VirtualCluster, program: Program, campaign: int, proxy: Mapping[str, Any] | None, pairs: int
) -> Loss | None:
    """Return the loss, 0 if both settings are the same, and None if there is no proxy to compare with.

    `proxy` is the report of `reprise tune application` on the proxy of this campaign.
    """
    if not proxy or proxy.get("own") is None:
        return None
    if proxy["best"] == proxy["own"]:
        return 0.0, 0.0, 0.0
    own, best = (
        placed(cluster, program, f"proxy/{number}", one)
        for number, one in enumerate(answer_of(cluster, "trial_points", str(campaign), proxy["own"], proxy["best"]))
    )
    order = random.Random(pairs)  # noqa: S311 - not used for security
    # In `gains`, the default is the empty setting; here, the program's own best setting takes its place.
    found = gains(lambda given: run_program(cluster, program, given or own, OFF), {"best": best}, pairs, order)["best"]
    return -found.gain, -found.high, -found.low
