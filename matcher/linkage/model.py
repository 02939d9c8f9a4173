# SPDX-License-Identifier: Apache-2.0
"""The model of a match, as data: fields, their parts, comparers and weights, and the threshold with its evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from matcher.linkage.features import FEATURES, Kind
from reprise.config import ConfigError, first_problem, read_toml

PRESETS = Path(__file__).parent / "models"


class LinkageError(Exception):
    """A model cannot be used; the message names the file, the cause and the remedy."""

    exit_status = 1


Weight = Annotated[float, Field(ge=1e-6, le=1e6)]
"""Bounded, so that neither a sum of weights nor a share of one leaves what a float can hold."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Part(_Table):
    """One comparison: of a feature, by a comparer. `name` is the feature's unless given."""

    feature: str
    name: str = ""
    weight: Weight = 1.0

    @property
    def label(self) -> str:
        return self.name or self.feature


class Exact(_Part):
    comparer: Literal["exact"]


class LevenshteinPart(_Part):
    """`clean`: compare letters and digits only, in lower case."""

    comparer: Literal["levenshtein"]
    clean: bool = True


class SoftTfIdfPart(_Part):
    """`separators`: the characters between tokens. `inner_threshold`: likeness from which two tokens are paired."""

    comparer: Literal["soft-tfidf"]
    separators: str = Field("/_.", min_length=1)
    inner_threshold: float = Field(0.9, gt=0, le=1)


class OptionsPart(_Part):
    comparer: Literal["options"]


class Circular(_Part):
    """`period`: the value at which the circle closes, in the feature's unit."""

    comparer: Literal["circular"]
    period: float = Field(gt=0, allow_inf_nan=False)


class SameSide(_Part):
    """`start`, `end`: an interval, through zero where start > end, in the feature's unit."""

    comparer: Literal["same-side"]
    start: float = Field(allow_inf_nan=False)
    end: float = Field(allow_inf_nan=False)


class Absolute(_Part):
    """`maximum`: the difference from which the similarity is 0; without it, the nodes of the cluster."""

    comparer: Literal["absolute"]
    maximum: float | None = Field(None, gt=0, allow_inf_nan=False)


Part = Exact | LevenshteinPart | SoftTfIdfPart | OptionsPart | Circular | SameSide | Absolute
KINDS: dict[str, tuple[Kind, ...]] = {
    "exact": (Kind.TEXT, Kind.NUMBER),
    "levenshtein": (Kind.TEXT,),
    "soft-tfidf": (Kind.TEXT,),
    "options": (Kind.OPTIONS,),
    "circular": (Kind.NUMBER,),
    "same-side": (Kind.NUMBER,),
    "absolute": (Kind.NUMBER,),
}


class ModelField(_Table):
    """A field: its similarity is the weighted mean of its parts'."""

    name: str = Field(min_length=1)
    weight: Weight = 1.0
    parts: tuple[Annotated[Part, Field(discriminator="comparer")], ...] = Field(min_length=1)


class Model(_Table):
    """A model. A score is the weighted mean of the fields' similarities; from `threshold` on, two jobs are alike."""

    name: str = Field(min_length=1)
    version: int = Field(ge=1)
    threshold: float = Field(ge=0, le=1)
    evidence: dict[str, Any] = Field(min_length=1)
    fields: tuple[ModelField, ...] = Field(min_length=1)

    @property
    def label(self) -> str:
        """Name and version, for logs: `thesis/1`."""
        return f"{self.name}/{self.version}"

    def shares(self) -> list[list[float]]:
        """Each part's share of the score, per field; all together sum to 1."""
        total = sum(field.weight for field in self.fields)
        result = []
        for field in self.fields:
            parts = sum(part.weight for part in field.parts)
            result.append([field.weight / total * (part.weight / parts) for part in field.parts])
        return result

    @model_validator(mode="after")
    def _check(self) -> Model:
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two fields are called {name!r}: give each its own name")
        for part in (part for field in self.fields for part in field.parts):
            if part.feature not in FEATURES:
                raise ValueError(f"unknown feature {part.feature!r}: known are {', '.join(FEATURES)}")
            if FEATURES[part.feature].kind not in KINDS[part.comparer]:
                raise ValueError(
                    f"comparer {part.comparer!r} cannot compare feature {part.feature!r}, "
                    f"which is {FEATURES[part.feature].kind}: choose another comparer"
                )
        return self


def load(name_or_path: str | Path, threshold: float | None = None) -> Model:
    """Read a preset by its name (`thesis`) or a model file by its path; `threshold` replaces the file's.

    Raises LinkageError with one line.
    """
    presets = {path.stem: path for path in sorted(PRESETS.glob("*.toml"))}
    path = presets.get(str(name_or_path), Path(name_or_path))
    try:
        data = read_toml(path)
    except ConfigError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            known = ", ".join(presets)
            raise LinkageError(
                f"no model {str(path)!r}: give a preset ({known}) or the path of a model file"
            ) from error
        raise LinkageError(str(error)) from error
    if threshold is not None:
        data["threshold"] = threshold
    try:
        return Model.model_validate(data)
    except ValidationError as error:
        raise LinkageError(f"{path}: {first_problem(error, Model)}") from error
