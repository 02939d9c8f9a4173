# SPDX-License-Identifier: Apache-2.0
"""Test that the weights fitted to unlabeled pairs equal those that Splink fits."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from reprise.matcher.calibration.ecm import UNKNOWN, Levels, fit
from tests.unit.matcher.calibration.test_ecm import falling, made, rising

SIZES = {"a": 3, "b": 2, "c": 4}
SHARE = 0.2


def comparison(name: str, start_matched: list[float], start_others: list[float]) -> dict[str, Any]:
    """Return a Splink comparison with levels from most to least similar; the least similar is Splink's ELSE level."""
    levels: list[dict[str, Any]] = [
        {"sql_condition": f"{name}_l = {UNKNOWN}", "label_for_charts": "unknown", "is_null_level": True}
    ]
    for level in reversed(range(len(start_matched))):
        levels.append(
            {
                "sql_condition": f"{name}_l = {level}" if level else "ELSE",
                "label_for_charts": str(level),
                "m_probability": start_matched[level] / sum(start_matched),
                "u_probability": start_others[level] / sum(start_others),
            }
        )
    return {"output_column_name": name, "comparison_levels": levels}


def splinks(levels: Levels, starts: list[tuple[list[float], list[float]]]) -> Any:
    """Return Splink's model, trained by EM on two tables; row n of one table is paired with row n of the other."""
    import pyarrow  # imported only here, because quick runs skip this test
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    numbers = np.arange(len(levels))
    columns = {name: levels[:, place] for place, name in enumerate(SIZES)}
    table = pyarrow.table({"unique_id": numbers, "pair": numbers, **columns})
    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[comparison(name, *start) for name, start in zip(SIZES, starts, strict=True)],
        blocking_rules_to_generate_predictions=[block_on("pair")],
        probability_two_random_records_match=SHARE,
        em_convergence=1e-7,
        max_iterations=2000,
    )
    database = DuckDBAPI()
    tables = [database.register(table, table_name=name) for name in ("left_jobs", "right_jobs")]
    linker = Linker(tables, settings, log_level=logging.WARNING)
    session = linker.training.estimate_parameters_using_expectation_maximisation(
        block_on("pair"), fix_u_probabilities=False
    )
    return session.core_model_settings


@pytest.mark.slow
@pytest.mark.parametrize("holes", [0.0, 0.05], ids=["all known", "some unknown"])
def test_shares_and_weights_equal_splinks(holes: float) -> None:
    levels = made(20_000)[0]
    levels[np.random.default_rng(2).random(levels.shape) < holes] = UNKNOWN
    sizes = list(SIZES.values())
    ours = fit(levels, start_matched=rising(sizes), start_others=falling(sizes), start_share=SHARE, pseudo_pairs=1e-9)
    theirs = splinks(levels, list(zip(rising(sizes), falling(sizes), strict=True)))
    assert ours.share == pytest.approx(theirs.probability_two_random_records_match, abs=1e-6)
    for place, found in enumerate(theirs.comparisons):
        known = [level for level in found.comparison_levels if not level.is_null_level]
        assert len(known) == sizes[place]
        for level in known:
            number = int(level.label_for_charts)
            assert ours.matched[place][number] == pytest.approx(level.m_probability, abs=1e-6)
            assert ours.others[place][number] == pytest.approx(level.u_probability, abs=1e-6)
            weight = np.log2(level.m_probability / level.u_probability)
            assert ours.bits(place)[number] == pytest.approx(weight, abs=1e-4)
