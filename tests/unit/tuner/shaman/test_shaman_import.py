# SPDX-License-Identifier: Apache-2.0
"""Test the import of SHAMan's unchanged component and experiment files: the result, and the notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from reprise.cli.main import reprise
from reprise.tuner.components.application import Workload
from reprise.tuner.definition.campaign_definition import Definition, load
from reprise.tuner.errors import TunerError
from reprise.tuner.shaman import shaman_component as shaman
from reprise.tuner.shaman import shaman_experiment
from tests.places import UNIT
from tests.unit.component_values import component

FILES = UNIT / "shaman"
COMPONENTS = FILES / "components.yaml"
SHEBANG = "#!/bin/bash\n"


class Site:
    """A directory with a configuration file, a directory of components, and the batch script of a job."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.components = directory / "components"
        self.components.mkdir()
        self.script = directory / "run.sh"
        self.script.write_text('#!/bin/bash\nsleep "0.0$((16 - SRO_DSC_BINSIZE % 16))"\n')
        self.config = directory / "reprise.toml"
        self.config.write_text(
            f'[database]\npath = "{directory}/reprise.db"\n[artifacts]\ndirectory = "{directory}/artifacts"\n'
            f'[tuner]\ncomponents = "{self.components}"\nwork = "{directory}/work"\n'
        )

    def reprise(self, *words: object) -> Result:
        return CliRunner().invoke(reprise, ["--config", str(self.config), *map(str, words)], catch_exceptions=False)

    def imported(self, file: str, *words: object) -> tuple[Definition, str]:
        """Import an experiment, and return the resulting campaign and the notes that the command prints."""
        out = self.directory / "campaign.yaml"
        said = ["--component-name", "reader", "--sbatch-file", self.script, "--user", "alice", "--output", out]
        done = self.reprise("tune", "import", COMPONENTS, FILES / file, *said, *words)
        assert done.exit_code == 0, done.output
        return load(out), done.output


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def converted(name: str) -> shaman.Converted:
    return shaman.convert(name, yaml.safe_load(COMPONENTS.read_text())["components"][name], str(COMPONENTS))


def plan_of(name: str) -> Any:
    made = component(converted(name).definition, {}, Workload("/a/run.sh", SHEBANG + "./solve\n", "/a"))
    return made.plan("x", {p.key: p.default for p in made.description.parameters})


def test_a_plugin_a_header_and_variables_reach_the_trial() -> None:
    plan = plan_of("reader")
    assert plan.options == ["--fastio=yes", "--ioi=yes"]
    assert plan.before == "sync; sudo drop-caches"
    assert plan.environment == {"SRO_DSC_BINSIZE": "1048576", "SRO_SEQUENCE_LENGTH": "0"}
    assert plan.script == SHEBANG + "./solve\n"
    assert converted("reader").notes == []


def test_a_command_that_is_a_directive_gets_the_parameters_and_a_header_like_it_is_one_too() -> None:
    plan = plan_of("buffer")
    assert plan.directives == [
        "#SBB targets=/fs1/alice flavor=small worker-threads=2 ram-destagers=2",
        "#SBB trash-data=all",
    ]
    assert plan.before == "" and plan.environment == {}


def test_commands_flags_suffixes_and_libraries_are_as_shaman_writes_them() -> None:
    plan = plan_of("everything")
    assert plan.script == SHEBANG + "module load fast -l 3 --folder /scratch\n./solve\n"
    assert plan.options == ["-s5K", "--depth=4K"]
    assert plan.preload == ["/opt/lib/libfast.so"] and plan.environment == {}


def test_keys_without_a_counterpart_or_effect_are_reported_in_one_line_each() -> None:
    assert converted("everything").notes == [
        "component everything: EXTRA: is optional: -1 means that it is not set",
        "component everything: unused: none of env_var, cmd_var and cli_var is set, so it has no effect: left out",
        "component everything: put the module of parse_latency.parse_latency into tuner.functions; its result is "
        "assumed to be in s",
    ]


def test_shaman_defect_13_the_switch_that_its_open_mpi_example_lacks_is_added() -> None:
    assert plan_of("openmpi").environment["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"
    assert "use_dynamic_rules=1 is added" in converted("openmpi").notes[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"parameters": {"A": {"env_var": True, "type": "int"}}}, "A: has no default"),
        ({"parameters": {"A": {"env_var": True, "type": "list", "default": 1}}}, "type 'list' is not one of int"),
        ({"parameters": {"A": {"env_var": True, "type": "int", "default": "x"}}}, "'x' is not of type int"),
        ({"plugin": "x"}, "setting 'parameters' is missing: add it"),
    ],
)
def test_a_component_that_shaman_would_also_refuse_is_refused(content: dict[str, Any], words: str) -> None:
    with pytest.raises(TunerError) as caught:
        shaman.convert("c", content, "file.yaml")
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_defaults_of_a_convertible_type_and_unknown_keys_are_accepted() -> None:
    given = {"zap": 1, "parameters": {"A": {"env_var": True, "type": "int", "default": "5", "unit": "s"}}}
    found = shaman.convert("c", given, "f.yaml")
    assert found.definition["parameters"]["A"]["default"] == 5
    assert found.notes == [
        "component c: 'zap' is unknown and left out",
        "component c: A: 'unit' is unknown and left out",
    ]


def test_several_components_become_a_file_each(site: Site) -> None:
    done = site.reprise("tune", "import", COMPONENTS)
    assert done.exit_code == 0, done.output
    assert sorted(file.name for file in site.components.iterdir()) == [
        "buffer.yaml",
        "everything.yaml",
        "openmpi.yaml",
        "reader.yaml",
    ]
    again = site.reprise("tune", "import", COMPONENTS)
    assert again.exit_code == 0, "a repeated import finds equal files and succeeds"


def test_shaman_defect_12_existing_components_are_not_overwritten(site: Site) -> None:
    (site.components / "mine.yaml").write_text("mine")
    (site.components / "reader.yaml").write_text("another one")
    done = CliRunner().invoke(reprise, ["--config", str(site.config), "tune", "import", str(COMPONENTS)])
    assert done.exit_code != 0
    assert sorted(file.name for file in site.components.iterdir()) == ["mine.yaml", "reader.yaml"]
    assert (site.components / "reader.yaml").read_text() == "another one"
    (site.components / "reader.yaml").unlink()
    assert site.reprise("tune", "import", COMPONENTS).exit_code == 0
    assert (site.components / "mine.yaml").read_text() == "mine"


def test_an_experiment_becomes_a_campaign(site: Site) -> None:
    found, _ = site.imported("genetic.yaml", "--nbr-iteration", 30, "--experiment-name", "first try")
    assert (found.name, found.component) == ("first try", "reader")
    assert found.application and found.application.script == site.script and found.application.user == "alice"
    assert (found.search.method, found.search.budget, found.search.initial) == ("genetic", 30, 4)
    assert (found.search.design, found.search.window, found.search.improvement) == ("lhs", 6, 0.1)
    assert found.search.settings == {
        "selection": "tournament",
        "pool": 3,
        "crossover": "single",
        "mutation": 0.4,
        "elitism": False,
    }
    assert (found.noise.policy, found.noise.settings) == ("static", {"evaluations": 2})
    assert (found.pruning.policy, found.pruning.settings) == ("estimator", {"estimator": "median", "factor": 1.0})
    assert found.executor.kind == "slurm"
    made = component(yaml.safe_load((site.components / "reader.yaml").read_text()), found.settings)
    values = {parameter.key: list(parameter.values) for parameter in made.description.parameters}
    assert values == {"SRO_DSC_BINSIZE": [2, 4, 8, 16], "SRO_SEQUENCE_LENGTH": [0]}


def test_keys_of_an_experiment_without_a_counterpart_are_reported_once_each(site: Site) -> None:
    found, said = site.imported("annealing.yaml")
    assert found.search.method == "annealing"
    assert found.search.settings == {"cooling": "multiplicative", "alpha": 3.0, "restart": "random"} | {
        "restarts": 2,
        "restart_probability": 0.1,
    }
    assert (found.noise.policy, found.noise.settings) == ("sedr", {"width": 0.1, "most": 8})
    assert found.executor.max_trial_s == 90 and found.pruning.policy == "none" and found.search.window == 0
    lines = [line for line in said.splitlines() if "has no counterpart" in line or "max_trial_s" in line]
    assert [line.split(":")[0] for line in lines] == [
        "bbo.initial_temperature",
        "bbo.neighbor_function",
        "bbo.time_out",
        "noise_reduction.resampling_schedule",
        "pruning.max_step_duration",
        "experiment.default_first",
    ]


def test_importing_the_genetic_example_reports_only_the_estimator_and_unused_sections(site: Site) -> None:
    _, said = site.imported("genetic.yaml")
    lines = [line for line in said.splitlines() if not line.startswith(("wrote", "component "))]
    assert [line.split(":")[0] for line in lines] == ["noise_reduction.estimator", "api", "components"]


@pytest.mark.parametrize(
    ("heuristic", "method"),
    [("surrogate_model", "gp-ei"), ("exhaustive_search", "exhaustive"), ("random_search", "random")],
)
def test_each_heuristic_has_its_method(heuristic: str, method: str) -> None:
    data = {"bbo": {"heuristic": heuristic}, "components": {"c": {}}}
    found = shaman_experiment.convert(
        data, "f", shaman_experiment.Job("c", "/r.sh", "alice", "n"), {"A": {"default": 1}}
    )
    assert found.definition["search"]["method"] == method and found.notes == []


def test_unneeded_options_of_shamans_command_are_reported(site: Site) -> None:
    _, said = site.imported("genetic.yaml", "--sbatch-dir", "/tmp/a", "--slurm-dir", "/tmp/b", "--result-file", "c")
    assert all(f"--{name} is not needed" in said for name in ("sbatch-dir", "slurm-dir", "result-file"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "has several components: set --component-name to one of reader, buffer"),
        (["--component-name", "writer"], "has no component 'writer'"),
        (["--component-name", "reader"], "set --sbatch-file"),
        (["--component-name", "reader", "--sbatch-file", "/no/such"], "/no/such: cannot be read"),
    ],
)
def test_missing_arguments_on_the_command_line_are_named(site: Site, words: list[str], message: str) -> None:
    assert site.reprise("tune", "import", COMPONENTS).exit_code == 0
    with pytest.raises(TunerError) as caught:
        CliRunner().invoke(
            reprise,
            ["--config", str(site.config), "tune", "import", str(FILES / "genetic.yaml"), *words],
            catch_exceptions=False,
            standalone_mode=False,
        )
    assert message in str(caught.value)


def test_a_file_that_is_not_shamans_is_refused(site: Site) -> None:
    ours = site.directory / "ours.yaml"
    ours.write_text("name: x\ncomponent: reader\n")
    done = CliRunner().invoke(reprise, ["--config", str(site.config), "tune", "import", str(ours)])
    assert done.exit_code != 0


def test_the_scripts_of_an_experiment_are_shown_before_it_is_run(site: Site) -> None:
    assert site.reprise("tune", "import", COMPONENTS).exit_code == 0
    said = ["--component-name", "buffer", "--sbatch-file", site.script, "--user", "alice"]
    done = site.reprise("tune", "plan", FILES / "genetic.yaml", *said)
    assert done.exit_code == 0, done.output
    assert "#SBB targets=/fs1/alice flavor=small worker-threads=2 ram-destagers=2\n" in done.stdout


QUICK = """\
components:
  quick:
    parameters:
      SRO_PAUSE: {env_var: True, type: int, default: 9}
"""
EXPERIMENT = """\
experiment: {default_first: True}
bbo: {heuristic: exhaustive_search}
components:
  quick:
    SRO_PAUSE: {min: 0, max: 8, step: 4}
"""


@pytest.mark.slow
def test_an_experiment_is_run_as_it_is(site: Site) -> None:
    (site.directory / "components.yaml").write_text(QUICK)
    (site.directory / "experiment.yaml").write_text(EXPERIMENT)
    site.script.write_text('#!/bin/bash\nsleep "0.$SRO_PAUSE"\n')
    assert site.reprise("db", "init").exit_code == 0
    assert site.reprise("tune", "import", site.directory / "components.yaml").exit_code == 0
    said = ["--component-name", "quick", "--sbatch-file", site.script, "--nbr-iteration", 80, "--user", "alice"]
    words = [site.directory / "experiment.yaml", *said, "--experiment-name", "as it is", "--executor", "local"]
    done = site.reprise("tune", "run", *words, "--yes", "--json")
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["name"], told["state"], told["parametrization"]) == (
        "as it is",
        "complete",
        {"parameters": {"SRO_PAUSE": 0}},
    ), done.output
