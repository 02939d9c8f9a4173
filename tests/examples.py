# SPDX-License-Identifier: Apache-2.0
"""Number and choice of the examples that test a property.

The slow tier and runs by hand use the full number, the quick tier a share of it, and `make properties` a multiple. Both
tiers draw the same examples on every run, because results of continuous integration must depend on the commit only.
`make properties` finds other examples.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

USUAL = 100  # examples of a property that does not set a number
PATIENT = (HealthCheck.too_slow, HealthCheck.data_too_large)
QUICK = 20  # in place of USUAL in the quick tier, which `make check` selects with --hypothesis-profile=quick
MANY = 15 * USUAL  # in `make properties`, which selects the profile `many`


def register() -> None:
    """Register the profiles, without time limits for an example or its generation: the machine may be busy."""
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
    """Return the value for `max_examples`: `full`, or the profile's share or multiple of it."""
    return max(1, full * settings().max_examples // USUAL)


_of_the_product = providers._get_local_constants  # no setting disables them


def _constants() -> Constants:
    """Return the product's constants that Hypothesis tries as values; none if examples must be equal on every run.

    They come from the modules imported so far, which differ with the order of the tests and each process's share of
    them: `derandomize` alone would draw other examples in each process.
    """
    return Constants() if settings().derandomize else _of_the_product()
