# SPDX-License-Identifier: Apache-2.0
"""Test the check that a proxy ranks settings as its application does; a proxy that ranks them otherwise is not used."""

from __future__ import annotations

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.agreement import agreement, ratios

APPLICATION = {"default": [10.0, 10.1, 9.9], "linear": [8.0, 8.2, 8.1], "chain": [12.0, 12.2, 12.4]}


def proxy(default: float, linear: float, chain: float) -> dict[str, list[float]]:
    times = {"default": default, "linear": linear, "chain": chain}
    return {name: [0.99 * time, time, 1.01 * time] for name, time in times.items()}


def test_a_proxy_with_the_same_order_agrees() -> None:
    found = agreement(APPLICATION, proxy(2.0, 1.0, 3.0))
    assert found.agrees and found.best == "linear" and found.loss == 0


def test_a_proxy_whose_best_setting_costs_the_application_time_does_not_agree() -> None:
    found = agreement(APPLICATION, {**proxy(1.0, 1.0, 3.0), "default": [0.9, 1.0, 0.8]})
    assert not found.agrees and found.best == "default"
    assert (
        found.reason == "the application takes 23.5% more time with default, the proxy's best, than with its own best"
    )


def test_a_loss_within_the_noise_of_the_applications_runs_is_called_so() -> None:
    noisy = {"default": [10.0, 10.6, 9.4], "linear": [9.5], "chain": [12.0]}
    found = agreement(noisy, {"default": [1.0, 1.1], "linear": [1.05], "chain": [2.0]})
    assert found.loss == pytest.approx(0.053, abs=0.001) and found.noise == pytest.approx(0.298, abs=0.001)
    assert not found.agrees and found.reason.endswith("than with its own best, but its noise is 29.8%")
    assert agreement({name: [1.0] for name in noisy}, proxy(2.0, 1.0, 3.0)).noise is None


def test_opposite_orders_are_reported_even_if_the_best_setting_is_the_same() -> None:
    found = agreement(APPLICATION, proxy(3.0, 1.0, 2.0))
    assert found.best == "linear" and not found.agrees
    assert found.reason == "the proxy is faster with chain than with default, the application with default"


def test_an_opposite_order_within_three_percent_costs_nothing() -> None:
    close = {"default": [10.0, 10.1], "linear": [9.8, 9.9]}
    assert agreement(close, {"default": [1.0], "linear": [2.0]}).agrees


def test_a_proxy_that_sees_no_difference_chooses_nothing() -> None:
    flat = {name: [1.0, 1.1, 0.9 + 0.01 * place] for place, name in enumerate(("linear", "default", "chain"))}
    found = agreement(APPLICATION, flat)
    assert not found.agrees and found.reason.startswith(
        ("all settings are equal for the proxy", "the application takes")
    )
    assert agreement(flat, flat).reason == "all settings are equally fast with both"


@pytest.mark.parametrize(
    ("application", "stand_in", "said"),
    [
        (APPLICATION, {"default": [1.0]}, "the same two or more settings"),
        ({"default": [1.0]}, {"default": [1.0]}, "two or more"),
        (APPLICATION, proxy(2.0, 1.0, 3.0) | {"chain": []}, "chain: no run time"),
        (APPLICATION, proxy(2.0, 1.0, 3.0) | {"chain": [0.0]}, "chain: no run time"),
    ],
)
def test_measurements_that_cannot_be_compared_are_refused(
    application: dict[str, list[float]], stand_in: dict[str, list[float]], said: str
) -> None:
    with pytest.raises(ProxyError, match=said):
        agreement(application, stand_in)


def test_the_four_ratios() -> None:
    found = ratios(APPLICATION, proxy(2.0, 1.5, 1.0), "default")
    assert found.gain == pytest.approx(10 / 8.1)
    assert found.proxy_gain == pytest.approx(10 / 12.2)
    assert found.saved == pytest.approx(0.8)
    assert found.fidelity == pytest.approx(8.1 / 12.2)
    with pytest.raises(ProxyError, match="the default was not run"):
        ratios(APPLICATION, proxy(2.0, 1.5, 1.0), "none")
