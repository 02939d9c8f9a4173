# SPDX-License-Identifier: Apache-2.0
"""Test the exhaustive search on real programs, and the numbers it reports, with fake programs of known run times."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.real import bars, catalogue, look_on_cluster, look_points
from bench.real.look_on_cluster import _in_turn
from bench.real.looking import Limits, Looking, Tried, cost, merged, promising, together
from bench.real.promises import Promise
from bench.real.running import ProgramError
from reprise.config import Config, Tuner
from reprise.tuner.components.application import Workload
from reprise.tuner.profile.profile_values import Profile

COMPONENTS = Path(__file__).parents[3] / "etc/components"


class Program:
    """A fake program of 10 s with 2 % noise. `saved` is the share of the time that each variable saves."""

    def __init__(self, saved: Mapping[str, float]) -> None:
        self.saved, self.now, self.noise = saved, 0.0, random.Random(2)  # noqa: S311 - not used for security

    def run(self, environment: Mapping[str, str]) -> float:
        if "hangs" in environment:
            raise ProgramError("it had not ended after 60 s")
        seconds = 10.0 * self.noise.uniform(0.98, 1.02)
        for name in environment:
            seconds *= 1 - self.saved.get(name, 0.0)
        self.now += seconds + 1
        return seconds


def settings(*names: str) -> list[Tried]:
    """Return settings to try: for each name such as `a/x`, a setting of component a that sets the variable x to 1."""
    return [Tried(name.split("/")[0], name, {name.split("/")[1]: "1"}) for name in names]


def look(program: Program, tried: Sequence[Tried], seconds: float = 1e6, pairs: int = 4) -> dict[str, Any]:
    components = {one.component for one in tried}
    names = {name: [f"OF_{name}"] for name in components}
    patterns: dict[str, list[str]] = {name: ["OF_b"] if name == "rival" else [] for name in components}
    order = random.Random(1)  # noqa: S311 - not used for security
    limits = Limits(pairs, seconds, 11.0)
    return Looking(program.run, names, patterns, limits, order, lambda: program.now).look(tried)


def test_the_best_of_two_components_together_is_found() -> None:
    tried = settings("a/slow", "a/fast", "a/faster", "b/fine", "c/nothing")
    found = look(Program({"slow": -0.3, "fast": 0.2, "faster": 0.3, "fine": 0.1}), tried)
    assert set(found["again"]) == {"a/fast", "a/faster", "b/fine"}
    assert found["best"]["settings"] == ["a/faster", "b/fine"] and found["best"]["is_confirmed"]
    assert found["best"]["gain"][0] == pytest.approx(0.37, abs=0.02)
    assert found["unknown"] == [] and found["runs"] == 5 + 6 + 4 * 4 + 3 * 4


def test_a_setting_that_conflicts_with_the_best_is_not_combined_with_it() -> None:
    found = look(Program({"fine": 0.3, "other": 0.2}), settings("b/fine", "rival/other"))
    assert found["best"]["settings"] == ["b/fine"]


def test_without_a_gain_no_setting_is_found() -> None:
    found = look(Program({}), settings("a/x", "a/y", "b/z"))
    assert (found["again"], found["best"], found["unknown"], found["runs"]) == ({}, None, [], 3 + 6)


def test_a_setting_that_makes_the_program_fail_is_not_a_gain() -> None:
    found = look(Program({}), settings("a/hangs", "b/z"))
    assert list(found["failed"]) == ["a/hangs"] and found["unknown"] == []


def test_a_default_that_fails_ends_the_search() -> None:
    class Broken(Program):
        def run(self, environment: Mapping[str, str]) -> float:
            raise ProgramError("it failed")

    with pytest.raises(ProgramError, match="it failed"):
        look(Broken({}), settings("a/x"))


def test_a_search_ends_in_time_and_reports_what_is_unknown() -> None:
    program = Program(dict.fromkeys("abcdefgh", 0.2))
    tried = settings("a/a", "b/b", "c/c", "d/d", "e/e", "f/f", "g/g", "h/h")
    found = look(program, tried, seconds=400)
    assert program.now < 400 * 1.2
    assert found["again"] and found["unknown"] and found["unknown"] != list("abcdefgh")
    assert {one["component"] for one in found["again"].values()} | {*found["unknown"]} == set("abcdefgh")
    assert found["best"]["gain"][0] > 0.1


def test_only_the_two_fastest_of_a_component_are_measured_again() -> None:
    tried = settings("a/1", "a/2", "a/3", "b/1", "b/2")
    seconds = {"a/1": 8.0, "a/2": 7.0, "a/3": 9.0, "b/1": 9.6, "b/2": 9.3}
    assert [one.name for one in promising(tried, seconds, [9.8, 10.0, 10.2])] == ["a/2", "a/1", "b/2"]
    assert [one.name for one in promising(tried, seconds, [8.0, 10.0, 12.0, 8.1])] == ["a/2", "a/1"]


def test_the_cost_is_printed_before_the_search() -> None:
    tried = settings("a/1", "a/2", "b/1")
    words = cost(tried, Limits(6, 1800.0, 10.0))
    assert words.startswith(
        "3 settings of 2 components: 9 runs, then 6 for each setting that seems faster, at most 42; "
        "the first 9 runs take some 2 min"
    )
    assert cost(tried * 200, Limits(6, 600.0, 10.0)).startswith("30 settings (of 600, because there is no time")


def test_components_take_turns() -> None:
    tried = _in_turn(settings("a/1", "a/2", "b/1", "b/2", "c/1"))
    assert [one.name for one in tried] == ["a/1", "b/1", "c/1", "a/2", "b/2"]


def test_all_libraries_of_a_combination_are_loaded() -> None:
    one = Tried("a", "a", {"X": "1", "LD_PRELOAD": "/liba.so"})
    other = Tried("b", "b", {"Y": "2", "LD_PRELOAD": "/libb.so"})
    assert merged([one, other]) == {"X": "1", "Y": "2", "LD_PRELOAD": "/liba.so:/libb.so"}
    names: dict[str, Sequence[str]] = {"a": ["LD_PRELOAD"], "b": ["Y"]}
    assert together([one, other], names, {"a": [], "b": ["LD_*"]}) == [one]


PROFILE = Profile.model_validate(
    {
        "elapsed_s": 10.0,
        "processes": 8,
        "ranks": 8,
        "nodes": 8,
        "programs": ["one"],
        "slowest": {"rank": 0, "host": "n", "program": "one", "wall_s": 10.0, "waiting_s": 0.0},
        "shares": {"compute": 0.6, "memory": 0.1, "mpi.p2p.offnode": 0.2, "mpi.io.write": 0.1},
        "waiting": 0.0,
        "waiting_calls": {},
        "collectives": [],
        "messages": [],
        "files": [],
        "mpi_files": [],
        "meta": {},
        "threads": {
            "most": 1,
            "busy": 1.0,
            "processors": 1,
            "online": 2,
            "affinity": "0",
            "environment": {},
            "libraries": [],
        },
        "memory": {
            "minor_faults": 0,
            "major_faults": 0,
            "fault_us": 0.0,
            "peak_bytes": 0,
            "involuntary_switches": 0,
        },
        "remarks": [],
    }
)


def points(script: str = "#!/bin/bash\n#SBATCH --nodes=8\nmpirun one\n", profile: Profile = PROFILE) -> dict[str, Any]:
    workload = Workload("/home/alice/job.sh", script, "/home/alice")
    return look_points.tried(profile, workload, Config(tuner=Tuner(components=COMPONENTS)))


def test_the_values_of_all_components_that_jobs_can_be_given_are_tried_alone() -> None:
    found = points()
    by_name = {one["name"]: one for one in found["settings"]}
    eager = by_name["openmpi-tcp.eager_limit=131072"]
    assert eager["environment"]["OMPI_MCA_btl_tcp_eager_limit"] == "131072" and eager["files"] == {}
    assert {"lustre", "fastio"} <= found["excluded"].keys()
    assert "openmpi-collectives" in found["inapplicable"]
    assert not {one["component"] for one in found["settings"]} & {*found["excluded"], *found["inapplicable"]}


def test_a_value_that_counts_only_with_another_is_tried_with_it_and_without_the_witness() -> None:
    by_name = {one["name"]: one for one in points()["settings"]}
    hint = by_name["romio.io=^ompio,romio_cb_write=disable"]
    assert hint["environment"] == {"OMPI_MCA_io": "^ompio", "ROMIO_HINTS": "{directory}/hints"}
    assert "romio_cb_write disable" in hint["files"]["hints"]


def test_components_for_mpi_are_not_tried_on_programs_without_mpi_calls() -> None:
    serial = PROFILE.model_copy(update={"shares": {"compute": 1.0}})
    found = points(profile=serial)
    assert {"openmpi-tcp", "romio", "openmpi-nonblocking"} <= found["inapplicable"].keys()
    assert {"glibc-malloc", "mpirun-binding", "openmp"} <= {one["component"] for one in found["settings"]}
    assert "openmpi-nonblocking" in points()["inapplicable"]


def test_a_component_whose_settings_the_script_sets_itself_is_not_tried() -> None:
    found = points("#!/bin/bash\n#SBATCH --nodes=8\nexport OMPI_MCA_btl_tcp_eager_limit=1024\nmpirun one\n")
    assert "sets OMPI_MCA_btl_tcp_eager_limit itself" in found["inapplicable"]["openmpi-tcp"]


class Points:
    """A fake cluster that answers commands to profile a program and to list the settings to try."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def run(self, argv: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        verdict = {"component": "romio", "worth": True, "share": 0.3}
        said: dict[str, Any] = {"profile": {"elapsed_s": 30.0}, "verdicts": [verdict]}
        if "bench.real.look_points" in argv:
            environment = {"ROMIO_HINTS": "{directory}/hints"}
            one = {"component": "romio", "name": "romio.x", "environment": environment, "files": {"hints": "x 1\n"}}
            said = {"settings": [one], "names": {"romio": []}, "conflicts": {"romio": []}}
            said |= {"excluded": {}, "inapplicable": {}}
        return subprocess.CompletedProcess(argv, 0, json.dumps(said), "")

    def write(self, path: str, text: str, user: str) -> None:
        self.files[path] = text


def test_settings_run_as_the_users_jobs_and_only_they_have_a_shorter_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[Mapping[str, str], int]] = []

    def run(_: Points, program: catalogue.Program, environment: Mapping[str, str], *options: str) -> float:
        assert options == ("--reprise=off",)
        ran.append((environment, program.timeout_s))
        return 2.0 if environment else 3.0

    monkeypatch.setattr(look_on_cluster, "run_program", run)
    program = catalogue.Program(name="one", script="", title="", packages=(), kind="io", right="")
    cluster = Points()
    found = look_on_cluster.look(cluster, program, 2, 1e5)  # type: ignore[arg-type]
    place = "/home/alice/real/one/look/0"
    assert cluster.files == {f"{place}/hints": "x 1\n"}
    assert {timeout for environment, timeout in ran if not environment} == {180}
    assert all(timeout == 90 for environment, timeout in ran if environment == {"ROMIO_HINTS": f"{place}/hints"})
    assert found["verdicts"] == {"romio": True} and bars.judged(found).right == ["romio"]


LOOK: dict[str, Any] = {
    "verdicts": {"tcp": True, "sro": False, "binding": True, "bcast": True, "blas": False, "sbb": True, "late": True},
    "excluded": {"sbb": "needs a flavor"},
    "inapplicable": {"bcast": "no calls"},
    "unknown": ["late"],
    "runs": 90,
    "again": {
        "tcp.x": {"component": "tcp", "gain": [0.2, 0.1, 0.3]},
        "sro.x": {"component": "sro", "gain": [0.05, 0.01, 0.1]},
        "blas.x": {"component": "blas", "gain": [0.04, 0.01, 0.07]},
        "binding.x": {"component": "binding", "gain": [0.3, -0.1, 0.5]},
    },
    "best": {"settings": ["tcp.x", "sro.x"], "gain": [0.25, 0.2, 0.3], "is_confirmed": True},
}


def test_a_verdict_is_right_if_the_search_confirms_it() -> None:
    found = bars.judged(LOOK)
    assert (found.right, found.false_yes, found.false_no) == (["tcp", "blas"], ["binding", "bcast"], ["sro"])
    assert (found.cannot, found.unknown) == (["bcast"], ["late"])
    told = bars.of_looks({"one": LOOK}, {})
    assert (told["verdict_pairs"], told["verdict_right"], told["verdict_false_yes"]) == (5, 0.4, 2)
    assert (told["verdict_cannot"], told["verdict_false_no"], told["verdict_unknown"]) == (1, 1, 1)


def test_the_oracle_counts_programs_that_can_gain_and_were_tuned() -> None:
    small = {**LOOK, "best": {**LOOK["best"], "gain": [0.04, 0.02, 0.06]}}
    noise = {**LOOK, "best": {**LOOK["best"], "gain": [0.2, -0.02, 0.3]}}
    looks = {"half": LOOK, "more": LOOK, "lost": LOOK, "none": {**LOOK, "best": None}}
    looks |= {"small": small, "noise": noise, "untuned": LOOK, "recordless": LOOK}

    def kept(gain: float) -> Promise:
        return Promise("mpi", 20, True, promised=(0.2, 0.1, 0.3), kept=(gain, gain, gain))

    promises = {"half": kept(0.125), "more": kept(0.3), "lost": kept(-0.2), "none": kept(0.1), "small": kept(0.04)}
    told = bars.of_looks(looks, {**promises, "noise": kept(0.1), "recordless": Promise("io", 1)})
    assert told["oracle_programs"] == 4 and told["oracle_share"] == pytest.approx((0.5 + 1 + 0 + 0) / 4, abs=1e-3)
    assert told["looks"]["untuned"]["oracle"]["share"] is None and told["looks"]["half"]["oracle"]["delivered"] == 0.125


def test_without_a_search_its_figures_are_null() -> None:
    told = bars.of_looks({}, {})
    names = ("verdict_right", "verdict_false_yes", "verdict_cannot", "verdict_false_no", "oracle_share")
    assert {told[name] for name in names} == {None}
