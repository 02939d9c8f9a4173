# SPDX-License-Identifier: Apache-2.0
"""List every single setting of every component that a job could use, as environment variables and files.

    python -m bench.real.look_points SCRIPT PROFILE

The program runs on the cluster, with the components, Open MPI and libraries of the cluster's jobs, and prints one JSON
object. `settings` is a list of objects with `component`, `name`, `environment` and `files`; `{directory}` in a value
stands for the directory that contains the files. `names` lists the variables that each component sets. `conflicts`
lists, for each component, patterns of variables that must not be set together with it. `excluded` contains the
components that no job on this cluster can use, and `inapplicable` those that this job cannot use, each with the reason.

The profile's verdict on a component is not used. However, a component that only touches certain MPI calls is
inapplicable to a job that makes none of them; this is certain, because the profile counts calls. A collective is tried
if it takes 2 % of the run time. The time that ranks wait in the collective is included, because the profile may count
some of the collective's own time as waiting.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench.real.plan_settings import job_settings
from reprise import config as configuration
from reprise.config import Config
from reprise.tuner.application.tried_calls import tried_calls
from reprise.tuner.application.tried_values import tried_space
from reprise.tuner.components.application import Workload
from reprise.tuner.components.component_file import read
from reprise.tuner.definition import component_registry
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import TrialPlan
from reprise.tuner.model.space import Parametrization
from reprise.tuner.model.touched_names import that_hold
from reprise.tuner.openmpi.catalogue import CATALOGUE
from reprise.tuner.profile.profile_values import Profile, read_profile
from reprise.tuner.profile.profiled_run import touched
from reprise.tuner.together.ingredient import Ingredient
from reprise.tuner.together.together_component import INGREDIENTS


class NotHereError(Exception):
    """A component cannot be used by any job on this cluster."""


def tried(profile: Profile, workload: Workload, config: Config) -> dict[str, Any]:
    """Return the JSON object that the module's docstring describes."""
    found: dict[str, Any] = {"settings": [], "names": {}, "conflicts": {}, "excluded": {}, "inapplicable": {}}
    for name in touched(config, lambda line: click.echo(line, err=True)):
        definition = component_registry.read(name, config)
        try:
            ingredient = _ingredient(definition, profile, workload, config)
            settings = [_setting(ingredient, point) for point in alone(ingredient)]
        except NotHereError as error:
            found["excluded"][name] = str(error)
        except TunerError as error:
            found["inapplicable"][name] = str(error)
        else:
            found["settings"] += settings
            found["names"][name], found["conflicts"][name] = list(ingredient.names), list(ingredient.conflicts)
            if not settings:
                found["inapplicable"][name] = "has only its default value on this cluster"
    return found


def _ingredient(definition: Mapping[str, Any], profile: Profile, workload: Workload, config: Config) -> Ingredient:
    """Return a component with all values to try.

    Raises NotHereError if no job on this cluster can use the component, TunerError if only this job cannot.
    """
    kind = definition["kind"]
    if kind not in INGREDIENTS:
        raise NotHereError(f"of kind {kind}")
    touches = that_hold(definition.get("touches", []), ranks_share_nodes=profile.ranks_share_nodes)
    if all(one.startswith("mpi.") for one in touches) and not any(profile.share(one) for one in touches):
        raise TunerError("the job makes none of the calls that the component touches")
    if kind == "collectives":
        return INGREDIENTS[kind](definition, _calls(profile), workload, config)
    if definition.get("needs"):
        raise NotHereError(f"needs {', '.join(definition['needs'])}, which an administrator must set")
    space = tried_space(read(definition, {}))
    if not space:
        raise NotHereError("has no parameter that jobs can use")
    # `verify` is left out, because the witness (a preloaded library), which verifies settings, would add to the run
    # time
    unverified = {key: value for key, value in definition.items() if key != "verify"}
    return INGREDIENTS[kind](unverified, {"space": space}, workload, config)


def _calls(profile: Profile) -> dict[str, Any]:
    waited = [one.model_copy(update={"waiting_s": 0.0}) for one in profile.collectives]
    calls = tried_calls(profile.model_copy(update={"collectives": waited}), CATALOGUE)
    if not calls or profile.ranks % profile.nodes:
        raise TunerError("the job has no collective calls on all ranks that take 2 % of its run time")
    return {
        "nodes": profile.nodes,
        "tasks_per_node": profile.ranks // profile.nodes,
        "calls": [one.model_dump() for one in calls],
    }


def alone(ingredient: Ingredient) -> list[Parametrization]:
    """Return the points of a component that differ from its default in one value.

    If a changed value has no effect alone, its point also changes a second parameter, to the first value with which the
    changed value has an effect.
    """
    space, default = ingredient.space, ingredient.default
    changes = [{axis.name: value} for axis in space.parameters for value in axis.values if value != default[axis.name]]
    keys = {space.key(default)}
    found: list[Parametrization] = []

    def take(point: Parametrization) -> bool:
        if space.key(point) in keys:
            return False
        keys.add(space.key(point))
        found.append(point)
        return True

    waiting = [change for change in changes if not take({**default, **change})]
    enabling = list(found)
    for change in waiting:
        any(take({**point, **change}) for point in enabling if not change.keys() & _changed(point, default).keys())
    return found


def _changed(point: Parametrization, default: Parametrization) -> Parametrization:
    return {name: value for name, value in point.items() if value != default[name]}


def _setting(ingredient: Ingredient, point: Parametrization) -> dict[str, Any]:
    """Return a job's variables and files for a point. Raises NotHereError if the script must be changed, too."""
    plan = ingredient.add(TrialPlan([], 1, 1, script=""), point)
    if plan.options or plan.directives or plan.script:
        raise NotHereError("needs options or lines of the batch script")
    words = ",".join(f"{name}={value}" for name, value in _changed(point, ingredient.default).items())
    return {
        "component": ingredient.name,
        "name": f"{ingredient.name}.{words}",
        **job_settings(plan),
    }


def main(argv: Sequence[str]) -> int:
    """Print the JSON object for the script and the profile that the arguments name."""
    script, profile = (Path(word) for word in argv)
    workload = Workload(str(script), component_registry.read_script(script), str(script.parent))
    document = json.loads(profile.read_text())
    click.echo(json.dumps(tried(read_profile(document, str(profile)), workload, configuration.load())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
