# SPDX-License-Identifier: Apache-2.0
"""Decide from measurements at a few settings whether a proxy may choose settings for its application.

The proxy and the application must have run at the same settings, including the default and preferably the proxy's best
and worst setting. The proxy is used only if

1. the application takes at most 3 % more time at the proxy's best setting than at its own best setting, and

2. no two settings are in opposite order. Two settings are in opposite order if all runs of one are faster than all runs
   of the other on the proxy, and the reverse is true on the application, by more than 3 % in the medians.

If the ranges of the proxy's runs overlap for every pair of settings, the proxy does not distinguish any settings, and
all count as equal. The proxy may then be used only if all settings count as equal for the application, too. Settings
are compared by their median times.

If the application ran a setting only once or twice, noise alone may exceed these 3 %. The verdict therefore also has
the noise of the loss. It does not change the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean, median
from typing import TypeAlias

from reprise.tuner.errors import ProxyError

TOLERANCE = 0.03
"""Maximum slowdown (0.03: 3 %) of the application at the proxy's best setting, relative to its own best setting."""

Times: TypeAlias = Mapping[str, Sequence[float]]
"""Run times in seconds, by setting."""


@dataclass(frozen=True)
class Agreement:
    """Verdict on a proxy, with its reason in one sentence.

    `best`: the proxy's best setting. `own`: the application's own best setting. `loss`: how much longer the application
    takes at `best` than at `own`, as a share of the latter time. `noise`: half the width of the 95 % interval of
    `loss`; None if the application ran no setting repeatedly.
    """

    agrees: bool
    reason: str
    best: str
    own: str
    loss: float
    noise: float | None = None


@dataclass(frozen=True)
class Ratios:
    """The four ratios of Sartori 2024, table 4.1, where (A|B) is the time of A with the settings tuned on B.

    `gain`: (app|default)/(app|app), an upper bound of `proxy_gain`: (app|default)/(app|proxy). `saved`: the share of an
    application's run that one run of the proxy saves. `fidelity`: (app|app)/(app|proxy), 1 if nothing is lost.
    """

    gain: float
    proxy_gain: float
    saved: float
    fidelity: float


def agreement(application_times: Times, proxy_times: Times, tolerance: float = TOLERANCE) -> Agreement:
    """Return a verdict on whether a proxy chooses settings that are good for its application.

    Raises: ProxyError: The application and the proxy ran at different settings or at fewer than two settings, or a
    setting has no positive time.
    """
    application, proxy = _medians(application_times, proxy_times)
    best = min(proxy, key=lambda setting: (proxy[setting], setting))
    own = min(application, key=lambda setting: (application[setting], setting != best))
    loss = application[best] / application[own] - 1
    noise = _noise_between(application_times, best, own)

    def said(agrees: bool, reason: str) -> Agreement:
        return Agreement(agrees, reason, best, own, loss, noise)

    for quick, slow in permutations(proxy, 2):
        if _is_faster(proxy_times, quick, slow) and _is_faster(application_times, slow, quick, tolerance):
            return said(False, f"the proxy is faster with {quick} than with {slow}, the application with {slow}")
    if loss > tolerance:
        doubt = f", but its noise is {noise:.1%}" if noise is not None and loss <= noise else ""
        return said(
            False,
            f"the application takes {loss:.1%} more time with {best}, the proxy's best, than with its own best{doubt}",
        )
    if not any(_is_faster(proxy_times, *pair) for pair in permutations(proxy, 2)):
        if any(_is_faster(application_times, *pair, tolerance) for pair in permutations(proxy, 2)):
            return said(False, "all settings are equally fast with the proxy, but not with the application")
        return said(True, "all settings are equally fast with both")
    return said(True, f"with {best}, the proxy's best, the application is within {tolerance:.0%} of its own best")


def ratios(application_times: Times, proxy_times: Times, default: str) -> Ratios:
    """Return the four ratios; `default` is the name of the untuned setting.

    Raises:
        ProxyError: A condition of `agreement` is not met, or the default is not among the settings.
    """
    application, proxy = _medians(application_times, proxy_times)
    if default not in application:
        raise ProxyError(f"{default}: the default was not run: run it on the application and on the proxy")
    chosen = application[min(proxy, key=lambda setting: (proxy[setting], setting))]
    own = min(application.values())
    return Ratios(
        gain=application[default] / own,
        proxy_gain=application[default] / chosen,
        saved=1 - proxy[default] / application[default],
        fidelity=own / chosen,
    )


def pooled(times: Times) -> tuple[float, int]:
    """Return the relative standard deviation of runs at one setting, and its degrees of freedom.

    The deviation is pooled over the settings that ran repeatedly; it is 0 if there are none.
    """
    repeated = [values for values in times.values() if len(values) > 1]
    squares = sum((value / fmean(values) - 1) ** 2 for values in repeated for value in values)
    freedom = sum(len(values) - 1 for values in repeated)
    return (math.sqrt(squares / freedom), freedom) if freedom else (0.0, 0)


def _noise_between(times: Times, one: str, other: str) -> float | None:
    """Return half the width of the 95 % interval of the relative difference between two settings' times."""
    deviation, freedom = pooled(times)
    if one == other or not freedom:
        return None if not freedom else 0.0
    from scipy.special import stdtrit  # this import takes longer than most commands

    return float(stdtrit(freedom, 0.975)) * deviation * math.sqrt(1 / len(times[one]) + 1 / len(times[other]))


def _medians(application_times: Times, proxy_times: Times) -> tuple[dict[str, float], dict[str, float]]:
    if application_times.keys() != proxy_times.keys() or len(proxy_times) < 2:
        raise ProxyError("the application and the proxy must run at the same two or more settings")
    for setting in proxy_times:
        times = [*application_times[setting], *proxy_times[setting]]
        if not application_times[setting] or not proxy_times[setting] or min(times) <= 0:
            raise ProxyError(f"{setting}: no run time, or a run time that is not positive: run the setting again")
    return (
        {setting: median(times) for setting, times in application_times.items()},
        {setting: median(times) for setting, times in proxy_times.items()},
    )


def _is_faster(times: Times, quick: str, slow: str, by: float = 0.0) -> bool:
    """Return whether the setting `quick` is faster than the setting `slow` by more than the fraction `by`.

    All runs with `quick` must be faster than all runs with `slow`. The fraction applies to the medians.
    """
    return max(times[quick]) < min(times[slow]) and median(times[slow]) > median(times[quick]) * (1 + by)
