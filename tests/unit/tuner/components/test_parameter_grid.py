# SPDX-License-Identifier: Apache-2.0
"""Test component files: what they may contain, and the grids of values that result."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.tuner import search
from reprise.tuner.components.application import Workload
from reprise.tuner.components.parameter_grid import steps
from reprise.tuner.errors import TunerError
from reprise.tuner.model.space import Parametrization, Value
from tests.unit.component_values import NEEDS, WORKLOAD, component, definition, shipped


def grid_of(parameter: dict[str, Any], wanted: Any = None) -> list[Value]:
    made = component(definition({"x": {"default": 1, **parameter}}), {"space": {"x": wanted}} if wanted else {})
    return list(made.description.parameters[0].values)


def points_of(parameters: dict[str, Any], **changes: Any) -> list[Parametrization]:
    (problem,) = component(definition(parameters, **changes)).problems()
    return list(problem.space.points)


def test_steps_are_added_up_to_the_greatest_value_and_no_further() -> None:
    assert steps(1, 15, 3, multiplicative=False) == (1, 4, 7, 10, 13)
    assert steps(2, 16, 2, multiplicative=False) == (2, 4, 6, 8, 10, 12, 14, 16)


def test_steps_are_multiplied() -> None:
    assert steps(2, 16, 2, multiplicative=True) == (2, 4, 8, 16)


def test_tenths_are_added_without_error() -> None:
    assert steps(0.1, 0.5, 0.1, multiplicative=False) == (0.1, 0.2, 0.3, 0.4, 0.5)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0, 8, 2, True), "list zero in `also`"),
        ((1, 8, 1, True), "begin over 0"),
        ((1, 8, 0, False), "a step of 0 never gets"),
        ((8, 1, 1, False), "swap min and max"),
        ((0, 1_000_000, 1, False), "more than 100,000 values"),
    ],
)
def test_a_range_with_impossible_or_too_many_steps_is_refused(values: tuple[int, int, int, bool], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        steps(*values)


def test_shaman_defect_4_zeros_are_values_of_a_grid_and_reach_the_program() -> None:
    made = component(definition({"SEGMENT": {"default": 0, "min": 0, "max": 2, "step": 1}}))
    (problem,) = made.problems()
    assert [point["SEGMENT"] for point in problem.space.points] == [0, 1, 2]
    assert made.plan(problem.key, {"SEGMENT": 0}).environment == {"SEGMENT": "0"}
    assert problem.default == {"SEGMENT": 0}


def test_a_multiplicative_range_can_also_have_a_zero() -> None:
    assert grid_of({"min": 4, "max": 16, "step": 2, "step_type": "multiplicative", "also": [0]}) == [0, 4, 8, 16]


def test_a_campaign_restricts_replaces_or_fixes_the_grid_of_a_parameter() -> None:
    own = {"min": 1, "max": 4, "step": 1}
    assert grid_of(own) == [1, 2, 3, 4]
    assert grid_of(own, [2, 3]) == [2, 3]
    assert grid_of(own, {"min": 10, "max": 30, "step": 10}) == [10, 20, 30]
    assert grid_of(own, 7) == [7]


def test_a_parameter_without_a_grid_stays_at_its_default() -> None:
    assert grid_of({}) == [1]


@pytest.mark.parametrize("method", sorted(search.METHODS))
def test_a_default_outside_of_the_grid_is_legal_and_never_asked(method: str) -> None:
    few = {"SRO_CLUSTER_THRESHOLD": [2, 22], "SRO_DSC_BINSIZE": [262144, 1048576], "SRO_SEQUENCE_LENGTH": [50, 150]}
    (problem,) = component(shipped("fastio"), {"space": few}).problems()
    assert problem.default["SRO_PREFETCH_SIZE"] == 20971520
    assert problem.default not in problem.space.points
    asked = search.build(method, problem.space, 1, 3)
    asked.tell(problem.default, 5.0)
    for _ in range(5):
        point = asked.ask()
        assert point in problem.space.points
        asked.tell(point, 4.0)


@pytest.mark.parametrize("name", ["sro", "fastio"])
def test_the_grid_of_the_small_read_optimizers_has_the_1920_points_of_its_source(name: str) -> None:
    (problem,) = component(shipped(name)).problems()
    assert len(problem.space.points) == 1920


CONDITIONAL = {
    "engine": {"type": "str", "default": "none", "values": ["none", "fast"]},
    "threads": {"default": 1, "values": [1, 2, 4], "when": {"engine": "fast"}},
    "pinned": {"type": "bool", "default": False, "values": [False, True], "when": {"threads": [2, 4]}},
}


def test_parameters_that_do_not_count_are_dead_dimensions() -> None:
    points = points_of(CONDITIONAL)
    # "none"; "fast" with one thread; "fast" with two or four threads, pinned or not
    assert len(points) == 1 + 1 + 2 * 2
    (problem,) = component(definition(CONDITIONAL)).problems()
    dead: Parametrization = {"engine": "none", "threads": 4, "pinned": True}
    assert problem.space.key(dead) == problem.space.key(problem.default)


def test_a_parameter_that_does_not_count_is_not_given() -> None:
    made = component(definition(CONDITIONAL))
    assert made.plan("x", {"engine": "none", "threads": 4, "pinned": True}).environment == {"engine": "none"}
    given = made.plan("x", {"engine": "fast", "threads": 4, "pinned": True}).environment
    assert given == {"engine": "fast", "threads": "4", "pinned": "1"}


@pytest.mark.parametrize("forbidden", [["a > b"], [{"a": 2, "b": 1}, {"a": [3], "b": [1, 2]}]])
def test_forbidden_combinations_are_left_out_of_the_grid(forbidden: list[Any]) -> None:
    axis = {"default": 1, "values": [1, 2, 3]}
    points = points_of({"a": axis, "b": axis}, forbidden=forbidden)
    assert len(points) == 6 and all(point["a"] <= point["b"] for point in points)  # type: ignore[operator]


@pytest.mark.parametrize("method", sorted(search.METHODS))
def test_no_method_asks_a_forbidden_point(method: str) -> None:
    axis = {"default": 1, "values": [1, 2, 3, 4, 5, 6]}
    (problem,) = component(definition({"a": axis, "b": axis}, forbidden=["a != b"])).problems()
    asked = search.build(method, problem.space, 3, 4)
    found = []
    while point := asked.ask():
        found.append((point["a"], point["b"]))
        asked.tell(point, float(point["a"]))
    assert sorted(found) == [(n, n) for n in range(1, 7)]


def test_a_forbidden_default_is_still_what_is_measured_first() -> None:
    axis = {"values": [1, 2, 3]}
    made = component(definition({"a": {"default": 3, **axis}, "b": {"default": 1, **axis}}, forbidden=["a > b"]))
    (problem,) = made.problems()
    assert problem.space.canonical(problem.default) == {"a": 3, "b": 1}
    assert {"a": 3, "b": 2} not in problem.space.points


def test_a_grid_without_any_point_is_refused() -> None:
    with pytest.raises(TunerError, match="every point of the grid is forbidden"):
        component(definition({"a": {"default": 1, "values": [1, 2]}}, forbidden=["a >= 1"]))


def test_settings_that_leave_one_point_leave_nothing_to_tune() -> None:
    assert component(definition({"a": {"default": 1, "values": [1, 2]}}), {"space": {"a": 1}}).problems() == []


def test_a_job_of_unknown_size_is_refused_if_the_component_needs_the_size() -> None:
    workload = Workload("/a/run.sh", "#!/bin/bash\n#SBATCH -n 64\nmpirun ./solve\n", "/a")
    component(shipped("fastio"), {}, workload).check({})
    component(shipped("romio"), {"nodes": 4}, workload).check({})
    with pytest.raises(TunerError, match="does not set its number of nodes"):
        component(shipped("romio"), {}, workload).check({})


@pytest.mark.parametrize(
    ("options", "settings", "refused"),
    [
        ("-N 2 -n 7", {}, True),
        ("-n 7", {"nodes": 2, "tasks_per_node": 4}, True),  # 7 tasks on 2 nodes, which is 3.5 per node
        ("-N 2 -n 8", {}, False),
        ("-N 2 --ntasks-per-node=7", {}, False),
        ("-N 2", {}, False),  # the number of tasks becomes known in the trials
    ],
)
def test_a_job_with_unequal_tasks_per_node_is_refused_if_the_component_needs_equal_numbers(
    options: str, settings: dict[str, Any], refused: bool
) -> None:
    workload = Workload("/a/run.sh", f"#!/bin/bash\n#SBATCH {options}\nsrun ./solve\n", "/a")
    component(shipped("romio"), settings, workload).check({})
    if refused:
        with pytest.raises(TunerError, match="has 7 tasks on 2 nodes, but the result holds only for equal numbers"):
            component(shipped("srun-placement"), settings, workload).check({})
    else:
        component(shipped("srun-placement"), settings, workload).check({})


GOOD: dict[str, Any] = {"default": 1, "values": [1, 2]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (definition({"a": {"values": [1]}}), "default' is missing"),
        (definition({"a": {"default": "x", "values": [1]}}), "'x' is not of type int"),
        (definition({"a": {"default": True}}), "True is not of type int"),
        (definition({"a": {"type": "str", "default": 1}}), "1 is not of type str: put it in quotes"),
        (definition({"a": {"default": 1, "values": [1, 1]}}), "has a value twice"),
        (definition({"a": {"default": 1, "values": [1], "min": 1}}), "both values and a range"),
        (definition({"a": {"default": 1, "min": 1, "max": 2}}), "but has only min, max: add the others"),
        (definition({"a": {"default": 1, "minimum": 1}}), "did you mean 'min'"),
        (definition({"a": {"default": 1, "via": "hint"}}), "`via: hint` needs activation.hints"),
        (definition({"a": {"default": 1, "via": "directive"}}), "needs activation.directives"),
        (definition({"a": {"default": 1, "via": "command"}}), "needs activation.commands"),
        (definition({"a": {"default": 1, "via": "wrapper"}}), "needs activation.wrapper"),
        (definition({"a-b": GOOD}), "'a-b' is not a variable's name: set `name`"),
        (definition({"a": {**GOOD, "when": {"b": 1}}, "b": GOOD}), "'b', which is not an earlier parameter"),
        (definition({"a": GOOD}, forbidden=["a > c"]), "'c' is not a parameter"),
        (definition({"a": GOOD}, forbidden=["a is odd"]), "is not a comparison"),
        (definition({"a": GOOD}, objective={"pattern": "x"}), "must have one group"),
        (definition({"a": GOOD}, objective={"pattern": "("}), "is not a regular expression"),
        (definition({"a": GOOD}, objective={"unit": "us"}), "the run time has no file"),
        (definition({"a": GOOD}, activation={"directives": ["SBB x"]}), "is not allowed in `directives`"),
        (definition({"a": GOOD}, activation={"directives": ["#SBATCH -n 3"]}), "is not allowed in `directives`"),
        (definition({"a": GOOD}, activation={"options": ["fastio yes"]}), "is not an sbatch option"),
        (
            definition({"a": {"type": "str", "default": "a b", "via": "argument"}}),
            "must be one word without quotes or shell metacharacters",
        ),
        (definition({"a": {"default": -2, "values": [-2, 4], "scale": "log"}}), "a log scale has no values of -1"),
    ],
)
def test_invalid_content_of_a_component_file_is_refused_in_one_line(content: dict[str, Any], words: str) -> None:
    with pytest.raises(TunerError) as caught:
        component(content)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_shaman_defect_13_open_mpis_parameters_without_their_switch_are_refused() -> None:
    parameters = {"OMPI_MCA_coll_tuned_allgather_algorithm": GOOD}
    with pytest.raises(TunerError, match=r"does not read .* unless OMPI_MCA_coll_tuned_use_dynamic_rules is 1"):
        component(definition(parameters))
    component(definition(parameters, activation={"environment": {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}}))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"space": {"SRO_BINSIZE": [1]}}, "'SRO_BINSIZE' is not a parameter of fastio"),
        ({"space": {"SRO_DSC_BINSIZE": ["x"]}}, "'x' is not of type int"),
        ({"nodes": 0}, "greater than or equal to 1"),
        ({"node": 1}, "did you mean 'nodes'"),
    ],
)
def test_invalid_settings_of_a_campaign_are_refused_in_one_line(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(TunerError, match=words):
        component(shipped("fastio"), settings)


def test_a_campaign_says_what_the_component_needs() -> None:
    with pytest.raises(TunerError, match=r"settings: 'targets' is missing .the directory whose files"):
        component(shipped("sbb"))
    with pytest.raises(TunerError, match="must be one word"):
        component(shipped("sbb"), {**NEEDS["sbb"], "targets": "/a /b"})


def test_the_size_of_the_job_is_read_from_its_script() -> None:
    made = component(shipped("romio"))
    assert made.context() == {"nodes": 2}
    plan = made.plan("x", made.problems()[0].default)
    assert (plan.nodes, plan.tasks_per_node, plan.work_directory) == (2, 4, WORKLOAD.directory)
    assert component(shipped("fastio")).context() == {}
