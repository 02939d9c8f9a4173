# SPDX-License-Identifier: Apache-2.0
"""Values of a component's parameters to try when runs are expensive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reprise.allowlist import is_allowed
from reprise.tuner.components.described_component import Activation, ComponentParameter, Description, Via
from reprise.tuner.model.space import Value

MOST = 3
"""Number of values of a numeric parameter to try: near both ends and in the middle of its range."""
MOST_NAMES = 4
"""Number of values to try for a parameter whose values have no order."""


def tried_space(description: Description, most: int = MOST) -> dict[str, list[Value]]:
    """Return the values to try in addition to the default, for each parameter that can be set in jobs.

    `most` is the maximum number of values of a numeric parameter.
    """
    found = {
        one.key: _tried(one, most if one.scale != "category" else MOST_NAMES)
        for one in description.parameters
        if _reaches_jobs(one, description.activation)
    }
    for preset in tried_presets(description):
        for key, value in preset.items():
            found[key] = sorted({*found[key], value}, key=_order(description, key))
    return {key: values for key, values in found.items() if values}


def tried_presets(description: Description) -> list[Mapping[str, Value]]:
    """Return the component's presets that use only parameters that can be set in jobs."""
    reached = {one.key for one in description.parameters if _reaches_jobs(one, description.activation)}
    return [preset for preset in description.presets if preset.keys() <= reached]


def _order(description: Description, key: str) -> Callable[[Value], int]:
    """Return a sort key that puts values of a parameter into the order of its grid."""
    (parameter,) = [one for one in description.parameters if one.key == key]
    return list(parameter.values).index


def _reaches_jobs(parameter: ComponentParameter, activation: Activation) -> bool:
    """Return whether a job can be given the parameter's value: the plugin may set all variables that carry it."""
    if parameter.via is Via.ENVIRONMENT:
        return all(is_allowed(name) for name in (parameter.name, *parameter.copies))
    return parameter.via is Via.HINT and is_allowed(activation.hints or activation.hint_list)


def _tried(parameter: ComponentParameter, most: int) -> list[Value]:
    others = [value for value in parameter.values if value != parameter.default]
    if parameter.scale == "category" or len(others) <= most:
        return others[:most]
    return _spread(others, most)


def _spread(values: Sequence[Value], count: int) -> list[Value]:
    """Return `count` values of an ordered list, spaced as far apart as possible.

    For example, three of the values 1 to 9 are 1, 5 and 9.
    """
    if count == 1:
        return [values[len(values) // 2]]
    last = len(values) - 1
    return [values[round(place * last / (count - 1))] for place in range(count)]
