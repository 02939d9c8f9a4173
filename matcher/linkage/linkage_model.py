# SPDX-License-Identifier: Apache-2.0
"""Linkage model: the fields to compare, with their parts, comparers and weights, and the threshold for a match."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from reprise.config import ConfigError, first_problem, read_toml
from reprise.errors import RepriseError
from reprise.matcher.linkage.features import FEATURES, OF_IO, OF_PROGRAM_FILE, Kind

PRESETS = Path(__file__).parent / "models"


class LinkageError(RepriseError):
    """Raised for a model that cannot be used; the message names the file, the cause and the remedy."""


Weight = Annotated[float, Field(ge=1e-6, le=1e6)]
"""Weight of a field or part. In this range, neither a sum of weights nor a weight's share of the sum can overflow or
underflow a float."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Bits = Annotated[float, Field(ge=-100, le=100)]


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("contains unprintable characters: choose another name")
    return name


Name = Annotated[str, AfterValidator(_printable)]
"""Name without unprintable characters, because a terminal that shows the name, e.g. in a log, could interpret them."""


class _Part(_Table):
    """Part of a field: the comparison of one feature by one comparer. `name` defaults to the feature's name.

    In a model with log-odds scoring, `curve` contains points (similarity, bits) from similarity 0 to 1; between two
    points, bits are interpolated linearly. `unknown`: bits to add if the feature is unknown for one or both jobs.
    """

    feature: str
    name: Name = ""
    weight: Weight | None = None
    curve: tuple[tuple[Annotated[float, Field(ge=0, le=1)], Bits], ...] | None = None
    unknown: Bits | None = None

    @property
    def label(self) -> str:
        """Name of the part in explanations."""
        return self.name or self.feature


class Exact(_Part):
    """Part that compares two values for equality."""

    comparer: Literal["exact"]


class LevenshteinPart(_Part):
    """Part that compares two texts by their edit distance.

    `clean`: whether to compare only letters and digits, in lower case. If `digits` is false, digits are ignored.
    """

    comparer: Literal["levenshtein"]
    clean: bool = True
    digits: bool = True


class SoftTfIdfPart(_Part):
    """Part that compares two texts' tokens by soft TF-IDF.

    `separators`: characters that separate tokens. If `digits` is false, digits are ignored. `inner_threshold`: smallest
    similarity at which two tokens are paired.
    """

    comparer: Literal["soft-tfidf"]
    separators: str = Field("/_.", min_length=1)
    digits: bool = True
    inner_threshold: float = Field(0.9, gt=0, le=1)


class HammingPart(_Part):
    """Part that compares two texts by the share of positions at which both have the same character."""

    comparer: Literal["hamming"]


class OptionsPart(_Part):
    """Part that compares two jobs by the overlap of their options and the options' values."""

    comparer: Literal["options"]


class Circular(_Part):
    """Part that compares two numbers by their distance on a circle of length `period`, in the feature's unit."""

    comparer: Literal["circular"]
    period: float = Field(gt=0, allow_inf_nan=False)


class SameSide(_Part):
    """Part that tests whether two numbers are both in an interval or both outside it.

    If `start` > `end`, the interval wraps around through zero.

    """

    comparer: Literal["same-side"]
    start: float = Field(allow_inf_nan=False)
    end: float = Field(allow_inf_nan=False)


class Ratio(_Part):
    """Part that compares two positive numbers by their ratio, the smaller divided by the larger."""

    comparer: Literal["ratio"]


class Absolute(_Part):
    """Part that compares two numbers by their difference.

    The similarity is 0 if the difference is at least `maximum`, by default the cluster's node count.

    """

    comparer: Literal["absolute"]
    maximum: float | None = Field(None, gt=0, allow_inf_nan=False)


Part = Exact | LevenshteinPart | HammingPart | SoftTfIdfPart | OptionsPart | Circular | SameSide | Ratio | Absolute
KINDS: dict[str, tuple[Kind, ...]] = {
    "exact": (Kind.TEXT, Kind.NUMBER),
    "levenshtein": (Kind.TEXT,),
    "hamming": (Kind.TEXT,),
    "soft-tfidf": (Kind.TEXT,),
    "options": (Kind.OPTIONS,),
    "circular": (Kind.NUMBER,),
    "same-side": (Kind.NUMBER,),
    "ratio": (Kind.NUMBER,),
    "absolute": (Kind.NUMBER,),
}

EQUALITY = ("exact", "ratio", "absolute")
"""Comparers that do not alter values before comparing them, so that a similarity of 1 means equal values."""


class ModelField(_Table):
    """Field of a model: an aspect of jobs that is compared in one or more parts."""

    name: Name = Field(min_length=1)
    weight: Weight | None = None
    parts: tuple[Annotated[Part, Field(discriminator="comparer")], ...] = Field(min_length=1)


@dataclass(frozen=True)
class Curve:
    """Piecewise linear function that maps a part's similarity to its contribution to the total.

    The function goes through the points (`similarities`, `values`). `unknown` is the contribution of an unknown value.
    If `unknown` is None, an unknown value is compared like any other value, and an unknown number has similarity 0.
    """

    similarities: tuple[float, ...]
    values: tuple[float, ...]
    unknown: float | None

    @property
    def most(self) -> float:
        """Largest value that the part can add to a total."""
        return max(self.values) if self.unknown is None else max(*self.values, self.unknown)


class Model(_Table):
    """Linkage model. The parts' contributions are added to a total, and jobs match if its score reaches `threshold`.

    With `scoring` "mean", fields and parts have weights (default 1). The score is the weighted mean of the fields'
    similarities, and the similarity of a field is the weighted mean of its parts' similarities. With "log-odds", parts
    add bits to `prior`, and the score is the probability of a match, 1 / (1 + 2 ** -total) (Fellegi and Sunter 1969).

    `prefer`: names of features. Among the records that reach the threshold, those with the job's values of these
    features come first.
    """

    name: Name = Field(min_length=1)
    version: int = Field(ge=1)
    threshold: float = Field(ge=0, le=1)
    scoring: Literal["mean", "log-odds"] = "mean"
    prior: Bits | None = None
    prefer: tuple[str, ...] = ()
    evidence: dict[str, Any] = Field(min_length=1)
    fields: tuple[ModelField, ...] = Field(min_length=1)

    @property
    def label(self) -> str:
        """Name and version, for logs, as in `thesis/1`."""
        return f"{self.name}/{self.version}"

    @property
    def offset(self) -> float:
        """Initial value of the total: the prior, or 0 if `scoring` is "mean"."""
        return self.prior or 0.0

    @property
    def compares_program_files(self) -> bool:
        """Whether the model compares the contents of program files."""
        return any(part.feature in OF_PROGRAM_FILE for field in self.fields for part in field.parts)

    @property
    def compares_io_patterns(self) -> bool:
        """Whether the model compares access patterns."""
        return any(part.feature in OF_IO for field in self.fields for part in field.parts)

    def curves(self) -> list[list[Curve]]:
        """Return the curves of each field's parts. If `scoring` is "mean", the curves' largest values sum to 1."""
        if self.scoring == "log-odds":
            return [[_of_bits(part) for part in field.parts] for field in self.fields]
        return [[Curve((0.0, 1.0), (0.0, share), None) for share in shares] for shares in self._shares()]

    def _shares(self) -> list[list[float]]:
        total = sum(_weight(field) for field in self.fields)
        result = []
        for field in self.fields:
            parts = sum(_weight(part) for part in field.parts)
            result.append([_weight(field) / total * (_weight(part) / parts) for part in field.parts])
        return result

    def score(self, total: float) -> float:
        """Return the score, from 0 to 1, that corresponds to a total."""
        return 1 / (1 + 2 ** min(-total, 1000.0)) if self.scoring == "log-odds" else total

    def total(self, score: float) -> float:
        """Return the total that corresponds to a score.

        With log-odds scoring, the totals that correspond to the scores 0 and 1 are infinite.
        """
        if self.scoring == "mean":
            return score
        if not 0 < score < 1:
            return math.copysign(math.inf, score - 0.5)
        return -math.log2(1 / score - 1)

    @model_validator(mode="after")
    def _check(self) -> Model:
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two fields are named {name!r}: rename one of them")
        for part in (part for field in self.fields for part in field.parts):
            if part.feature not in FEATURES:
                raise ValueError(f"unknown feature {part.feature!r}: choose one of {', '.join(FEATURES)}")
            if FEATURES[part.feature].kind not in KINDS[part.comparer]:
                raise ValueError(
                    f"comparer {part.comparer!r} cannot compare feature {part.feature!r}, "
                    f"which is {FEATURES[part.feature].kind}: choose another comparer"
                )
        for one in (self, *self.fields, *(part for field in self.fields for part in field.parts)):
            _check_scoring(one, self.scoring)
        for feature in self.prefer:
            self.preferring(feature)
        return self

    def preferring(self, feature: str) -> int:
        """Return the index, among the parts of all fields, of the first part that compares this feature's exact value.

        Raises ValueError if no part does.
        """
        parts = [part for field in self.fields for part in field.parts]
        for number, part in enumerate(parts):
            if part.feature == feature and part.comparer in EQUALITY:
                return number
        raise ValueError(
            f"'prefer' names {feature!r}, but no part compares its exact value: add a part for it with one of the "
            f"comparers {', '.join(EQUALITY)}"
        )


def _weight(one: ModelField | Part) -> float:
    return 1.0 if one.weight is None else one.weight


def _of_bits(part: Part) -> Curve:
    points = part.curve or ()
    return Curve(tuple(x for x, _ in points), tuple(y for _, y in points), part.unknown or 0.0)


FOREIGN = {"mean": ("prior", "curve", "unknown"), "log-odds": ("weight",)}


def _check_scoring(one: Model | ModelField | Part, scoring: str) -> None:
    """Raise ValueError if a setting that `scoring` needs is missing, or if one that `scoring` excludes is present."""
    name = one.name or getattr(one, "feature", "")
    for foreign in FOREIGN[scoring]:
        if getattr(one, foreign, None) is not None:
            raise ValueError(
                f"{name!r} has {foreign!r}, which a model with scoring = {scoring!r} cannot have: remove it"
            )
    if scoring == "mean" or isinstance(one, ModelField):
        return
    if isinstance(one, Model):
        if one.prior is None:
            raise ValueError("scoring = 'log-odds' needs 'prior': the odds, in bits, that any two jobs match")
        return
    similarities = [similarity for similarity, _ in one.curve or ()]
    if len(similarities) < 2 or similarities != sorted(set(similarities)) or similarities[0] or similarities[-1] != 1:
        raise ValueError(
            f"{name!r} needs a 'curve' of points [similarity, bits] with similarities increasing from 0 to 1"
        )


def presets() -> dict[str, Path]:
    """Return a dictionary from the names of the models that come with Reprise to the paths of their files."""
    return {path.stem: path for path in sorted(PRESETS.glob("*.toml"))}


def load(name_or_path: str | Path, threshold: float | None = None) -> Model:
    """Read a preset by its name (`thesis`) or a model file by its path; `threshold` overrides the model's threshold.

    Raises LinkageError with a message of one line.
    """
    path = presets().get(str(name_or_path), Path(name_or_path))
    try:
        data = read_toml(path)
    except ConfigError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            known = ", ".join(presets())
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
