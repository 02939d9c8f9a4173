# SPDX-License-Identifier: Apache-2.0
"""How many examples a property is tried with, and which: all in the slow tier and by hand, a share of them in the quick
one, many times as many in `make properties`.

Both tiers draw the same examples on every run, since what continuous integration answers must depend on the commit
alone. Other examples are for `make properties` to find.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

USUAL = 100  # of a property that says nothing
PATIENT = (HealthCheck.too_slow, HealthCheck.data_too_large)
QUICK = 20  # of them in the quick tier, which `make check` chooses with --hypothesis-profile=quick
MANY = 15 * USUAL  # in `make properties`, which chooses the profile `many`


def register() -> None:
    """No limit of time for an example or the making of one: a machine that others use too may need any."""
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
    """As `max_examples`: `full`, or the profile's share or multiple of them."""
    return max(1, full * settings().max_examples // USUAL)


_of_the_product = providers._get_local_constants  # no setting leaves them out


def _constants() -> Constants:
    """Those of the product that Hypothesis tries as values; none where examples must be the same on every run.

    They come from the modules imported by then, which differ with the order of the tests and each process's share of
    them: `derandomize` alone would draw other examples in each.
    """
    return Constants() if settings().derandomize else _of_the_product()
