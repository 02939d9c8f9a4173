# SPDX-License-Identifier: Apache-2.0
"""Test policies against noise: which points a policy repeats, and which point it chooses as the winner."""

import re
from typing import Any

import pytest
import yaml

from reprise.tuner.definition import pruning
from reprise.tuner.definition.campaign_definition import NoiseSection
from reprise.tuner.model.method_settings import SettingsError
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.noise import POLICIES, Evaluation, build, settings_of, winner
from tests.places import ROOT

SPACE = Space((Parameter("a", tuple(range(40))), Parameter("b", (0, 1, 2, 3))))


def at(a: int, b: int = 0) -> Parametrization:
    return {"a": a, "b": b}


def test_the_winner_is_best_on_average_and_not_the_luckiest_run() -> None:
    history = [Evaluation(at(0), value) for value in (1.0, 9.0)] + [Evaluation(at(1), value) for value in (4.0, 4.2)]
    assert winner([*history, Evaluation(at(2), 0.5)], SPACE) == at(1)


def test_a_point_with_one_sample_wins_only_if_no_point_has_two() -> None:
    assert winner([Evaluation(at(0), 2.0), Evaluation(at(1), 1.0)], SPACE) == at(1)
    assert winner([], SPACE) is None


def test_a_point_that_failed_or_was_stopped_does_not_win() -> None:
    history = [Evaluation(at(0), value) for value in (1.0, 1.0, None)]
    history += [Evaluation(at(1), 2.0), Evaluation(at(1), 2.0), Evaluation(at(1), 0.1, censored=True)]
    assert winner(history, SPACE) is None
    assert winner([*history, Evaluation(at(3), 5.0)], SPACE) == at(3)


def test_equivalent_points_share_their_samples() -> None:
    space = Space(SPACE.parameters, lambda point: {**point, "b": 0})
    history = [Evaluation(at(0, 1), 1.0), Evaluation(at(0, 2), 3.0), Evaluation(at(1), 1.9), Evaluation(at(1, 3), 1.9)]
    assert winner(history, space) == at(1)


def test_the_policy_none_repeats_nothing() -> None:
    assert build("none", SPACE, 50, 1).again([Evaluation(at(0), 1.0)]) is None


def distinct(evaluations: int, iterations: int) -> int:
    """Return how many distinct points a search evaluates with static resampling and an initial design of 10 points."""
    policy = build("static", SPACE, iterations, 1, evaluations=evaluations)
    history: list[Evaluation] = []
    asked = 0
    for _ in range(iterations):
        point = policy.again(history)
        if point is None:
            point, asked = SPACE.points[asked], asked + 1
        history.append(Evaluation(point, 1.0 + len(history), initial=asked <= 10))
    return asked


@pytest.mark.parametrize(
    ("evaluations", "iterations", "points"), [(10, 160, 25), (15, 160, 20), (5, 100, 28), (1, 60, 60)]
)
def test_static_evaluates_each_point_n_times_in_total(evaluations: int, iterations: int, points: int) -> None:
    """The published mean numbers of points are 24.90 with 10 evaluations per point, 19.93 with 15, and 28.03 with 5."""
    assert distinct(evaluations, iterations) == points


def test_static_counts_the_runs_under_way() -> None:
    policy, history = build("static", SPACE, 50, 1, evaluations=3), [Evaluation(at(0), 1.0)]
    assert policy.again(history, [at(0)]) == at(0)
    assert policy.again(history, [at(0), at(0)]) is None


def test_points_under_repetition_are_completed_after_the_search_is_stopped() -> None:
    policy, history = build("static", SPACE, 50, 1, evaluations=3), [Evaluation(at(0), 1.0)]
    assert policy.again(history, stopped=1) == at(0)
    assert policy.again(history * 3, stopped=1) is None


def test_even_runs_all_points_equally_often_in_rounds() -> None:
    policy, points = build("even", SPACE, 20, 1, evaluations=5), [at(number) for number in range(4)]
    history = [Evaluation(point, 1.0, initial=True) for point in points]
    assert policy.again(history[:3]) is None, "the search proposes new points first"
    assert policy.again(history[:3], [at(3)]) is not None, "also points under way count"
    assert policy.again(history[:3], stopped=3) is not None, "unless there is none"
    rounds = []
    for _ in range(4):
        for _ in points:
            point = policy.again(history)
            assert point is not None
            history.append(Evaluation(point, 1.0))
        rounds.append([one.point["a"] for one in history[-4:]])
    assert all(sorted(one) == [0, 1, 2, 3] for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1, "the order is random"
    assert policy.again(history) is None


def test_even_repeats_neither_failed_points_nor_those_under_way() -> None:
    policy = build("even", SPACE, 50, 1, evaluations=2)
    history = [Evaluation(at(0), None), Evaluation(at(1), 1.0), Evaluation(at(2), 1.0, censored=True)]
    assert policy.again(history, stopped=3) == at(1)
    assert policy.again(history, [at(1)], stopped=3) is None
    assert policy.again([], stopped=0) is None


def test_static_does_not_repeat_a_point_that_failed_or_was_stopped() -> None:
    policy = build("static", SPACE, 50, 1)
    assert policy.again([Evaluation(at(0), None)]) is None
    assert policy.again([Evaluation(at(0), 9.0, censored=True)]) is None


@pytest.mark.parametrize(
    ("policy", "mapping", "message"),
    [
        ("statik", {}, "there is no 'statik': did you mean 'static'?"),
        ("static", {"evalutions": 3}, "policy 'static': unknown setting 'evalutions': did you mean 'evaluations'?"),
        ("static", {"evaluations": 2.5}, "setting 'evaluations': Input should be a valid integer (it is 2.5)"),
        ("static", {"evaluations": True}, "setting 'evaluations': Input should be a valid integer (it is True)"),
        ("static", {"evaluations": 0}, "should be greater than or equal to 1 (it is 0)"),
        ("none", {"evaluations": 2}, "the policy 'none' has no settings: leave out 'evaluations'"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_hint(policy: str, mapping: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_of(policy, mapping)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_patented_filter_is_off_by_default_and_the_page_says_so() -> None:
    assert NoiseSection().policy == "racing" and NoiseSection.model_validate({"policy": "thesis"}).policy == "thesis"
    page = (ROOT / "docs/explanation/noise.md").read_text()
    quoted = " ".join(line.removeprefix("> ") for line in page.splitlines() if line.startswith("> "))
    assert "subject of patent filings" in quoted and "it is off by default" in quoted


@pytest.mark.parametrize(
    ("heading", "policy", "fields"),
    [
        *(("Repeated points", name, policy.settings.model_fields) for name, policy in POLICIES.items()),
        *(("Pruning", name, model.model_fields) for name, model in pruning.POLICIES.items()),
    ],
)
def test_the_page_on_noise_lists_every_setting_with_its_default(
    heading: str, policy: str, fields: dict[str, Any]
) -> None:
    page = (ROOT / "docs/reference/noise.md").read_text()
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    row = re.search(rf"^\| `{policy}` \|.*\|(.*)\|$", section, re.MULTILINE)
    assert row
    listed = dict(re.findall(r"`(\w+)` ([^,\s]+)", row[1]))
    assert {name: yaml.safe_load(text) for name, text in listed.items()} == {
        name: field.default for name, field in fields.items()
    }
