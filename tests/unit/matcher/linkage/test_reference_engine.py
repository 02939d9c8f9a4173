# SPDX-License-Identifier: Apache-2.0
"""Test that the reference engine and the daemon's engine agree for any model, records and job."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.linkage import Engine, LinkableRecord, Linkage, Model, comparers, load
from reprise.matcher.linkage.features import FEATURES
from reprise.matcher.linkage.linkage_model import EQUALITY, KINDS, presets
from reprise.matcher.submission.metadata import JobMetadata
from tests.examples import examples


def both() -> tuple[type[Any], type[Any]]:
    """Return the classes of the two engines."""
    from reprise.matcher.linkage.reference_engine import Reference  # imports recordlinkage, which takes 2 s

    return Engine, Reference


PRESETS = [load(name) for name in presets()]

WORDS = st.sampled_from(
    [
        *("simulation10", "simulation11", "simulation21", "simulation1", "simulatiom", "lattice", "lattices", "home"),
        *("ant", "Ant", "aunt", "2", "abcde", "axxxx", "-", "e\u0301t\u00e9", "\u00e9te\u0301", "\u0130zmir", "izmir"),
        *("\u03a3\u03a3", "\u00df", "\u00bd", "\u1112\u1161\u11ab", "\u0e01\u0e33", "\U0001f468\u200d\U0001f469"),
        *("\r\n", "\x00", "\udc80"),
    ]
)
SEPARATORS = st.sampled_from(["/", "_", ".", "//", "__.", "-", ""])
PATHS = st.lists(st.tuples(SEPARATORS, WORDS), max_size=7).map(lambda words: "".join(itertools.chain(*words)))
TEXTS = PATHS | st.text(max_size=4)
# At most 2**53 - 1, because these tests also compare sizes by the circular comparer, which converts them to floats, and
# a float cannot represent every larger integer.
SIZES = st.none() | st.integers(0, 8) | st.sampled_from([-1, 2**31 - 1, 2**53 - 1])
HUGE = SIZES | st.sampled_from([2**53, 2**53 + 1, 2**63, 10**24, 10**24 + 1])
TIMES = st.sampled_from([0.0, 1e9, 1.7e9, 1.7e9 + 60, 1.7e9 + 43200, 2**31 + 0.5, 253_402_000_000.0])
IO_PATTERNS = ["read/shared/strided", "write/shared/contiguous", "write/shared/strided"]
JOBS = st.builds(
    JobMetadata,
    user=st.sampled_from(["", "alice", "bob"]),
    job_name=TEXTS,
    program=TEXTS,
    path=PATHS,
    options=st.dictionaries(WORDS, st.lists(WORDS, max_size=3).map(tuple), max_size=4),
    submit_time=TIMES | st.integers(0, 2_000_000_000).map(float),
    nodes=HUGE,
    tasks=HUGE,
    tasks_per_node=SIZES,
    partition=TEXTS,
    account=st.sampled_from(["", "a", "b"]),
    directory=PATHS,
    launcher=st.sampled_from(["", "srun", "mpirun"]),
    modules=st.lists(WORDS, max_size=3).map(tuple),
    script=st.sampled_from(["", "ab", "abc", "xbc", "abcd"]),
    build_id=st.sampled_from(["", "a1", "b2"]),
    functions=st.sampled_from(["", 32 * "f", 31 * "f" + "g", "f"]),
    imports=st.sampled_from(["", 32 * "i", 8 * "abcd"]),
    contents=st.sampled_from(["", 32 * "c", 16 * "cd"]),
    io_patterns=st.sets(st.sampled_from(IO_PATTERNS)).map(sorted).map(tuple),
)


@st.composite
def relatives(draw: st.DrawFn, job: JobMetadata) -> JobMetadata:
    """Draw a job that differs from `job`: texts and options differ, and sometimes the time or a size."""
    changes: dict[str, Any] = {}
    for name in ("job_name", "program", "path", "directory"):
        text = getattr(job, name)
        cut = draw(st.integers(0, len(text)))
        changes[name] = text[:cut] + draw(st.sampled_from(["", "1", "/", "\u0301"])) + text[cut + draw(st.booleans()) :]
    changes["options"] = {key: (*values[: draw(st.integers(0, 3))], "2") for key, values in job.options.items()}
    for name in draw(
        st.lists(st.sampled_from(["options", "submit_time", "nodes", "tasks", "tasks_per_node"]), unique=True)
    ):
        changes[name] = getattr(draw(JOBS), name)
    return dataclasses.replace(job, **changes)


@st.composite
def sites(draw: st.DrawFn) -> tuple[list[LinkableRecord], JobMetadata]:
    """Draw records, often equal or nearly equal, and a job that is similar to some of these records."""
    job, other = draw(JOBS), draw(JOBS)
    pool = [job, draw(relatives(job)), draw(relatives(job)), other, draw(relatives(other))]
    known = [draw(st.sampled_from(pool)) for _ in range(draw(st.sampled_from([4, 9, 1, 0])))]
    numbers = draw(st.permutations([*range(1, len(known)), 2**62][: len(known)]))
    created = st.sampled_from([0.0, 1.0, 1.5, 1e9])
    gains = st.sampled_from([-0.5, 0.1, 0.2])
    return [
        LinkableRecord(number, one, draw(created), draw(gains)) for number, one in zip(numbers, known, strict=True)
    ], job


def model(fields: list[dict[str, Any]], **settings_of_model: Any) -> Model:
    data: dict[str, Any] = {
        "name": "drawn",
        "version": 1,
        "threshold": 0.5,
        "evidence": {"text": "none"},
        "fields": fields,
    }
    return Model.model_validate(data | settings_of_model)


TENTHS = st.integers(1, 9).map(lambda tenths: tenths / 10)
QUARTER_BITS = st.integers(-80, 80).map(lambda quarters: quarters / 4)
CURVES = st.builds(
    lambda inner, bits: [list(point) for point in zip([0.0, *sorted(inner), 1.0], bits, strict=False)],
    st.sets(TENTHS, max_size=3),
    st.lists(QUARTER_BITS, min_size=5, max_size=5),
)
OF_COMPARER: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "exact": {},
    "levenshtein": {"clean": st.booleans(), "digits": st.booleans()},
    "hamming": {},
    "soft-tfidf": {
        "digits": st.booleans(),
        "separators": st.sampled_from(["/_.", "/", "-/", "e", "\u0301/"]),
        "inner_threshold": st.sampled_from([0.1, 0.2, 0.5, 2 / 3, 0.7, 0.8, 0.9, 1.0]),
    },
    "options": {},
    "circular": {"period": st.sampled_from([7, 24, 60, 0.1, 1e-300, 1e300])},
    "same-side": {"start": st.integers(-1, 24), "end": st.integers(-1, 24)},
    "ratio": {},
    "absolute": {"maximum": st.none() | st.sampled_from([0.5, 3, 4096, 5e-324, 1e300])},
}


@st.composite
def parts(draw: st.DrawFn, scoring: str) -> dict[str, Any]:
    comparer = draw(st.sampled_from(list(OF_COMPARER)))
    features = [name for name, feature in FEATURES.items() if feature.kind in KINDS[comparer]]
    if comparer == "circular":
        features = [name for name in features if name not in ("nodes", "tasks")]
    part: dict[str, Any] = {"comparer": comparer, "feature": draw(st.sampled_from(features))}
    part |= {"name": draw(st.sampled_from(["", "x"]))}
    part |= {name: value for name, values in OF_COMPARER[comparer].items() if (value := draw(values)) is not None}
    if scoring == "log-odds":
        part |= {"curve": draw(CURVES), "unknown": draw(QUARTER_BITS)}
    elif draw(st.booleans()):
        part["weight"] = draw(st.sampled_from([1e-6, 0.1, 2, 3, 1e6]))
    return part


@st.composite
def models(draw: st.DrawFn) -> Model:
    scoring = draw(st.sampled_from(["mean", "log-odds"]))
    fields: list[dict[str, Any]] = [
        {"name": f"field {number}", "parts": draw(st.lists(parts(scoring), min_size=1, max_size=3))}
        for number in range(draw(st.integers(1, 4)))
    ]
    compared = [part["feature"] for field in fields for part in field["parts"] if part["comparer"] in EQUALITY]
    more: dict[str, Any] = {"threshold": draw(st.sampled_from([0.5, 0.5, 0.0, 0.2, 0.9, 1.0]))}
    if compared:
        more["prefer"] = draw(st.lists(st.sampled_from(compared), max_size=2))
    if scoring == "log-odds":
        return model(fields, scoring="log-odds", prior=draw(QUARTER_BITS), **more)
    for field in fields:
        field["weight"] = draw(st.sampled_from([1, 1, 0.5, 1e-6, 1e6]))
    return model(fields, **more)


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-9, rel=1e-9)


def assert_same(fast: Linkage, reference: Linkage) -> None:
    assert (fast.model, fast.threshold) == (reference.model, reference.threshold)
    for ours, theirs in zip(fast.matches, reference.matches, strict=True):
        assert ours.score == close(theirs.score)
        for field, expected in zip(ours.fields, theirs.fields, strict=True):
            assert (field.name, field.left, field.right) == (expected.name, expected.left, expected.right)
            for name in ("similarity", "weight", "contribution"):
                assert getattr(field, name) == close(getattr(expected, name)), (field, expected)
            for part, other in zip(field.parts, expected.parts, strict=True):
                for name in ("similarity", "weight", "contribution"):
                    assert getattr(part, name) == close(getattr(other, name)), (part, other)
                assert (part.name, part.comparer) == (other.name, other.comparer)
                assert (part.left, part.right) == (other.left, other.right)
    assert [match.record.id for match in fast.matches] == [match.record.id for match in reference.matches]


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(
    linkage_model=st.sampled_from(PRESETS) | models(),
    site=sites(),
    cluster_nodes=st.sampled_from([1, 5, 2**20]),
    timezone=st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu"]),
    k=st.integers(0, 10),
    among=st.none() | st.sets(st.integers(1, 9)),
)
def test_both_engines_agree(
    linkage_model: Model,
    site: tuple[list[LinkableRecord], JobMetadata],
    cluster_nodes: int,
    timezone: str,
    k: int,
    among: set[int] | None,
) -> None:
    records, job = site
    fast, reference = (
        kind(linkage_model, records, cluster_nodes=cluster_nodes, timezone=timezone).link(job, k, among)
        for kind in both()
    )
    assert_same(fast, reference)


def test_every_comparer_is_among_the_random_models() -> None:
    assert OF_COMPARER.keys() == KINDS.keys()


def large_site(seed: int, size: int) -> tuple[list[LinkableRecord], list[JobMetadata]]:
    """Return records and jobs with more distinct values than the strategy `sites` draws, to test other code paths."""
    rng = random.Random(seed)  # noqa: S311 - not used for security
    names = ("simulation1", "simulation2", "simulation3", "code", "ant")
    words = ["home", "scratch", "bin", *(f"{name}{number}" for name in names for number in range(10))]

    def path() -> str:
        return "".join(rng.choice("/_.") + rng.choice(words) for _ in range(rng.randint(0, 6)))

    def job() -> JobMetadata:
        return JobMetadata(
            user=rng.choice(["", "alice", "bob", "carol"]),
            job_name=path(),
            program=rng.choice(words),
            path=path(),
            options={rng.choice(words): tuple(rng.sample(words, rng.randint(0, 2))) for _ in range(rng.randint(0, 3))},
            submit_time=float(rng.randrange(2_000_000_000)),
            nodes=rng.choice([None, rng.randint(1, 8), rng.randrange(2**20)]),
            tasks=rng.choice([None, rng.randrange(2**20), 10 ** rng.randint(1, 24)]),
            tasks_per_node=rng.choice([None, rng.randrange(2**53)]),
            directory=path(),
            modules=tuple(rng.sample(words, rng.randint(0, 3))),
            script="".join(rng.choices("01234", k=8)),
        )

    jobs = [job() for _ in range(size)]
    known = [*jobs, *rng.sample(jobs, size // 10)]
    records = [LinkableRecord(n, one, float(rng.randint(0, 9)), rng.random()) for n, one in enumerate(known)]
    return records, [*rng.sample(jobs, 2), job()]


LOG_ODDS_PARTS: list[dict[str, Any]] = [
    {"feature": "user", "comparer": "exact", "curve": [[0, -1], [1, 4]], "unknown": 0.5},
    {
        "feature": "path",
        "comparer": "soft-tfidf",
        "inner_threshold": 0.8,
        "curve": [[0, -3], [0.5, -4], [0.9, 5], [1, 7]],
        "unknown": -1,
    },
    {"feature": "directory", "comparer": "soft-tfidf", "separators": "/", "curve": [[0, -1], [1, 3]]},
    {"feature": "job_name", "comparer": "levenshtein", "clean": False, "curve": [[0, 1], [0.3, -2], [1, 4]]},
    {"feature": "options", "comparer": "options", "curve": [[0, -1], [1, 2]]},
    {"feature": "option_keys", "comparer": "options", "curve": [[0, -1], [1, 2]]},
    {"feature": "executable", "comparer": "soft-tfidf", "digits": False, "curve": [[0, -1], [0.5, 0], [1, 2]]},
    {"feature": "script", "comparer": "hamming", "curve": [[0, -1], [0.5, 0], [1, 2]], "unknown": -1},
    {"feature": "build_id", "comparer": "exact", "curve": [[0, -1], [1, 4]]},
    {"feature": "functions", "comparer": "hamming", "curve": [[0, -2], [0.5, 0], [1, 3]], "unknown": 0.5},
    {"feature": "imports", "comparer": "hamming", "curve": [[0, -1], [1, 1]]},
    {"feature": "contents", "comparer": "hamming", "curve": [[0, -2], [0.3, 1], [1, 2]], "unknown": -0.5},
    {"feature": "nodes", "comparer": "ratio", "curve": [[0, -2], [0.5, 0], [1, 2]], "unknown": -0.5},
    {"feature": "tasks", "comparer": "absolute", "maximum": 5000, "curve": [[0, -1], [1, 2]]},
    {"feature": "tasks_per_node", "comparer": "circular", "period": 7, "curve": [[0, -1], [1, 1]], "unknown": 0.25},
]
ODDS_FIELDS = [{"name": part["feature"], "parts": [part]} for part in LOG_ODDS_PARTS]
ODDS = model(ODDS_FIELDS, scoring="log-odds", prior=-4)
CHOOSY = model(ODDS_FIELDS, name="choosy", scoring="log-odds", prior=-4, threshold=0.3, prefer=["nodes", "user"])


@pytest.mark.slow
@pytest.mark.parametrize("linkage_model", [*PRESETS, ODDS, CHOOSY], ids=lambda one: one.label)
def test_both_engines_agree_on_a_thousand_records(linkage_model: Model) -> None:
    records, jobs = large_site(seed=1, size=1000)
    fast, reference = (kind(linkage_model, records, cluster_nodes=256, timezone="UTC") for kind in both())
    for job in jobs:
        assert_same(fast.link(job, k=50), reference.link(job, k=50))


# --- cases in which the engines once differed, or might differ


@pytest.mark.slow
def test_a_token_just_at_the_inner_threshold_is_found_among_many() -> None:
    of_path = model(
        [{"name": "path", "parts": [{"feature": "path", "comparer": "soft-tfidf", "inner_threshold": 0.8}]}]
    )
    near, many = JobMetadata("alice", path="/x/lattu"), [JobMetadata("alice", path=f"/home/{n}") for n in range(1500)]
    assert best_of_both(of_path, [*many, near], JobMetadata("alice", path="/home/lattx/y")) == near


@pytest.mark.parametrize("rounds", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_values_many_periods_apart_are_compared_correctly_among_many(rounds: int) -> None:
    of_tasks = model([{"name": "tasks", "parts": [{"feature": "tasks", "comparer": "circular", "period": 7}]}])
    same, *others = [JobMetadata("alice", tasks=7 * 10**14 + number) for number in range(1, 8)]
    many = [JobMetadata("alice", tasks=(other.tasks or 0) + 7 * n) for other in others for n in range(rounds)]
    assert best_of_both(of_tasks, [*many, same], JobMetadata("alice", tasks=1)) == same


def best_of_both(linkage_model: Model, known: list[JobMetadata], job: JobMetadata) -> JobMetadata:
    """Check that both engines agree, and return the job of the best match."""
    records = [LinkableRecord(number, one, 0.0, 0.0) for number, one in enumerate(known)]
    fast, reference = (kind(linkage_model, records, cluster_nodes=5, timezone="UTC").link(job) for kind in both())
    assert_same(fast, reference)
    assert reference.best
    best: JobMetadata = reference.best.record.metadata
    return best


@pytest.mark.parametrize(
    ("part", "left", "right", "expected"),
    [
        pytest.param({"comparer": "levenshtein"}, "\u0130zmir", "izmir", 1, id="a lower case of two characters"),
        pytest.param({"comparer": "levenshtein"}, "", "-", 1, id="two empty texts"),
        pytest.param(
            {"comparer": "levenshtein", "clean": False}, "e\u0301", "e", 0.5, id="an accent is a character of its own"
        ),
        pytest.param({"comparer": "levenshtein", "clean": False}, "\udc80", "\udc81", 0, id="surrogates"),
        pytest.param(
            {"comparer": "levenshtein", "clean": False}, "a\r\n", "a", 1 / 3, id="a line end is two characters"
        ),
        pytest.param(
            {"comparer": "soft-tfidf", "inner_threshold": 0.2}, "abcde", "axxxx", 0.2, id="just at the inner threshold"
        ),
        pytest.param(
            {"comparer": "soft-tfidf", "inner_threshold": 0.8}, "abcde", "abcdx", 0.8, id="one edit in five characters"
        ),
        pytest.param({"comparer": "soft-tfidf"}, "/", "", 1, id="no tokens"),
        pytest.param(
            {"comparer": "circular", "period": 7},
            0,
            10**15,
            1 - math.sin(math.pi / 7),
            id="many times round the circle",
        ),
        pytest.param({"comparer": "circular", "period": 5e-324}, 0, 7, 1, id="the shortest of periods"),
        pytest.param({"comparer": "ratio"}, 0, 0, 1, id="equal, and not positive"),
        pytest.param({"comparer": "ratio"}, 10**24, 10**24 + 1, 1, id="larger than machine words"),
        pytest.param({"comparer": "absolute", "maximum": 5e-324}, 1, 2, 0, id="the smallest of maxima"),
        pytest.param({"comparer": "exact", "feature": "tasks"}, None, None, 0, id="two unknown numbers"),
        pytest.param({"comparer": "exact", "feature": "tasks"}, 2**53, 2**53 + 1, 0, id="one float, two numbers"),
    ],
)
def test_both_engines_agree_in_odd_cases(part: dict[str, Any], left: Any, right: Any, expected: float) -> None:
    feature = part.get("feature", "directory" if isinstance(left, str) else "tasks")
    of_one_part = model([{"name": "field", "parts": [part | {"feature": feature}]}])
    job, known = (dataclasses.replace(JobMetadata("alice"), **{feature: value}) for value in (left, right))
    for kind in both():
        best = kind(of_one_part, [LinkableRecord(1, known, 0.0, 0.0)], cluster_nodes=5, timezone="UTC").link(job).best
        assert best and best.score == pytest.approx(expected, abs=1e-9), kind


def test_log_odds_beyond_the_range_of_a_float_score_zero() -> None:
    part = {"feature": "user", "comparer": "exact", "curve": [[0, -100], [1, 100]], "unknown": 0}
    long = model([{"name": str(n), "parts": [part]} for n in range(12)], scoring="log-odds", prior=-100)
    records = [LinkableRecord(1, JobMetadata("bob"), 0.0, 0.0), LinkableRecord(2, JobMetadata("alice"), 0.0, 0.0)]
    for kind in both():
        matches = kind(long, records, cluster_nodes=5, timezone="UTC").link(JobMetadata("alice")).matches
        assert [(match.record.id, match.score) for match in matches] == [(2, 1.0), (1, 0.0)], kind


def test_circular_similarity_is_exactly_equal_in_both_directions() -> None:
    for hours in range(24):
        assert (
            comparers.circular(0, hours, 24)
            == comparers.circular(24 - hours, 0, 24)
            == comparers.circular(hours, 0, 24)
        )


def test_sums_over_options_do_not_depend_on_their_order() -> None:
    tenths = {str(key): frozenset(map(str, range(10))) for key in range(10)}
    assert comparers.options(tenths, {key: frozenset("0") for key in tenths}) == 0.1
