# SPDX-License-Identifier: Apache-2.0
"""Test which settings are tried on an application, depending on its profile and on what its jobs can be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reprise.config import Config
from reprise.tuner.application import planned
from reprise.tuner.application.choice import Choice, choose
from reprise.tuner.application.tried_calls import tried_calls
from reprise.tuner.components.application import Workload
from reprise.tuner.components.publication import out_of_jobs_reach
from reprise.tuner.components.trial_inputs import parts
from reprise.tuner.components.user_script import of_its_own
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.openmpi.catalogue import CATALOGUE
from reprise.tuner.openmpi.rules_channel import RulesChannel
from reprise.tuner.profile.profile_values import Collective, Input, Profile
from reprise.tuner.profile.verdicts import Touches, verdicts
from reprise.tuner.together.rules_ingredient import LARGEST
from tests.unit.collectives_values import BUILD
from tests.unit.component_values import SHIPPED, component, shipped
from tests.unit.profile_values import profile
from tests.unit.tuner_site import Site

SCRIPT = "#!/bin/bash\n#SBATCH -N 4\nmpirun solver\n"
FILE = """\
name: {name}
version: "1"
description: tried
kind: application
{more}
parameters:
  size: {{name: SRO_{upper}, default: 1, unset: 1, values: [2, 4]}}
  way: {{name: SRO_{upper}_WAY, type: str, default: a, unset: a, values: [b], when: {{size: 4}}}}
"""


def placed(site: Site, **more: str) -> None:
    for name, words in more.items():
        text = FILE.format(name=name, upper=name.upper(), more=words)
        (site.directory / f"components/{name}.yaml").write_text(text)


def chosen(
    site: Site,
    touches: Mapping[str, list[str]],
    script: str = SCRIPT,
    inputs: Sequence[Input] = (),
    **shares: float,
) -> Choice:
    named = {name.replace("_", "."): share for name, share in shares.items()}
    found = profile(shares=named).model_copy(update={"inputs": inputs})
    workload = Workload(str(site.directory / "app.sh"), script, str(site.directory))
    judged = verdicts(found, {name: Touches(names) for name, names in touches.items()})
    return choose(found, judged, workload, site.config, lambda option: option == "known")


def test_components_take_turns_and_the_one_that_touches_all_computation_comes_last(site: Site) -> None:
    placed(site, a="", b="", c="")
    touches = {"a": ["compute"], "b": ["io.read"], "c": ["io.write"]}
    found = chosen(site, touches, compute=0.6, io_read=0.2, io_write=0.04)
    assert list(found.components) == ["b", "a"]  # component c affects too small a share of the time
    assert list(found.points) == [{"b.size": 2}, {"a.size": 2}, {"b.size": 4}, {"a.size": 4}]


def test_components_whose_settings_jobs_cannot_be_given_are_left_out_with_the_reason(site: Site) -> None:
    placed(site, a="", b="needs: {target: a directory}", c="")
    script = SCRIPT.replace("mpirun", "SRO_C=5 mpirun")
    found = chosen(site, {name: ["io"] for name in "abc"}, script, io_read=0.5)
    assert list(found.components) == ["a"]
    assert [line.partition(":")[0] for line in found.left_out] == ["b", "c"]
    assert "needs target" in found.left_out[0] and "sets SRO_C itself" in found.left_out[1]


def test_an_option_that_sbatch_does_not_have_is_not_tried(site: Site) -> None:
    placed(site, a="activation: {options: [known=yes]}", b="activation: {options: [fastio=yes]}")
    script = SCRIPT.replace("-N 4", "-N 4 --known=yes")
    found = chosen(site, {name: ["io"] for name in "ab"}, script, io_read=0.5)
    assert list(found.components) == ["a"]
    assert found.left_out == ["b: sbatch has no option --fastio here: install the plugin that provides it"]


def test_a_component_that_needs_an_option_that_no_job_can_be_given_is_not_tried(site: Site) -> None:
    placed(site, a="activation: {library: sro}", b="activation: {options: [known=yes]}")
    (site.directory / "libreprise_sro.so").touch()
    site.settings["tuner"]["preload_directory"] = str(site.directory)
    site.config = Config.model_validate(site.settings)
    touches = {name: ["io"] for name in "ab"}
    found = chosen(site, touches, io_read=0.5)
    assert list(found.components) == ["a"]
    assert found.left_out[0].startswith("b: no job can be given --known=yes, and its settings require that")
    for own in ("#SBATCH -N 4 --known=yes", "#SBATCH -N 4\n#SBATCH --known=yes"):
        assert list(chosen(site, touches, SCRIPT.replace("#SBATCH -N 4", own), io_read=0.5).components) == ["a", "b"]
    late = SCRIPT + "#SBATCH --known=yes\n"
    assert list(chosen(site, touches, late, io_read=0.5).components) == ["a"]


def test_fastio_is_the_only_shipped_component_that_needs_an_option_of_sbatch() -> None:
    missing = {}
    for file in sorted(SHIPPED.glob("*.yaml")):
        content = shipped(file.stem)
        if content["kind"] == "application" and not content.get("needs"):
            made = component(content)
            given = parts(made.description, made.default)
            missing[file.stem] = out_of_jobs_reach(of_its_own(SCRIPT, (), given), given)
    assert {name: words for name, words in missing.items() if words} == {"fastio": ["--fastio=yes"]}


BEFORE = "before: drop all\nbefore_reads: drop {{reads}}".replace("{{", "{").replace("}}", "}")


def test_files_that_are_read_are_dropped_from_memory_before_each_trial(site: Site) -> None:
    placed(site, a=BEFORE)
    inputs = [Input(path="/data/a b", bytes=60 << 20), Input(path="/data/c", bytes=5 << 20)]
    found = chosen(site, {"a": ["io"]}, inputs=inputs, io_read=0.5)
    assert found.reads == ["/data/a b", "/data/c"]
    assert "reads" not in found.components["a"], "with `reads`, a trial would fail if one of the files is gone"
    asked = planned.Asked(site.directory / "app.sh", "alice", site.directory, (), {})
    assert check(planned.campaign(asked, found), "test").settings["reads"] == found.reads
    assert "reads" not in planned.campaign_on_proxy(asked, found, Path("/srv/replay.sh"))["settings"]


def test_an_application_whose_small_input_stays_in_memory_does_not_try_reading_ahead(site: Site) -> None:
    placed(site, a=BEFORE, b="")
    found = chosen(site, {"a": ["io"], "b": ["io"]}, inputs=[Input(path="/data/c", bytes=5 << 20)], io_read=0.5)
    assert list(found.components) == ["b"] and found.reads == []
    assert found.left_out[0].startswith("a: acts on files that are not in memory")


OPEN = ", and 6 if noise leaves the gain open"


def test_a_choice_becomes_a_valid_campaign_with_its_cost(site: Site) -> None:
    placed(site, a="")
    found = chosen(site, {"a": ["mpi.p2p"]}, mpi_p2p_offnode=0.5)
    asked = planned.Asked(site.directory / "app.sh", "alice", site.directory, ("--partition=x",), {"account": "y"})
    definition = check(planned.campaign(asked, found, [{"a.size": 4}]), "test")
    assert definition.settings["first"] == [{"a.size": 4}]
    assert definition.search.settings["changes"] == [{"a.size": 2}, {"a.size": 4}]
    assert definition.search.budget == 4 and definition.executor.account == "y"
    cost = planned.cost(asked, found, nodes=4, run_s=90.0, replayed=False)
    assert (cost.runs, cost.on_proxy, cost.node_hours) == (2 + 4 + 14, 0, 20 * 4 * 90 / 3600)
    with_proxy = planned.cost(asked, found, nodes=4, run_s=90.0, replayed=True)
    assert (with_proxy.runs, with_proxy.on_proxy) == (21, 3 + 7 + 4)
    assert planned.cost(replace(asked, trace=Path("a.otf2")), found, nodes=4, run_s=90.0, replayed=True).runs == 20
    assert with_proxy.node_hours == pytest.approx((21 * 90 + 14 * 9) * 4 / 3600)
    assert str(with_proxy).startswith("at most 21 more runs of the application and 14 of its proxy, some ")
    assert str(with_proxy).endswith(" node-hours; up to 4 and 6 more if runs of the default spread" + OPEN)
    assert str(cost).endswith(" node-hours; up to 4 more if runs of the default spread" + OPEN)
    on_proxy = check(planned.campaign_on_proxy(asked, found, Path("/srv/replay.sh")), "test")
    assert on_proxy.settings["proxy"] == "/srv/replay.sh" and on_proxy.name.endswith(" - proxy")


def test_a_proxy_ranks_only_settings_of_messages_and_the_other_settings_follow_its_best_points(site: Site) -> None:
    placed(site, a="", b="", c="")
    touches = {"a": ["mpi.io"], "b": ["mpi.p2p", "mpi.collective"], "c": ["compute", "mpi.collective"]}
    found = chosen(site, touches, mpi_io_read=0.3, mpi_p2p_offnode=0.2, mpi_collective_bcast=0.01, compute=0.4)
    asked = planned.Asked(site.directory / "app.sh", "alice", site.directory, (), {})
    assert list(found.off_proxy().components) == ["a"]
    on_proxy = planned.campaign_on_proxy(asked, found, Path("/srv/replay.sh"))
    assert list(on_proxy["settings"]["components"]) == ["b", "c"]
    alone = [{"b.size": 2}, {"c.size": 2}, {"b.size": 4}, {"c.size": 4}]
    assert on_proxy["settings"]["first"] == alone
    assert on_proxy["search"] == {"method": "screening", "budget": 12, "window": 0}
    assert planned.cost(asked, found, nodes=4, run_s=90.0, replayed=True).on_proxy == 3 + 12 + 4
    ranked = [{"b.size": 4}, {"c.size": 4}, {"b.size": 4, "c.size": 2}]
    ours = planned.campaign(asked, found, ranked)
    assert ours["settings"]["first"] == ranked[:2]
    assert ours["search"]["settings"]["changes"] == [{"a.size": 2}, ranked[2], {"a.size": 4}, *alone]
    assert ours["search"]["settings"]["otherwise"] == list(found.points), "if the application refutes the ranking"
    without = planned.campaign(asked, found)
    assert "first" not in without["settings"] and without["search"]["settings"] == {"changes": list(found.points)}


def test_the_presets_of_a_component_are_tried_before_its_single_values(site: Site) -> None:
    placed(site, a="presets: [{size: 4, way: b}]", b="")
    found = chosen(site, {"a": ["io"], "b": ["io"]}, io_read=0.5)
    assert found.points[:4] == [{"a.size": 4, "a.way": "b"}, {"b.size": 2}, {"a.size": 2}, {"b.size": 4}]
    asked = planned.Asked(site.directory / "app.sh", "alice", site.directory, (), {})
    assert check(planned.campaign(asked, found), "test").search.settings["changes"] == list(found.points)


def test_the_cost_includes_a_proof_run_for_each_component_that_the_winner_may_contain(site: Site) -> None:
    proved = "verify: mpiio\nactivation: {{hints: SRO_HINTS_{0}}}"
    excludes = "\nconflicts: [SRO_A]"
    placed(site, a=proved.format("A"), b=proved.format("B"), c=proved.format("C") + excludes, d="")
    (site.directory / "reprise-witness.so").touch()
    asked = planned.Asked(site.directory / "app.sh", "alice", site.directory, (), {}, searched=1)
    config = site.config.tuner.model_copy(update={"libexec": site.directory})
    site.config = site.config.model_copy(update={"tuner": config})
    for names, proofs in (("d", 0), ("ad", 1), ("ac", 1), ("abd", 2), ("abcd", 2)):
        found = chosen(site, {name: ["io"] for name in names}, io_read=0.5)
        assert set(found.components) == set(names), found.left_out
        assert found.proofs == proofs
        assert planned.cost(asked, found, nodes=4, run_s=90.0, replayed=False).runs == 2 + 1 + 14 + proofs


@pytest.mark.parametrize("name", ["run_T=300.sh", "it's (new) & \udcff\n.sh", "x" * 200 + ".sh", ".sh"])
def test_a_script_of_any_name_makes_campaigns(name: str) -> None:
    asked = planned.Asked(Path("/srv") / name, "ADS\\alice$" * 9, Path("/srv"), (), {})
    ours = check(planned.campaign(asked, Choice()), "test")
    proxy = check(planned.campaign_on_proxy(asked, Choice(), Path("/srv/replay.sh")), "test")
    assert proxy.name == f"{ours.name} - proxy"


def test_a_title_replaces_characters_that_campaign_names_cannot_have() -> None:
    assert planned.Asked(Path("/srv/run_T=300.sh"), "alice", Path("/srv"), (), {}).title == "run_T_300 of alice"


def call(kind: str, most: int, seconds: float, ranks: int = 8, waiting: float = 0.0) -> Collective:
    size = 1
    while size < most:
        size *= 2
    return Collective(
        kind=kind,
        ranks=ranks,
        nodes=ranks,
        bytes=size - 1 if most > 1 else 0,
        calls=100,
        total_bytes=100 * most,
        largest_bytes=most,
        time_s=seconds,
        waiting_s=waiting,
    )


def communicating(ranks: int, *calls: Collective) -> Profile:
    return profile(shares={}).model_copy(update={"elapsed_s": 10.0, "ranks": ranks, "collectives": calls})


def test_rules_are_tried_for_calls_of_all_ranks_that_take_time_and_small_and_large_ones_apart() -> None:
    calls = [
        call("allreduce", 8, 1.0),
        call("allreduce", 4096, 2.0),
        call("bcast", 1 << 20, 1.5),
        call("bcast", 64, 1.0, ranks=4),  # only half of the ranks take part
        call("alltoall", 64, 3.0, waiting=2.95),
        call("scan", 64, 5.0),  # no rules are known for this collective
    ]
    found = tried_calls(communicating(8, *calls), CATALOGUE)
    assert [one.collective for one in found] == ["allreduce", "bcast"]
    assert found[0].low <= 8 and found[0].high == 4096 and found[1].low > 16384


def test_messages_over_the_largest_that_a_rule_names_are_tried_as_the_largest() -> None:
    (found,) = tried_calls(communicating(8, call("bcast", 2**31, 5.0, 8)), CATALOGUE)
    assert (found.low, found.high) == (LARGEST, LARGEST)


@pytest.mark.parametrize(
    ("options", "command", "left_out"),
    [
        ("-N 2 --ntasks-per-node=4", "mpirun", ""),
        ("-N 2 -n 8", "srun", ""),
        ("-N 2", "mpirun", ""),  # the script sets no number of tasks, so the profile's number is used
        ("-N 2", "mpirun -np 8", ""),
        ("-n 8", "srun", ""),
        ("-N 1-4", "srun", ""),
        ("-N 2 --ntasks-per-node=8", "mpirun -np 8 --map-by ppr:4:node", "asks for 2 with 8 tasks on each"),
        ("-n 16", "mpirun -np 8", "asks for 2 with 8 tasks on each"),
        ("-N 4 --ntasks-per-node=2", "mpirun -np 8", "asks for 4 with 2 tasks on each"),
        ("-N 2 -n 7", "mpirun -np 8", "asks for 2 with 3.5 tasks on each"),
    ],
)
def test_rules_are_tried_where_the_jobs_of_the_application_would_be_given_them(
    site: Site, monkeypatch: pytest.MonkeyPatch, options: str, command: str, left_out: str
) -> None:
    monkeypatch.setattr(RulesChannel, "installed", lambda _: RulesChannel.of(BUILD, ()))
    text = 'name: rules\nversion: "1"\ndescription: tried\nkind: collectives\n'
    (site.directory / "components/rules.yaml").write_text(text)
    found = communicating(8, call("allreduce", 4096, 5.0)).model_copy(update={"shares": {"mpi.collective": 0.5}})
    judged = verdicts(found, {"rules": Touches(["mpi.collective"])})
    script = f"#!/bin/bash\n#SBATCH {options}\n{command} solver\n"
    workload = Workload(str(site.directory / "app.sh"), script, str(site.directory))
    choice = choose(found, judged, workload, site.config, lambda _: True)
    assert (list(choice.components), len(choice.left_out)) == ((["rules"], 0) if not left_out else ([], 1))
    assert all(line.startswith("rules: 8 ranks ran on 2 nodes") and left_out in line for line in choice.left_out)


def test_rules_are_not_tried_if_nodes_have_different_numbers_of_ranks(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RulesChannel, "installed", lambda _: RulesChannel.of(BUILD, ()))
    text = 'name: rules\nversion: "1"\ndescription: tried\nkind: collectives\n'
    (site.directory / "components/rules.yaml").write_text(text)
    changes = {"shares": {"mpi.collective": 0.5}, "most_on_node": 5}
    found = communicating(8, call("allreduce", 4096, 5.0)).model_copy(update=changes)
    judged = verdicts(found, {"rules": Touches(["mpi.collective"])})
    workload = Workload("/srv/app.sh", "#!/bin/bash\n#SBATCH -N 2 -n 8\nsrun solver\n", "/srv")
    choice = choose(found, judged, workload, site.config, lambda _: True)
    assert choice.left_out == [
        "rules: 8 ranks on 2 nodes (up to 5 on one): rules need an equal number of ranks on each node"
    ]


@pytest.mark.parametrize("ranks", [0, 1])
def test_there_is_no_rule_for_one_rank(ranks: int) -> None:
    assert tried_calls(communicating(ranks, call("bcast", 64, 5.0, ranks)), CATALOGUE) == []
