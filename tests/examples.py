# SPDX-License-Identifier: Apache-2.0
"""How many examples a property is tried with: all in the slow tier and by hand, a share of them in the quick one."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

USUAL = 100  # of a property that says nothing
PATIENT = (HealthCheck.too_slow, HealthCheck.data_too_large)
QUICK = 20  # of them in the quick tier, which `make check` chooses with --hypothesis-profile=quick


def register() -> None:
    """No limit of time for an example or the making of one: a machine that others use too may need any."""
    settings.register_profile("full", max_examples=USUAL, deadline=None, suppress_health_check=PATIENT)
    settings.register_profile("quick", settings.get_profile("full"), max_examples=QUICK)
    settings.load_profile("full")


def examples(full: int) -> int:
    """As `max_examples`: `full`, or the quick tier's share of them."""
    return max(1, full * settings().max_examples // USUAL)
