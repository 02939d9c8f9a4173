# SPDX-License-Identifier: Apache-2.0
"""Settings of a campaign that tunes MPICH's collectives: as for Open MPI, without its rules' parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from reprise.config import first_problem
from reprise.tuner.errors import TunerError
from reprise.tuner.mpich.mpich_catalogue import CATALOGUE, ELEMENT_BYTES
from reprise.tuner.openmpi.collectives_settings import Settings

WITHOUT_EFFECT = ("segments", "fanouts", "unsafe", "placement")


def read(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> Settings:
    """Return the checked settings of a campaign, with `defaults` for those that it omits.

    Raise TunerError with one line if they are invalid.
    """
    given = {**defaults, **settings}
    if useless := next((name for name in WITHOUT_EFFECT if name in given), None):
        raise TunerError(f"settings: {useless}: has no effect on MPICH: leave it out")
    try:
        checked = Settings.model_validate(given)
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, Settings)}") from error
    if checked.tasks_per_node != [1]:
        raise TunerError(
            "settings: tasks_per_node: MPICH splits the collectives of ranks that share a node, and a selection file "
            "does not decide the parts: leave it out, so that each node has one task"
        )
    if not checked.layouts:
        raise TunerError("settings: nodes: one task cannot communicate: use 2 nodes or more")
    for collective in checked.collectives:
        if collective not in CATALOGUE:
            raise TunerError(
                f"settings: collectives: {collective!r} cannot be tuned: choose from {', '.join(CATALOGUE)}"
            )
        odd = [size for size in checked.sizes if size % ELEMENT_BYTES]
        if odd:
            raise TunerError(f"settings: sizes: {odd[0]} cannot be probed: use multiples of {ELEMENT_BYTES}")
    return checked
