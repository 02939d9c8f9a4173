# SPDX-License-Identifier: Apache-2.0
"""Settings for the number and the choice of examples with which Hypothesis tests a property.

The slow tier and manual runs use the full number of examples, the quick tier uses a fifth of this number, and `make
properties` uses 15 times this number. Both tiers draw the same examples in every run, because results of continuous
integration must depend only on the commit. `make properties` draws different examples in every run.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

USUAL = 100  # number of examples for a property that does not set the number
PATIENT = (HealthCheck.too_slow, HealthCheck.data_too_large)
QUICK = 20  # replaces USUAL in the quick tier, which `make check` selects with --hypothesis-profile=quick
MANY = 15 * USUAL  # replaces USUAL in `make properties`, which selects the profile `many`


def register() -> None:
    """Register the profiles, with no time limit for examples or their generation, because the machine may be busy."""
    many = settings(
        settings.get_profile("default"),
        max_examples=MANY,
        deadline=None,
        suppress_health_check=PATIENT,
        print_blob=True,
    )
    settings.register_profile("many", many)
    settings.register_profile("full", many, max_examples=USUAL, derandomize=True, database=None)
    settings.register_profile("quick", settings.get_profile("full"), max_examples=QUICK)
    settings.load_profile("full")
    providers._get_local_constants = _constants


def examples(full: int) -> int:
    """Return the value of `max_examples` for a property: `full`, scaled by the selected profile."""
    return max(1, full * settings().max_examples // USUAL)


_of_the_product = providers._get_local_constants  # no setting stops Hypothesis from trying the product's constants


def _constants() -> Constants:
    """Return the product's constants, which Hypothesis tries as values; none if examples must not change between runs.

    Hypothesis finds constants in the modules imported so far. The order of the tests and each process's share of the
    tests determine the imported modules, so processes would draw different examples even with `derandomize`.
    """
    return Constants() if settings().derandomize else _of_the_product()
