# SPDX-License-Identifier: Apache-2.0
"""Test that the trials of several campaigns are combined into a landscape (the values of all points of a space)."""

from dataclasses import replace

import pytest

from bench.measured import MEASURED, assemble
from reprise.database.entities import Trial, TrialRole, TrialState
from reprise.tuner.model.landscape import LandscapeError
from reprise.tuner.model.space import Parameter, Space
from reprise.tuner.openmpi.collective_spaces import DEFAULT

SPACE = Space((Parameter("algorithm", (0, 1)), Parameter("segment", (0,)), Parameter("fanout", (4,))))


def trial(role: TrialRole, algorithm: int, value: float | None) -> Trial:
    return Trial(1, "p", 0, role, {**DEFAULT, "algorithm": algorithm}, TrialState.COMPLETE, value)


TRIALS = [
    trial(TrialRole.DEFAULT, 0, 3.0),
    trial(TrialRole.SEARCH, 1, 1.123456789),
    trial(TrialRole.SEARCH, 0, 4.0),
    trial(TrialRole.SEARCH, 1, None),
    trial(TrialRole.FINAL_TUNED, 1, 9.0),
]


def test_the_runs_of_the_search_and_of_the_default_are_the_samples() -> None:
    assert assemble("name", SPACE, TRIALS, "measured: here").samples == [[3.0, 4.0], [1.12346]]


def test_a_point_that_never_ran_is_refused() -> None:
    with pytest.raises(LandscapeError, match="measure again"):
        assemble("name", SPACE, [one for one in TRIALS if one.parametrization["algorithm"] == 0], "measured: here")


def test_campaigns_for_a_landscape_try_every_point_once() -> None:
    definition = replace(MEASURED["bcast-1m"], size=4096).campaign(budget=81, seed=2)
    assert definition["search"] == {"method": "random", "budget": 81, "window": 0, "seed": 2}
    assert definition["noise"] == {"policy": "none"}
