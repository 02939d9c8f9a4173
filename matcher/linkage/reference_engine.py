# SPDX-License-Identifier: Apache-2.0
"""Reference engine: the simplest implementation of docs/reference/linkage-model.md, with recordlinkage and pandas.

Tests compare the daemon's engine with the reference engine. The two engines share the model, the features and the
result's classes, but not the computation. Importing this module takes a second, so no module of the daemon may import
it.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from fractions import Fraction
from typing import Any, assert_never
from zoneinfo import ZoneInfo

import pandas as pd
import recordlinkage
import recordlinkage.compare
from jellyfish import levenshtein_distance
from recordlinkage.base import BaseCompareFeature

from reprise.matcher.linkage.features import FEATURES
from reprise.matcher.linkage.linkage_model import (
    Absolute,
    Circular,
    Curve,
    Exact,
    HammingPart,
    LevenshteinPart,
    Model,
    OptionsPart,
    Part,
    Ratio,
    SameSide,
    SoftTfIdfPart,
)
from reprise.matcher.linkage.linkage_result import PRIOR, FieldScore, LinkableRecord, Linkage, Match, PartScore
from reprise.matcher.submission.metadata import JobMetadata

DECIMALS = 12
"""Number of decimals to which totals and scores are rounded."""

SLACK = 1e-9
"""Tolerance of the inner threshold, because 1 - 4/5 is not exactly 0.2 in floats. Two tokens are paired if their
similarity is at least the inner threshold minus this tolerance."""

FIRST_IDEOGRAPH = 0x4E00
"""First of about 20,000 ideographs, which never combine with neighboring characters."""

Tokens = tuple[str, ...]
Options = Mapping[str, Iterable[str]]


@dataclass(frozen=True)
class _Column:
    """A part of the model, and its column's name in the data frames, which is unique even if two labels are equal."""

    name: str
    part: Part
    curve: Curve


class Reference:
    """Engine that links new jobs to `records` under `model`; its interface is that of `engine.Engine`."""

    def __init__(
        self, model: Model, records: Sequence[LinkableRecord], *, cluster_nodes: int, timezone: str = ""
    ) -> None:
        self.model = model
        self.records = tuple(records)
        self._zone: tzinfo | None = ZoneInfo(timezone) if timezone else None
        self._columns = [
            [_Column(f"{i}.{j}", part, curve) for j, (part, curve) in enumerate(zip(field.parts, curves, strict=True))]
            for i, (field, curves) in enumerate(zip(model.fields, model.curves(), strict=True))
        ]
        self._right = self._frame([record.metadata for record in self.records])
        self._compare = recordlinkage.Compare(
            [
                _compare_feature(column, self._right[column.name], cluster_nodes)
                for column in itertools.chain(*self._columns)
            ]
        )

    def link(self, metadata: JobMetadata, k: int = 5, among: Container[int] | None = None) -> Linkage:
        """Return the `k` nearest records, best first, with explanations.

        `among` restricts the result to records with these ids.

        Records that reach the threshold come first. Among those, records whose values of the model's preferred features
        (`Model.prefer`) equal the job's values come first. Otherwise, records are ordered by score, then from the
        newest to the oldest, then by decreasing gain, then by id. Records outside `among` still count in the
        frequencies of path tokens.
        """
        rows = [row for row, record in enumerate(self.records) if among is None or record.id in among]
        left = self._frame([metadata])
        pairs = pd.MultiIndex.from_product([left.index, rows])
        similarities = self._compare.compute(pairs, left, self._right).droplevel(0)
        contributions = self._contributions(left, similarities)
        totals = [round(math.fsum([self.model.offset, *row]), DECIMALS) for row in contributions.values]
        frame = pd.DataFrame(
            {
                "preferred": [
                    self._preferred(metadata, self.records[row].metadata, total)
                    for row, total in zip(rows, totals, strict=True)
                ],
                "total": totals,
                "created_at": [self.records[row].created_at for row in rows],
                "gain": [self.records[row].gain for row in rows],
                "id": [self.records[row].id for row in rows],
            },
            index=rows,
        ).sort_values(["preferred", "total", "created_at", "gain", "id"], ascending=[*[False] * 4, True])
        return Linkage(
            self.model.label,
            self.model.threshold,
            tuple(
                Match(
                    self.records[row],
                    round(self.model.score(total), DECIMALS),
                    self._explain(metadata, self.records[row].metadata, similarities.loc[row], contributions.loc[row]),
                )
                for row, total in frame["total"].head(k).items()
            ),
        )

    def _preferred(self, new: JobMetadata, record: JobMetadata, total: float) -> tuple[bool, ...]:
        """Return the primary sort key, a tuple of truth values, of a record with this total.

        The first value is whether the record reaches the threshold. If so, one more value follows for each preferred
        feature: whether the record has the job's value.
        """
        if round(self.model.score(total), DECIMALS) < self.model.threshold:
            return (False,)
        values = [[FEATURES[name].of(job, self._zone) for job in (new, record)] for name in self.model.prefer]
        return (True, *(left == right and not _unknown(left) for left, right in values))

    def _frame(self, jobs: Sequence[JobMetadata]) -> pd.DataFrame:
        """Return a data frame of the values to compare, with one row per job.

        The columns have the type `object`, so that pandas keeps integers and None.
        """
        return pd.DataFrame(
            {
                column.name: pd.Series(
                    [_comparable(column.part, self._value(column.part, job)) for job in jobs], dtype=object
                )
                for column in itertools.chain(*self._columns)
            }
        )

    def _value(self, part: Part, metadata: JobMetadata) -> Any:
        return FEATURES[part.feature].of(metadata, self._zone)

    def _contributions(self, left: pd.DataFrame, similarities: pd.DataFrame) -> pd.DataFrame:
        """Return a data frame with the contribution of each similarity to the total."""
        added = {}
        for column in itertools.chain(*self._columns):
            name, curve = column.name, column.curve
            heights = [_height(curve, similarity) for similarity in similarities[name].tolist()]
            if curve.unknown is not None:
                new_is_unknown = _unknown(left[name][0])
                known = self._right[name].loc[similarities.index].tolist()
                heights = [
                    curve.unknown if new_is_unknown or _unknown(value) else height
                    for value, height in zip(known, heights, strict=True)
                ]
            added[name] = heights
        return pd.DataFrame(added, index=similarities.index, dtype=float)

    def _explain(
        self, left: JobMetadata, right: JobMetadata, similarities: Mapping[str, float], added: Mapping[str, float]
    ) -> tuple[FieldScore, ...]:
        fields = []
        if self.model.scoring == "log-odds":
            fields.append(FieldScore(PRIOR, None, None, 0.0, 0.0, self.model.offset, ()))
        for field, columns in zip(self.model.fields, self._columns, strict=True):
            parts = tuple(
                PartScore(
                    name=column.part.label,
                    comparer=column.part.comparer,
                    left=_shown(self._value(column.part, left)),
                    right=_shown(self._value(column.part, right)),
                    similarity=float(similarities[column.name]),
                    weight=column.curve.most,
                    contribution=float(added[column.name]),
                )
                for column in columns
            )
            fields.append(_field_score(field.name, parts))
        return tuple(fields)


def _field_score(name: str, parts: tuple[PartScore, ...]) -> FieldScore:
    weights = [part.weight if part.weight > 0 else 0.0 for part in parts]
    if math.fsum(weights) == 0:
        weights = [1.0 for _ in parts]
    return FieldScore(
        name=name,
        left=parts[0].left if len(parts) == 1 else None,
        right=parts[0].right if len(parts) == 1 else None,
        similarity=math.fsum(a * part.similarity for a, part in zip(weights, parts, strict=True)) / math.fsum(weights),
        weight=math.fsum(part.weight for part in parts),
        contribution=math.fsum(part.contribution for part in parts),
        parts=parts,
    )


def _shown(value: Any) -> Any:
    """Return a value in a form that can be converted to JSON."""
    return {key: list(values) for key, values in value.items()} if isinstance(value, Mapping) else value


def _height(curve: Curve, similarity: float) -> float:
    """Return the value of the curve at a similarity."""
    points = list(zip(curve.similarities, curve.values, strict=True))
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if similarity <= x1:
            return y0 + (y1 - y0) * (similarity - x0) / (x1 - x0)
    raise ValueError(f"a similarity of {similarity} is beyond the curve's end")


def _comparable(part: Part, value: Any) -> Any:
    """Return a feature's value in the form that the part compares."""
    if isinstance(part, LevenshteinPart) and part.clean:
        value = _letters_and_digits(_letters_and_digits(value).lower())
    if isinstance(part, LevenshteinPart | SoftTfIdfPart) and not part.digits:
        value = "".join(character for character in value if unicodedata.category(character) != "Nd")
    if isinstance(part, SoftTfIdfPart):
        return _tokens(value, part.separators)
    return value


def _letters_and_digits(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character)[0] in "LN")


def _tokens(text: str, separators: str) -> Tokens:
    words = [""]
    for character in text:
        if character in separators:
            words.append("")
        else:
            words[-1] += character
    return tuple(word for word in words if word)


def _unknown(comparable: Any) -> bool:
    """Return whether a comparable value is unknown: None, an empty text or no tokens."""
    return comparable is None or comparable in ("", ())


def _compare_feature(column: _Column, records: pd.Series, cluster_nodes: int) -> BaseCompareFeature:
    name = column.name
    match column.part:
        case LevenshteinPart():
            return _Levenshtein(name)
        case HammingPart():
            return _Hamming(name)
        case SoftTfIdfPart(inner_threshold=inner_threshold):
            return _SoftTfIdf(name, records, inner_threshold)
        case OptionsPart():
            return _Options(name)
        case Circular(period=period):
            return _Circular(name, period)
        case SameSide(start=start, end=end):
            return _SameSide(name, start, end)
        case Ratio():
            return _Ratio(name)
        case Absolute(maximum=maximum):
            return _Absolute(name, cluster_nodes if maximum is None else maximum)
        case Exact():
            # two unknown numbers must count as different; they do, because pandas treats two None values as different
            return recordlinkage.compare.Exact(name, name, label=name)
        case _:
            assert_never(column.part)


class _Pairwise(BaseCompareFeature):  # type: ignore[misc]  # recordlinkage has no types
    """Comparison of values pair by pair. None means an unknown number, whose similarity to every value is 0."""

    def __init__(self, name: str) -> None:
        super().__init__(name, name, label=name)

    def _compute_vectorized(self, left: pd.Series, right: pd.Series) -> pd.Series:
        pairs = zip(left, right, strict=True)
        return pd.Series([0.0 if a is None or b is None else self.similarity(a, b) for a, b in pairs], dtype=float)

    def similarity(self, left: Any, right: Any) -> float:
        raise NotImplementedError


class _Levenshtein(_Pairwise):
    """Similarity by edit distance, used instead of `recordlinkage.compare.String`.

    `recordlinkage.compare.String` treats two empty texts as different. It also divides jellyfish's edits, which count
    grapheme clusters, by a number of code points.
    """

    def similarity(self, left: str, right: str) -> float:
        return _likeness(left, right)


class _Hamming(_Pairwise):
    def similarity(self, left: str, right: str) -> float:
        longer = max(len(left), len(right))
        return sum(a == b for a, b in zip(left, right, strict=False)) / longer if longer else 1.0


def _likeness(left: str, right: str) -> float:
    longer = max(len(left), len(right))
    return 1 - _edits(left, right) / longer if longer else 1.0


def _edits(left: str, right: str) -> int:
    """Return the number of edits between two texts, counted in code points.

    Jellyfish treats a letter with a combining accent as one character, and rejects surrogates. Each code point is
    therefore replaced by an ideograph, which does not change the number of edits.
    """
    if left.isascii() and right.isascii() and "\r\n" not in left + right:
        return int(levenshtein_distance(left, right))
    spelling = {ord(character): FIRST_IDEOGRAPH + number for number, character in enumerate({*left, *right})}
    return int(levenshtein_distance(left.translate(spelling), right.translate(spelling)))


class _SoftTfIdf(_Pairwise):
    """Comparison by soft TF-IDF; the new job, `left`, counts as one document in addition to `records`."""

    def __init__(self, name: str, records: Iterable[Tokens], inner_threshold: float) -> None:
        super().__init__(name)
        self._documents = [set(tokens) for tokens in records]
        self._holding = Counter(token for document in self._documents for token in document)
        self._inner_threshold = inner_threshold

    def similarity(self, left: Tokens, right: Tokens) -> float:
        if not left or not right:
            return 1.0 if left == right else 0.0
        of_left, of_right = self._weights(left, left), self._weights(right, left)
        common = of_left.keys() & of_right.keys()
        pairs = [(token, token, 1.0) for token in common]
        pairs += self._pairs(
            {token: weight for token, weight in of_left.items() if token not in common},
            {token: weight for token, weight in of_right.items() if token not in common},
        )
        return min(1.0, math.fsum(of_left[a] * of_right[b] * likeness for a, b, likeness in pairs))

    def _weights(self, tokens: Tokens, new: Tokens) -> dict[str, float]:
        number = len(self._documents) + 1
        weights = {}
        for token in set(tokens):
            holding = self._holding[token] + (token in new)
            weights[token] = math.log(1 + tokens.count(token)) * math.log(1 + number / holding)
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
        return {token: weight / length for token, weight in weights.items()}

    def _pairs(self, left: Mapping[str, float], right: Mapping[str, float]) -> list[tuple[str, str, float]]:
        candidates = [(a, b, _likeness(a, b)) for a in left for b in right]
        candidates = [pair for pair in candidates if pair[2] >= self._inner_threshold - SLACK]
        candidates.sort(key=lambda pair: (-pair[2], -left[pair[0]] * right[pair[1]], sorted(pair[:2])))
        pairs: list[tuple[str, str, float]] = []
        for a, b, likeness in candidates:
            if all(a != other_a and b != other_b for other_a, other_b, _ in pairs):
                pairs.append((a, b, likeness))
        return pairs


class _Options(_Pairwise):
    def similarity(self, left: Options, right: Options) -> float:
        keys = {*left, *right}
        if not keys:
            return 1.0
        shares = []
        for key in keys:
            if key in left and key in right:
                ours, theirs = set(left[key]), set(right[key])
                shares.append(len(ours & theirs) / len(ours | theirs) if ours or theirs else 1.0)
        return math.fsum(shares) / len(keys)


class _Circular(_Pairwise):
    def __init__(self, name: str, period: float) -> None:
        super().__init__(name)
        self._period = Fraction(period)

    def similarity(self, left: float, right: float) -> float:
        turn = (Fraction(left) - Fraction(right)) / self._period % 1
        return 1 - math.sin(math.pi * float(min(turn, 1 - turn)))


class _SameSide(_Pairwise):
    def __init__(self, name: str, start: float, end: float) -> None:
        super().__init__(name)
        self._start, self._end = start, end

    def similarity(self, left: float, right: float) -> float:
        return 1.0 if self._inside(left) == self._inside(right) else 0.0

    def _inside(self, value: float) -> bool:
        if self._start > self._end:
            return not self._end <= value < self._start
        return self._start <= value < self._end


class _Ratio(_Pairwise):
    def similarity(self, left: float, right: float) -> float:
        if left == right:
            return 1.0
        smaller, larger = sorted([left, right])
        return smaller / larger if smaller > 0 else 0.0


class _Absolute(_Pairwise):
    def __init__(self, name: str, maximum: float) -> None:
        super().__init__(name)
        self._maximum = maximum

    def similarity(self, left: float, right: float) -> float:
        difference = abs(left - right)
        return 1 - difference / self._maximum if difference < self._maximum else 0.0
