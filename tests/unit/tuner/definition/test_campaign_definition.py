# SPDX-License-Identifier: Apache-2.0
"""Test that errors in campaign and component files are reported in one line."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from reprise.cli import tune
from reprise.config import Config
from reprise.tuner.definition import component_registry
from reprise.tuner.definition.campaign_definition import CampaignError, Definition, ExecutorKind, check, load
from tests.places import ROOT

GOOD: dict[str, Any] = {"name": "n", "component": "c", "scope": "cluster"}


def message(tmp_path: Path, text: str | bytes | dict[str, Any]) -> str:
    path = tmp_path / "campaign.yaml"
    text = yaml.safe_dump(text) if isinstance(text, dict) else text
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CampaignError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"serach": {}}, "unknown setting 'serach': did you mean 'search'?"),
        ({"search": {"bugdet": 3}}, "unknown setting 'search.bugdet': did you mean 'budget'?"),
        ({"application": {"scirpt": "/x", "user": "u"}}, "'application.scirpt': did you mean 'script'?"),
        ({"application": {"user": "u"}}, "'application.script' is missing"),
        ({"application": {"script": "/x", "user": "u", "usr": "u"}}, "'application.usr': did you mean 'user'?"),
        ({"search": {"method": "gp"}}, "'search.method': there is no 'gp': choose one of gp-ei, "),
        ({"search": {"budget": 0}}, "'search.budget'"),
        ({"search": {"settings": {"x": 1}}}, "'search': "),
        ({"search": {"stop": [{"rule": "never"}]}}, "'search.stop': "),
        ({"search": {"design": "sobol"}}, "'search.design': there is no 'sobol': choose one of "),
        ({"noise": {"policy": "rcaing"}}, "'noise.policy': there is no 'rcaing': did you mean 'racing'?"),
        ({"noise": {"policy": "static", "settings": {"n": 3}}}, "'noise': policy 'static': unknown setting 'n'"),
        ({"pruning": {"policy": "half"}}, "'pruning.policy': there is no 'half': choose one of none, "),
        ({"budget": {"node_hours": 0}}, "'budget.node_hours'"),
        ({"executor": {"parallel": 2}}, "`kind: allocation` runs one trial at a time: leave out `parallel`"),
        (
            {"executor": {"hours": "8-17"}},
            "'executor.hours': '8-17' is not a window of hours: write it like 20:00-06:00",
        ),
        ({"executor": {"days": ["friday"]}}, "'executor.days.0'"),
        ({"executor": {"days": []}}, "'executor.days'"),
        ({"repetitions": {"final_pairs": 1}}, "'repetitions.final_pairs'"),
        ({"executor": {"options": ["--comment=a b"]}}, "'executor.options.0'"),
        ({"executor": {"options": ["--x=1\n#SBATCH --uid=0"]}}, "'executor.options.0'"),
        (
            {"executor": {"partition": "a;b"}},
            "'executor.partition': must consist of letters, digits and . @ , : + [ ] _ - (it",
        ),
        ({"scope": "application"}, "there is no application: give its script and user, or set `scope: cluster`"),
        ({"application": {"script": "/x", "user": "u"}}, "`scope: cluster` applies to every job"),
        ({"application": {"script": "x.sh", "user": "u"}}, "'x.sh' is not an absolute path"),
        (
            {"component": "../../etc/passwd"},
            "'component': must consist of letters, digits and . _ - (it is '../../etc/passwd')",
        ),
        ({"name": "a;b"}, "'name': must consist of 1 to 100 letters, digits, blanks and . , @ + / _ - (it is 'a;b')"),
        ({"name": ""}, "'name': must consist of 1 to 100 letters"),
        ({"name": None}, "'name'"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    assert expected in message(tmp_path, {**GOOD, **changes})


def test_a_name_may_contain_a_comma() -> None:
    assert check({**GOOD, "name": "solver, 4 nodes"}, "x").name == "solver, 4 nodes"


# Each list contains the previous list ten times by an alias, so expanding a file of a few hundred characters would fill
# the memory.
MANY_LISTS = "\n".join(["x0: &x0 [1]", *(f"x{i + 1}: &x{i + 1} [{', '.join([f'*x{i}'] * 10)}]" for i in range(9))])
MANY_MERGED = "\n".join(["x0: &x0 {a: 1}", *(f"x{i + 1}: &x{i + 1} {{<<: [*x{i}, *x{i}]}}" for i in range(30))])
WRONG_TAGS = ("name: !!bool x", "name: !!int ''", "name: !!float ''", "name: !!timestamp x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: [", "not valid YAML in line"),
        ("- a\n- b\n", "not a mapping"),
        ("", "not a mapping"),
        ("1: 2\n", "not a mapping"),
        (b"name: \xff", "not UTF-8 text (byte 6)"),
        ("nmae: x\ncomponent: c\nscope: cluster\n", "unknown setting 'nmae': did you mean 'name'?"),
        ("name: n\ncomponent: c\nscope: cluster\nsettings: &a {x: *a}\n", "setting 'settings'"),
        ("x: 2026-99-99\n", "not valid YAML"),
        ("name: n\ncomponent: c\nscope: cluster\nsettings: {x: 2026-01-02}\n", "quote dates"),
        ("name: !!python/object:os.system x\n", "not valid YAML in line 1"),
        pytest.param(
            MANY_LISTS,
            "not valid YAML (with its aliases expanded it has over 100,000 values)",
            marks=pytest.mark.slow,
        ),
        (MANY_MERGED, "not valid YAML (with its aliases expanded it has over 100,000 values)"),
        ("name: \x00", "not valid YAML (special characters are not allowed)"),
        pytest.param("[" * 5000, "not valid YAML", marks=pytest.mark.slow),
        *((text, "not valid YAML (a value does not fit its `!!` tag): remove the tag") for text in WRONG_TAGS),
    ],
)
def test_a_file_that_is_not_a_campaign_is_named(tmp_path: Path, text: str | bytes, expected: str) -> None:
    assert expected in message(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=r"nowhere.yaml: cannot be read \(No such file"):
        load(tmp_path / "nowhere.yaml")


def test_the_shortest_campaign_file_has_sensible_defaults(tmp_path: Path) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text(yaml.safe_dump(GOOD))
    definition = load(path)
    assert (definition.search.method, definition.search.budget, definition.executor.kind) == (
        "gp-ei",
        150,
        "allocation",
    )


def component_message(tmp_path: Path, text: str, name: str = "fake") -> str:
    (tmp_path / "fake.yaml").write_text(text)
    config = Config.model_validate({"tuner": {"components": str(tmp_path)}})
    with pytest.raises(CampaignError) as caught:
        component_registry.read(name, config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "name: fake\nversion: 1.0\ndescription: d\nkind: collectives\n",
            "'version' must be a string: add it (in quotes",
        ),
        ("name: other\nversion: '1'\ndescription: d\nkind: collectives\n", "its name is 'other'"),
        (
            "name: fake\nversion: '1'\ndescription: d\nkind: magic\n",
            "kind 'magic' is unknown: use one of application, collectives, mpich-collectives, nccl, landscape",
        ),
        ("name: fake\n", "'version' must be a string"),
    ],
)
def test_a_wrong_component_file_is_named(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in component_message(tmp_path, text)


def test_an_unknown_component_comes_with_a_suggestion(tmp_path: Path) -> None:
    assert "component 'fak': did you mean 'fake'?" in component_message(tmp_path, "", "fak")
    assert "use one of fake" in component_message(tmp_path, "", "quite-another")


def test_a_directory_without_components_is_named(tmp_path: Path) -> None:
    config = Config.model_validate({"tuner": {"components": str(tmp_path / "none")}})
    with pytest.raises(CampaignError, match=r"set tuner\.components"):
        component_registry.read("fake", config)


def test_the_command_knows_every_executor() -> None:
    assert get_args(ExecutorKind) == tune.EXECUTORS


def test_the_page_names_every_setting_with_its_default() -> None:
    page = (ROOT / "docs/reference/campaign-file.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    documented: dict[str, str] = {}
    for row in rows:
        section = ""
        names = re.findall(r"`([\w.]+)`", row[1])
        for name, default in zip(names, (row[2].split(",") * len(names))[: len(names)], strict=True):
            section = name.partition(".")[0] if "." in name else section
            documented[name if "." in name or not section else f"{section}.{name}"] = default.strip(" `")
    for name, field in Definition.model_fields.items():
        fields = getattr(field.default, "__class__", None) if name in SECTIONS else None
        for key, of in getattr(fields, "model_fields", {}).items():
            assert f"{name}.{key}" in documented, f"{name}.{key} is not in docs/reference/campaign-file.md"
            if isinstance(of.default, str | int | float):
                told = documented[f"{name}.{key}"]
                assert told == str(of.default) or float(told) == of.default


SECTIONS = ("search", "noise", "pruning", "budget", "repetitions", "executor")
