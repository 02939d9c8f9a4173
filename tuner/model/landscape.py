# SPDX-License-Identifier: Apache-2.0
"""Landscapes: measurements of every point of a search space, so that searches can be compared without the machine.

A landscape is ground truth from exhaustive measurement. To simulate an evaluation, one of the point's samples is drawn
(Robert 2021, sections 4.2.1 and 5.4.1).
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from reprise.tuner.errors import TunerError
from reprise.tuner.model.space import Parameter, Parametrization, Space, Value

FORMAT = 1  # version of the file format; files with another version are refused
LIMIT = 64 * 1024 * 1024  # maximum unpacked size of a file in bytes; 16 samples of 3,125 points need half a megabyte


class LandscapeError(TunerError):
    """Error: a landscape cannot be read, or lacks the requested point. The message names the file, cause and remedy."""


@dataclass(frozen=True)
class Landscape:
    """Measurements of every point of a space.

    `samples[i]` are the samples of `space.points[i]`, at least one; lower values are better. `default` may lie off the
    grid; its measurements are then `default_samples`. `source` is the origin of the measurements.
    """

    name: str
    space: Space
    default: Parametrization
    samples: Sequence[Sequence[float]]
    unit: str = "s"
    source: str = ""
    default_samples: Sequence[float] = ()

    def __post_init__(self) -> None:
        if len(self.samples) != len(self.space.points):
            raise LandscapeError(
                f"landscape {self.name!r}: only {len(self.samples)} of {len(self.space.points)} points are "
                "measured: measure every point of the space"
            )
        for drawn in (*self.samples, self.default_samples or (1.0,)):
            if not drawn or not all(math.isfinite(value) and value > 0 for value in drawn):
                raise LandscapeError(
                    f"landscape {self.name!r}: the measurements {list(drawn)!r} are not all positive numbers: measure "
                    "again"
                )

    @cached_property
    def _by_key(self) -> Mapping[tuple[Value, ...], Sequence[float]]:
        default = {self.space.key(self.default): self.default_samples} if self.default_samples else {}
        points = zip(self.space.points, self.samples, strict=True)
        return {**default, **{self.space.key(point): samples for point, samples in points}}

    @cached_property
    def means(self) -> Sequence[float]:
        """Mean of each point's samples, in the order of `space.points`."""
        return tuple(fmean(samples) for samples in self.samples)

    @cached_property
    def optimum(self) -> tuple[Parametrization, float]:
        """Return the point with the best mean (the first one in grid order, if several are equal), and that mean."""
        best = min(range(len(self.means)), key=lambda index: self.means[index])
        return self.space.points[best], self.means[best]

    def of(self, point: Parametrization) -> Sequence[float]:
        """Return the samples of a point. Raise LandscapeError if it is neither on the grid nor the default."""
        try:
            return self._by_key[self.space.key(point)]
        except (KeyError, TypeError) as error:
            raise LandscapeError(
                f"landscape {self.name!r} does not contain the point {dict(point)}: use points of its space"
            ) from error

    def mean(self, point: Parametrization) -> float:
        """Return the mean of a point's samples."""
        return fmean(self.of(point))

    def draw(self, point: Parametrization, rng: np.random.Generator) -> float:
        """Return one of the point's samples, at random: the result of one simulated evaluation."""
        samples = self.of(point)
        return float(samples[int(rng.integers(len(samples)))]) if len(samples) > 1 else float(samples[0])

    def save(self, path: Path) -> None:
        """Write the file; equal landscapes give equal bytes."""
        text = json.dumps(_to_json(self), separators=(",", ":"))
        path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def load(path: Path) -> Landscape:
    """Read a file that `Landscape.save` wrote. Raise LandscapeError, with one line, if it is invalid."""
    try:
        with gzip.open(path, "rb") as file:
            raw = file.read(LIMIT + 1)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise LandscapeError(f"{path}: cannot be read ({why}): specify a landscape file") from error
    try:
        if len(raw) > LIMIT:
            raise ValueError(f"it unpacks to more than {LIMIT} bytes")
        return _from_json(json.loads(raw))
    except LandscapeError as error:
        raise LandscapeError(f"{path}: {error}") from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise LandscapeError(
            f"{path}: not a landscape of format {FORMAT} ({error}): regenerate it with `make landscapes`"
        ) from error


def _to_json(landscape: Landscape) -> dict[str, Any]:
    """Return a landscape as a JSON document.

    If grid points are equivalent, the key `stands_for` lists, for each grid point, the index of the point in
    `space.points` that represents it.
    """
    space = landscape.space
    index = {space.key(point): number for number, point in enumerate(space.points)}
    grid = [index[space.key(point)] for point in space.grid()]
    return {
        "format": FORMAT,
        "name": landscape.name,
        "source": landscape.source,
        "unit": landscape.unit,
        "parameters": [
            {"name": parameter.name, "values": list(parameter.values), "kind": parameter.kind}
            for parameter in space.parameters
        ],
        "default": dict(landscape.default),
        "default_samples": list(landscape.default_samples),
        **(
            {"points": [list(space.key(p)) for p in space.points], "stands_for": grid} if len(index) < len(grid) else {}
        ),
        "samples": [list(samples) for samples in landscape.samples],
    }


def _from_json(data: dict[str, Any]) -> Landscape:
    if data["format"] != FORMAT:
        raise ValueError(f"its format is {data['format']}")
    parameters = tuple(Parameter(p["name"], tuple(p["values"]), p["kind"]) for p in data["parameters"])
    space = Space(parameters)
    if "points" in data:
        names = [parameter.name for parameter in parameters]
        points = [dict(zip(names, values, strict=True)) for values in data["points"]]
        stands = {space.key(p): points[n] for p, n in zip(space.grid(), data["stands_for"], strict=True)}
        space = Space(parameters, lambda point: stands.get(tuple(point[name] for name in names), point))
    samples = tuple(tuple(float(value) for value in drawn) for drawn in data["samples"])
    return Landscape(
        data["name"], space, data["default"], samples, data["unit"], data["source"], tuple(data["default_samples"])
    )
