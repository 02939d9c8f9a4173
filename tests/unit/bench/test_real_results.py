# SPDX-License-Identifier: Apache-2.0
"""Test the results of the benchmark of real programs: their storage between runs, and numbers computed from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.real import __main__ as real
from bench.real import bars, kept_results, parts, placing, promises, witnessing
from bench.real.catalogue import Program, programs
from bench.real.communication import communicating, only_communicates
from bench.real.kept_results import Kept, Origin, kept, origin
from bench.real.printed_rows import promise_rows
from bench.real.promises import Promise, read, remeasured
from bench.real.running import ProgramError

PROGRAM = Program(name="one", script="time ./one\n", title="One", packages=(), kind="mpi", right="sum 7")
HERE = Origin("c0de", "eight nodes")
ASKED = {"pairs": 6, "later_s": 120.0}


def file(directory: Path, at: Origin = HERE, *, stale: bool = False) -> Kept:
    return kept(directory, PROGRAM, at, stale=stale)


def test_a_result_is_found_again_with_its_options_code_and_network(tmp_path: Path) -> None:
    file(tmp_path).keep("promise", ASKED, {"runs": 25})
    again = file(tmp_path)
    assert again.has("promise", ASKED) and again.found("promise") == {"runs": 25}
    assert not again.has("promise", {**ASKED, "pairs": 8}) and not again.has("overhead", {"pairs": 4})
    for other in (Origin("new", "eight nodes"), Origin("c0de", "four nodes")):
        assert not file(tmp_path, other).has("promise", ASKED) and file(tmp_path, other).is_outdated
    assert file(tmp_path, Origin("new", "eight nodes"), stale=True).found("promise") == {"runs": 25}
    assert file(tmp_path, Origin("c0de", "four nodes"), stale=True).found("promise") is None


def test_a_part_that_failed_is_measured_again_and_a_success_clears_the_failure(tmp_path: Path) -> None:
    one = file(tmp_path)
    one.keep("runs", {"runs": 3}, [1.0])
    one.fail("runs", "no result")
    assert not file(tmp_path).has("runs", {"runs": 3}) and file(tmp_path).failed == {"runs": "no result"}
    file(tmp_path).keep("runs", {"runs": 3}, [2.0])
    assert file(tmp_path).failed == {} and file(tmp_path).found("runs") == [2.0]


@pytest.mark.parametrize("text", ["", "[]", '{"format": 3, "parts": {"runs": {"found": 1}}}', '{"format": 3}'])
def test_a_file_that_is_not_a_result_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(ValueError, match=r"one\.json: not a result of this bench .*: remove it"):
        file(tmp_path)


def test_the_code_is_the_products_and_the_programs_own() -> None:
    other = PROGRAM.model_copy(update={"script": "time ./one -v\n"})
    assert origin(PROGRAM, "product", "n") == origin(PROGRAM, "product", "n")
    assert len({origin(PROGRAM, "product", "n"), origin(other, "product", "n"), origin(PROGRAM, "changed", "n")}) == 3
    assert kept_results.product() == kept_results.product()


class Cluster:
    """A fake cluster that does nothing; `started` counts all started clusters."""

    started = 0

    def __init__(self, *_: object) -> None: ...

    def describe(self) -> str:
        return "eight nodes"

    def start(self) -> None:
        Cluster.started += 1

    def stop(self) -> None: ...


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the programs in the order of their runs. Each run takes a second; `xz` fails."""
    seen: list[str] = []

    def run(_: Cluster, program: Program, environment: Mapping[str, str], *options: str) -> float:
        seen.append(program.name)
        if program.name == "xz":
            raise ProgramError("xz: job 7 is FAILED")
        return 1.0

    monkeypatch.setattr(real, "VirtualCluster", Cluster)
    monkeypatch.setattr(parts, "run_program", run)
    monkeypatch.setattr(placing, "prepare", lambda *_: None)
    Cluster.started = 0
    return seen


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def test_a_program_that_fails_counts_as_wrong_and_the_next_program_gets_a_new_cluster(
    ran: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert real.main(["--only", "xz,zstd,pigz", "--runs", "2", "--results", str(tmp_path)]) == 1
    told = last_line(capsys)
    assert told["wrong"] == ["xz"] and told["seconds"] == {"pigz": [1.0, 1.0], "zstd": [1.0, 1.0]}
    assert Cluster.started == 2


def test_an_interrupted_bench_continues_and_counts_all_stored_results(
    ran: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--runs", "2", "--results", str(tmp_path)]
    real.main(["--only", "zstd", *words])
    real.main(["--only", "zstd,pigz", *words])
    assert ran == ["zstd", "zstd", "pigz", "pigz"]
    assert set(last_line(capsys)["seconds"]) == {"zstd", "pigz"}
    real.main(["--only", "zstd", "--fresh", *words])
    assert ran[4:] == ["zstd", "zstd"]
    started = Cluster.started
    assert real.main(["--report", "--results", str(tmp_path)]) == 0 and Cluster.started == started
    assert set(last_line(capsys)["seconds"]) == {"zstd", "pigz"}


def test_too_few_pairs_are_refused() -> None:
    for words in (["--pairs", "1"], ["--tune", "1"], ["--overhead", "3"]):
        with pytest.raises(SystemExit):
            real.arguments(words)


TOLD: dict[str, Any] = {
    "trials": 20,
    "node_hours": 2.0,
    "runs": 22,
    "proxy": {"made": True, "node_hours": 0.5, "loss": 0.01},
    "record": 4,
    "gain": {"gain": 0.2, "low": 0.15, "high": 0.25},
    "parametrization": {"parts": {"openmpi-tcp": {"parametrization": {"parameters": {"links": 4}}}}},
}


GIVEN = {
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_dynamic_rules_filename": "/a.conf",
    "OMPI_MCA_btl_tcp_sndbuf": "1048576",
    "OMPI_MCA_btl_tcp_rcvbuf": "1048576",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1073741824",
    "REPRISE_PRELOAD": "jemalloc",
}
MIXED = ["openmpi-collectives", "openmpi-tcp", "blas-threads", "glibc-malloc", "allocator"]


def test_a_promise_is_read_from_what_the_command_prints() -> None:
    found = read(PROGRAM, TOLD, {"OMPI_MCA_btl_tcp_links": "4"})
    assert found.promised == (0.2, 0.15, 0.25) and found.settings == {"openmpi-tcp": {"links": 4}}
    assert (found.runs, found.all_runs, found.campaign, found.communication) == (22, 27.0, True, True)
    assert found.communicating == {}
    nothing = read(PROGRAM, {"verdict": "nothing here can be tuned", "runs": 1, "proxy": None}, {})
    assert (nothing.runs, nothing.campaign, nothing.promised) == (1, False, None)
    assert Promise.of(json.loads(json.dumps(found.to_json()))) == found


def test_a_promise_with_other_settings_has_those_of_communication_as_variables() -> None:
    own: dict[str, Any] = {name: {"parametrization": {"parameters": {}}} for name in MIXED}
    found = read(PROGRAM, {**TOLD, "parametrization": {"parts": own}}, GIVEN)
    assert not found.communication and list(found.communicating) == list(GIVEN)[:4]
    assert Promise.of(json.loads(json.dumps(found.to_json()))) == found


def test_a_gain_counts_as_communication_only_if_no_other_setting_was_changed() -> None:
    assert only_communicates(["openmpi-tcp", "openmpi-collectives"])
    assert not only_communicates(["openmpi-tcp", "glibc-malloc"])
    assert not only_communicates(["mpirun-binding"]) and not only_communicates(["romio"])


def test_only_variables_of_components_that_communicate_are_taken_from_a_record() -> None:
    assert communicating(GIVEN, MIXED) == {name: GIVEN[name] for name in list(GIVEN)[:4]}
    assert communicating(GIVEN, ["blas-threads", "romio"]) == {}


@pytest.mark.parametrize("variables", [{}, {"OMPI_MCA_btl_tcp_links": "4"}], ids=["all of one kind", "mixed"])
def test_each_round_runs_every_kind_of_job_once(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[bool, bool]] = []

    def run(_: Cluster, program: Program, environment: Mapping[str, str], *options: str) -> float:
        assert environment in ({}, variables) and options in ((), ("--reprise=off",))
        ran.append((bool(environment), bool(options)))
        return 10.0 - 4 * (not options) - 3 * bool(environment)

    monkeypatch.setattr(promises, "run_program", run)
    found = remeasured(Cluster(), PROGRAM, 4, variables)  # type: ignore[arg-type]
    assert found == {"on": [6.0] * 4, "off": [10.0] * 4, "part": [7.0] * 4 if variables else []}
    kinds = {(False, False), (False, True), *([(True, True)] if variables else [])}
    assert all(set(ran[one : one + len(kinds)]) == kinds for one in range(0, len(ran), len(kinds)))


def promised(kept: tuple[float, float, float], **changed: Any) -> Promise:
    given: dict[str, Any] = {"runs": 20, "campaign": True, "all_runs": 30.0, "communication": True}
    return Promise("mpi", **{**given, "promised": (0.2, 0.1, 0.3), "kept": kept, **changed})


def test_the_bars_are_of_all_programs_with_a_promise() -> None:
    told = bars.of_promises(
        {
            "held": promised((0.2, 0.15, 0.25), proxy={"used": True}, proxy_loss=(0.03, 0.02, 0.04)),
            "small": promised(
                (0.05, 0.01, 0.09), promised=(0.06, 0.04, 0.08), proxy={"made": True}, proxy_loss=(0.031, 0.03, 0.04)
            ),
            "doubted": Promise("mpi", 20, True, 30.0, proxy={"used": False}, proxy_loss=(0.2, 0.1, 0.3)),
            "noisy": Promise("mpi", 20, True, 30.0, proxy={"used": True}, proxy_loss=(0.04, 0.031, 0.05)),
            "io": promised((0.4, 0.3, 0.5), promised=(0.1, 0.05, 0.2), communication=False, runs=25),
            "mixed": promised(
                (0.3, 0.2, 0.4), communication=False, kept_part=(0.15, 0.1, 0.2), promised=(0.3, 0.2, 0.4)
            ),
            "other": promised((0.3, 0.2, 0.4), communication=False, kept_part=(0.02, -0.1, 0.1)),
            "false": promised((-0.1, -0.2, -0.05), proxy={"made": False, "reason": "none"}),
            "none": Promise("io", 25, True, 25.0),
            "untuned": Promise("io", 1),
        }
    )
    assert (told["claims"], told["claims_held"], told["false_claims"], told["slower"]) == (6, 0.667, 1, 1)
    assert (told["gained"], told["mpi_gained"], told["mpi_gained_10pct"]) == (4, 3, 2)
    shown = {name: one["by_communication"] for name, one in told["promises"].items()}
    assert (shown["held"], shown["io"], shown["mixed"]) == ([0.2, 0.15, 0.25], None, [0.15, 0.1, 0.2])
    assert (told["cost_runs"], told["cost_runs_with_proxy"]) == (20, 30.0)
    assert (told["proxies"], told["proxy_agreement"]) == (4, 0.25)
    assert (told["proxies_used"], told["proxy_agreement_used"], told["proxy_disagrees_beyond_noise"]) == (3, 0.333, 2)


def test_the_gain_by_communication_has_a_row_only_if_it_was_measured_separately() -> None:
    assert len(promise_rows(PROGRAM, promised((0.3, 0.2, 0.4)))) == 2
    rows = promise_rows(PROGRAM, promised((0.3, 0.2, 0.4), communication=False, kept_part=(0.15, 0.1, 0.2)))
    assert rows[2].endswith("kept by communication     15.0% (10.0% to 20.0%)   beyond noise")


def test_the_proxys_loss_has_a_row_also_if_no_gain_was_promised() -> None:
    rows = promise_rows(PROGRAM, Promise("mpi", 25, True, proxy_loss=(0.05, 0.01, 0.09)))
    assert "no gain was promised" in rows[0]
    assert rows[1].endswith("the proxy's best setting costs 5.0% (1.0% to 9.0%)")


def test_a_figure_without_measurements_is_null(tmp_path: Path) -> None:
    told = bars.line([file(tmp_path)], "eight nodes")
    figures = ("claims_held", "false_claims", "slower", "gained", "mpi_gained", "cost_runs", "proxy_agreement")
    assert {told[name] for name in (*figures, "profile_overhead_pct")} == {None}


def test_the_witness_costs_the_median_of_the_programs(tmp_path: Path) -> None:
    files = [kept(tmp_path, one, HERE) for one in programs("pw,lammps,hpcc")]
    for one, percent in zip(files, (0.5, 4.0, 1.0), strict=True):
        one.keep(bars.OVERHEAD, {"pairs": 4}, {"percent": [percent, 0.0, 5.0]})
    told = bars.line(files, "eight nodes")
    assert told["profile_overhead_pct"] == 1.0 and told["overheads"]["lammps"] == [4.0, 0.0, 5.0]


class Reports:
    """A fake cluster that has a directory for the witness's reports; `works` is whether its jobs write reports."""

    def __init__(self, directory: Path, *, works: bool = True) -> None:
        self.directory, self.works = directory, works

    def run(self, argv: list[str], *, user: str) -> None:
        assert user == "alice" and argv[-1] == "/home/alice/real/one/processes"
        for old in self.directory.iterdir():
            old.unlink()

    def path(self, inside: str) -> Path:
        return self.directory


def test_overhead_counts_only_runs_with_a_report_of_the_witness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(cluster: Reports, program: Program, environment: Mapping[str, str], *options: str) -> float:
        assert not environment
        if not options:
            return 2.0
        assert options[0].startswith("--export=ALL,LD_PRELOAD=/") and "REPRISE_PROFILE=/home/alice" in options[0]
        if cluster.works:
            (cluster.directory / "report").touch()
        return 2.02

    monkeypatch.setattr(witnessing, "run_program", run)
    found = witnessing.overhead(Reports(tmp_path), PROGRAM, 4)  # type: ignore[arg-type]
    assert found["percent"] == pytest.approx([1.0, 1.0, 1.0]) and found["witnessed"] == [2.02] * 4
    with pytest.raises(ProgramError, match="one: the witness recorded nothing"):
        witnessing.overhead(Reports(tmp_path, works=False), PROGRAM, 4)  # type: ignore[arg-type]
