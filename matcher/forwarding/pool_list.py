# SPDX-License-Identifier: Apache-2.0
"""List of the pool's forwarders, with their states and jobs, for commands, web pages and programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from reprise.config import Forwarding
from reprise.database.entities import ForwarderShare, ForwarderState

ARBITER = {
    True: "the arbiter runs",
    False: "the arbiter does not run: jobs keep the forwarders that they have",
    None: "whether the arbiter runs is unknown to this user",
}
"""Texts about the arbiter, by the result of `map_directory.is_held`."""


def document(
    settings: Forwarding,
    arbiter_runs: bool | None,
    states: Sequence[ForwarderState],
    shares: Sequence[ForwarderShare],
) -> dict[str, Any]:
    """Return the document that `reprise forwarders list --json` prints, without its version.

    `states` and `shares` are the present ones. `works` of a forwarder is None if no arbiter has checked it yet.
    """
    state_of = {state.address: state for state in states}
    jobs_of: dict[str, list[int]] = defaultdict(list)
    for share in shares:
        for address in share.forwarders:
            jobs_of[address].append(share.job_id)
    return {
        "arbiter_runs": arbiter_runs,
        "policy": settings.policy,
        "forwarders": [_forwarder(address, state_of.get(address), jobs_of[address]) for address in settings.forwarders],
        "direct": [share.job_id for share in shares if not share.forwarders],
    }


def _forwarder(address: str, state: ForwarderState | None, jobs: Sequence[int]) -> dict[str, Any]:
    return {
        "address": address,
        "works": None if state is None else state.works,
        "since": state and state.at,
        "reason": state.reason if state else "",
        "jobs": list(jobs),
    }
