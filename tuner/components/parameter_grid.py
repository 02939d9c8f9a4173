# SPDX-License-Identifier: Apache-2.0
"""Make the grid to search from parameters with ranges and conditions, and from forbidden combinations of values."""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from reprise.tuner.components.described_component import ComponentParameter, Forbidden
from reprise.tuner.model.space import Parameter, Parametrization, Space, Value

VALUE_LIMIT = 100_000  # maximum number of values on an axis; a larger number suggests a mistake in the step
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


def steps(low: float, high: float, step: float, multiplicative: bool) -> tuple[float, ...]:
    """Return the values of a range from `low` up to at most `high`.

    Integers stay integers; decimal fractions are added exactly. From 2 to 16 in steps of 2, the values are 2, 4, 6,
    ..., 16, or 2, 4, 8, 16 if steps are multiplicative. From 1 to 15 in steps of 3, they are 1, 4, 7, 10, 13. Raise
    ValueError if the range is infinite or empty.
    """
    value, last, by = (Decimal(str(number)) for number in (low, high, step))
    if value > last:
        raise ValueError(f"the range begins at {low} and ends at {high}: swap min and max")
    if multiplicative and (value <= 0 or by <= 1):
        raise ValueError(
            f"a multiplicative range cannot begin at {low} with step {step}: begin over 0 with a step over 1, and list "
            "zero in `also`"
        )
    if by <= 0:
        raise ValueError(f"a step of {step} never gets from {low} to {high}: give a step over 0")
    whole = all(isinstance(number, int) for number in (low, high, step))
    found: list[float] = []
    while value <= last:
        found.append(int(value) if whole else float(value))
        if len(found) > VALUE_LIMIT:
            raise ValueError(f"the range has more than {VALUE_LIMIT:,} values: give a larger step")
        value = value * by if multiplicative else value + by
    return tuple(found)


def bounded(parameters: Sequence[ComponentParameter], most: Mapping[str, int]) -> list[ComponentParameter]:
    """Return the parameters without the values that exceed the application's number of nodes or tasks.

    `most`: the application's numbers of "nodes" and "tasks", as far as they are known.

    Raise ValueError if a parameter has no value left.
    """
    found = []
    for parameter in parameters:
        limit = most.get(parameter.at_most)
        if limit is not None:
            kept = [value for value in parameter.values if isinstance(value, int) and value <= limit]
            if not kept:
                raise ValueError(f"{parameter.key}: all values are over the application's {limit} {parameter.at_most}")
            parameter = dataclasses.replace(parameter, values=kept)
        found.append(parameter)
    return found


def space(parameters: Sequence[ComponentParameter], forbidden: Sequence[Forbidden], default: Parametrization) -> Space:
    """Return the grid as a space; points that differ only in parameters without effect count as the same point.

    The space's `canonical` sets a parameter without effect to its default, or to its first value if the default is off
    the grid. It replaces a forbidden point by its nearest allowed neighbor. The default itself stays unchanged, even if
    it is forbidden or off the grid. Raise ValueError if no point is allowed.
    """
    axes = [Parameter(p.key, p.values, p.scale) for p in parameters]
    resting = {p.key: p.default if p.default in p.values else p.values[0] for p in parameters}

    def alive(point: Parametrization) -> Parametrization:
        counted = counting(parameters, point)
        return {p.key: point[p.key] if p.key in counted else resting[p.key] for p in parameters}

    start = alive(default)
    repaired: dict[tuple[Value, ...], Parametrization] = {}

    def canonical(point: Parametrization) -> Parametrization:
        seen = alive(point)
        if seen == start or not is_forbidden(forbidden, seen):
            return seen
        key = tuple(seen.values())
        if key not in repaired:
            repaired[key] = next(p for p in _nearby(axes, seen, alive) if not is_forbidden(forbidden, p))
        return repaired[key]

    corner = {axis.name: axis.values[0] for axis in axes}
    if all(is_forbidden(forbidden, point) for point in _nearby(axes, corner, alive)):
        raise ValueError("every point of the grid is forbidden: remove one of the forbidden combinations")
    return Space(axes, canonical if forbidden or any(p.counts_when for p in parameters) else _same)


def counting(parameters: Sequence[ComponentParameter], point: Parametrization) -> frozenset[str]:
    """Return the keys of the parameters that have an effect at a point.

    A parameter has an effect if every parameter in its conditions has an effect and one of the required values.
    Conditions may name only parameters that come earlier in the file.
    """
    found: set[str] = set()
    for parameter in parameters:
        conditions = parameter.counts_when.items()
        if all(other in found and point[other] in wanted for other, wanted in conditions):
            found.add(parameter.key)
    return frozenset(found)


def is_forbidden_change(
    parameters: Sequence[ComponentParameter], forbidden: Sequence[Forbidden], change: Parametrization
) -> bool:
    """Return whether the default with a change of some parameters has a forbidden combination.

    Parameters without an effect count with their defaults.
    """
    default = {p.key: p.default for p in parameters}
    counted = counting(parameters, {**default, **change})
    return is_forbidden(forbidden, {**default, **{key: value for key, value in change.items() if key in counted}})


def is_forbidden(forbidden: Sequence[Forbidden], point: Parametrization) -> bool:
    """Return whether a point has one of the forbidden combinations of values."""
    return any(_met(one, point) for one in forbidden)


def _met(one: Forbidden, point: Parametrization) -> bool:
    if one.operator:
        right = point[one.right] if isinstance(one.right, str) else one.right
        return OPERATORS[one.operator](point[one.left], right)
    return all(point[key] in values for key, values in one.values.items())


def _nearby(
    axes: Sequence[Parameter], point: Parametrization, alive: Callable[[Parametrization], Parametrization]
) -> Iterator[Parametrization]:
    """Yield all grid points, starting with those near a point.

    The points that differ from `point` in only one parameter come first, in order of distance. Then come all grid
    points.
    """
    ordered = {axis.name: _by_distance(axis.values, point[axis.name]) for axis in axes}
    for distance in range(max((len(values) for values in ordered.values()), default=0)):
        for name, values in ordered.items():
            if distance < len(values):
                yield alive({**point, name: values[distance]})
    for combination in itertools.product(*ordered.values()):
        yield alive(dict(zip(ordered, combination, strict=True)))


def _by_distance(values: Sequence[Value], value: Value) -> list[Value]:
    at = values.index(value) if value in values else 0
    return [values[index] for index in sorted(range(len(values)), key=lambda index: (abs(index - at), index))]


def _same(parametrization: Parametrization) -> Parametrization:
    return parametrization
