# SPDX-License-Identifier: Apache-2.0
"""A component whose benchmark is a line of shell code, for tests of campaigns on this host and on a virtual cluster.

`python -m tests.fake_component ...` runs `reprise ...` with this kind of component registered.
"""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprise.cli.main import main
from reprise.config import Config
from reprise.database.entities import Artifact
from reprise.tuner.campaign import campaign_account
from reprise.tuner.definition import component_registry
from reprise.tuner.errors import ObjectiveError
from reprise.tuner.model.component import (
    Comparison,
    Problem,
    Publication,
    Runner,
    Sample,
    TrialOutput,
    TrialPlan,
    Wanted,
)
from reprise.tuner.model.space import Parameter, Parametrization, Space
from tests.ordinary_user import UID

FILE = """\
name: fake
version: "1"
description: A component for tests.
kind: fake
"""

# The program of a run, which first appends a line to the log. `%s` is the test's line of shell code (the setting
# `before`), which may read $n, the number of the run, counted from 1.
PROGRAM = """
exec 9>>"$FAKE_LOG"; flock 9
rank=${SLURM_PROCID:-${OMPI_COMM_WORLD_RANK:-0}}
[ "$rank" != 0 ] || echo "$FAKE_POINT" >&9
n=$(wc -l <"$FAKE_LOG")
exec 9>&-
%s
echo "value $FAKE_VALUE on $(hostname) with REPRISE=$REPRISE in $(pwd)"
"""

# The program of a run for several problems. `%s` is the setting `before`, which may read $n, $FAKE_POINT and
# $FAKE_VALUE.
ROUND = """
echo "run" >>"$FAKE_LOG"
while read -r FAKE_VALUE most FAKE_POINT; do
  echo "$FAKE_POINT" >>"$FAKE_LOG"
  n=$(wc -l <"$FAKE_LOG")
  %s
  if [ "$most" != - ] && awk "BEGIN {exit !($FAKE_VALUE > $most)}"; then kind=above; else kind=value; fi
  echo "$kind $FAKE_VALUE $FAKE_POINT"
done <wanted
"""


class FakeComponent:
    """A component whose benchmark is a line of shell code.

    Settings: `log` (path), `problems` (keys), `nodes`, `tasks_per_node`, `before` (a line of shell in each run), `flat`
    (all points have the same value), `script` (plans are batch scripts), `header` (lines at the head of the script),
    `time` (the run time is the objective), `together` (one run evaluates all problems), `slow` (points of kind b are
    slow).
    """

    def __init__(self, definition: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        self.name = str(definition["name"])
        self.version = str(definition["version"])
        self.settings = settings
        self.space = Space((Parameter("size", (0, 1, 2, 4, 8), "log"), Parameter("kind", ("a", "b", "c"), "category")))

    def context(self) -> Mapping[str, object]:
        return {"nodes": 4}

    def problems(self) -> Sequence[Problem]:
        alone = [Problem(key, self.space, {"size": 0, "kind": "a"}) for key in self.settings.get("problems", ["one"])]
        if not self.settings.get("together"):
            return alone
        rounds = self.settings.get("rounds", ["all"] * len(alone))
        return [
            replace(one, round=rounds[index], family="fake", context={"size": 2.0**index})
            for index, one in enumerate(alone)
        ]

    def value(self, point: Parametrization) -> float:
        """Return the value of a point: 2.0 for the default, 1.0 for the optimum (4, c)."""
        if self.settings.get("flat"):
            return 2.0
        if self.settings.get("slow") and point["kind"] == "b":
            return 5.0
        return 1.0 + 0.15 * abs(float(point["size"]) - 4) + 0.2 * "cba".index(str(point["kind"]))

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        point = shlex.quote(f"{problem} {parametrization['size']} {parametrization['kind']}")
        program = PROGRAM % self.settings.get("before", ":")
        script = self.settings.get("script", False)
        return TrialPlan(
            argv=[] if script else ["bash", "run.sh"],
            script=f"#!/bin/bash\n{self.settings.get('header', '')}\n{program}" if script else None,
            nodes=int(self.settings.get("nodes", 1)),
            tasks_per_node=int(self.settings.get("tasks_per_node", 1)),
            environment={
                "FAKE_LOG": str(self.settings["log"]),
                "FAKE_POINT": point.strip("'"),
                "FAKE_VALUE": repr(self.value(parametrization)),
                "FAKE_ZERO": "0",
                "FAKE_DIRECTORY": "{directory}/here",
            },
            files={"run.sh": program},
            timeout_s=float(self.settings.get("timeout_s", 30)),
        )

    def plan_round(self, wanted: Sequence[Wanted]) -> TrialPlan:
        lines = [
            f"{self.value(one.point)} {'-' if one.most is None else one.most} "
            f"{one.problem} {one.point['size']} {one.point['kind']}\n"
            for one in wanted
        ]
        files = {"run.sh": ROUND % self.settings.get("before", ":"), "wanted": "".join(lines)}
        timeout_s = float(self.settings.get("timeout_s", 30))
        return TrialPlan(["bash", "run.sh"], 1, 1, {"FAKE_LOG": str(self.settings["log"])}, files, timeout_s)

    def read(self, problem: str, output: TrialOutput) -> Sample:
        if self.settings.get("together"):
            for line in output.stdout.splitlines():
                kind, value, key, *_ = line.split()
                if key == problem:
                    return Sample(float(value), unit="us", given_up=kind == "above")
            raise ObjectiveError(f"nothing of {problem}")
        lines = [line.split() for line in output.stdout.splitlines() if line.startswith("value ")]
        tasks = int(self.settings.get("nodes", 1)) * int(self.settings.get("tasks_per_node", 1))
        if len(lines) not in (1, tasks) or any("REPRISE=off" not in line for line in lines):
            raise ObjectiveError(f"{len(lines)} tasks of {tasks} answered: {output.stdout!r}")
        return Sample(output.elapsed_s) if self.settings.get("time") else Sample(float(lines[0][1]), unit="us")

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        best = max(comparisons, key=lambda comparison: comparison.gain_low)
        if best.gain_low <= 0 or run(self.plan(best.problem, best.winner)).exit_status != 0:
            return []
        text = repr(dict(best.winner))
        digest = hashlib.sha256(text.encode()).hexdigest()
        artifacts.mkdir(parents=True, exist_ok=True)
        path = artifacts / digest
        path.write_text(text)
        publication = Publication(
            parametrization=best.winner,
            environment={"SRO_SIZE": str(best.winner["size"])},
            conflicts=["SRO_*"],
            default=best.default,
            tuned=best.tuned,
            gain=best.gain,
            gain_low=best.gain_low,
            gain_high=best.gain_high,
            artifact=Artifact(digest, str(path), "fake", len(text), time.time()),
        )
        return [replace(publication, context=context) for context in self.settings.get("contexts", [{}])]


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> FakeComponent:
    return FakeComponent(definition, settings)


def register() -> None:
    """Register the component, and allow any user, including root, to run its campaigns."""
    component_registry.KINDS["fake"] = "tests.fake_component"
    campaign_account.effective_uid = lambda: UID


if __name__ == "__main__":
    register()
    main()
