# SPDX-License-Identifier: Apache-2.0
"""Test `reprise match calibrate`, as run by an administrator."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.matcher.calibration import made_up_pairs
from reprise.matcher.calibration.calibrate import LEAST_JOBS, Calibration, calibrate, site_of
from reprise.matcher.calibration.match_prior import LEAST_MATCHED, MOST_SHARE
from reprise.matcher.errors import MatcherError
from reprise.matcher.evaluation import thesis_scenario
from reprise.matcher.evaluation.measurement import measure
from reprise.matcher.linkage import Engine, LinkableRecord, load
from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.submission.metadata import JobMetadata
from tests.unit.matcher_daemon import Daemon, record

JOBS = [one.metadata for one in thesis_scenario.generate(3).records]


@pytest.fixture(autouse=True)
def few_made_up_sites(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use one made-up site, of one scenario, to fit and one to evaluate, unless a test is marked with `sites="all"`."""
    marker = request.node.get_closest_marker("slow")
    if not (marker and marker.kwargs.get("sites") == "all"):
        monkeypatch.setattr(made_up_pairs, "FITTED", range(1000, 1001))
        monkeypatch.setattr(made_up_pairs, "HELD_OUT", range(1100, 1101))
        monkeypatch.setattr(made_up_pairs, "USED", ("thesis",))


@pytest.fixture
def site(tmp_path: Path) -> Daemon:
    """Create a configuration and an empty database, without a running daemon."""
    (tmp_path / "out").mkdir()
    return Daemon(tmp_path)


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(site: Daemon, *words: str, stdin: str = "") -> Done:
    """Run `reprise match calibrate` in the directory `out`, and report errors like `reprise.cli.main.main`."""
    with contextlib.chdir(site.config.parent / "out"):
        done = CliRunner().invoke(reprise, ["--config", str(site.config), "match", "calibrate", *words], input=stdin)
    if done.exception and not isinstance(done.exception, SystemExit):
        if not hasattr(done.exception, "exit_status"):
            raise done.exception
        return Done(done.exception.exit_status, done.stdout, f"{done.stderr}reprise: {done.exception}")
    return Done(done.exit_code, done.stdout, done.stderr)


def left(site: Daemon) -> list[str]:
    return sorted(path.name for path in (site.config.parent / "out").iterdir())


def written(site: Daemon, name: str = "ours.toml") -> Model:
    return load(site.config.parent / "out" / name)


def accounted(jobs: list[JobMetadata]) -> str:
    lines = ["JobID|User|Account|Partition|NNodes|Submit|WorkDir|JobName|SubmitLine"]
    for number, job in enumerate(jobs):
        lines.append(
            f"{number}|{job.user}|{job.account}|main|{job.nodes}|2026-01-02T10:{number % 60:02}:00|{job.directory}|"
            f"{job.job_name}|sbatch -N {job.nodes} job.sh"
        )
        lines.append(f"{number}.batch|||||2026-01-02T10:00:00||batch|")
    return "\n".join(lines) + "\n"


# -- written files -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_is_calibrated_to_the_tuned_jobs_in_the_database(site: Daemon) -> None:
    site.add(*(record(metadata=job.to_json()) for job in JOBS[:60]))
    done = run(site, "ours.toml")
    assert (done.returncode, done.stderr) == (0, "")
    model = written(site)
    assert model.label == "ours/1" and model.evidence["site"]["jobs"] == 60
    first, *more = done.stdout.splitlines()
    assert first == f"ours.toml: model ours/1, threshold {model.threshold}"
    assert more[0].startswith("  made-up sites, thesis: right application ")
    assert "% of all pairs of jobs match; " in more[-1] and "of the jobs match another job" in more[-1]
    assert left(site) == ["ours.toml"]
    path = str(site.config.parent / "out" / "ours.toml")
    assert CliRunner().invoke(reprise, ["match", "model", "check", path]).exit_code == 0
    assert serves(model)


def serves(model: Model) -> bool:
    """Return whether the first job of JOBS matches a record, if each job of JOBS, including the first, has a record."""
    records = [LinkableRecord(number, job, 0.0, 0.2) for number, job in enumerate(JOBS)]
    best = Engine(model, records, cluster_nodes=4, timezone="UTC").link(JOBS[0]).best
    return best is not None and best.score >= model.threshold


@pytest.mark.slow
def test_a_model_calibrated_to_jobs_from_accounting_still_matches(site: Daemon) -> None:
    """A regression: sacct reports no batch job's program, so the prior was once 17 bits too low, and no job matched."""
    (site.config.parent / "jobs").write_text(accounted(JOBS))
    done = run(site, "ours.toml", "--from-sacct", str(site.config.parent / "jobs"))
    assert (done.returncode, done.stderr) == (0, "")
    told = written(site).evidence["site"]
    assert told["jobs"] == len(JOBS) and {"program", "executable", "options", "script"} <= {*told["lacking"]}
    share = sum(a.program == b.program for a in JOBS for b in JOBS if a is not b) / len(JOBS) / (len(JOBS) - 1)
    assert share / 3 < told["share_of_pairs_that_match"] < 3 * share
    assert "expected_matched" not in told and "no more can be estimated, since these jobs lack " in done.stdout
    assert serves(written(site))


def test_accounting_with_any_bytes_is_read_and_omitted_rows_are_counted(site: Daemon) -> None:
    odd = b"99|al\xffice|p|main|1|2026-01-02T10:00:00|/|\xc3|sbatch x\n98|alice\n"
    mark = "\ufeff".encode()
    (site.config.parent / "out" / "jobs").write_bytes(mark + accounted(JOBS[:18]).encode() + odd)
    done = run(site, "ours.toml", "--from-sacct", "jobs")
    left_out, refusal = done.stderr.splitlines()
    assert left_out == "left out 1 jobs without a user or with a truncated line"
    assert done.returncode == 1 and refusal.startswith("reprise: 19 jobs are too few to learn from")
    assert left(site) == ["jobs"]


@pytest.mark.slow
def test_ecm_weights_are_not_fitted_to_jobs_without_programs(site: Daemon) -> None:
    done = run(site, "ours.toml", "--from-sacct", "-", "--weights", "ecm", stdin=accounted(JOBS))
    assert done.returncode == 1 and "\n" not in done.stderr and left(site) == []
    assert done.stderr.startswith("reprise: too little is known about these jobs (program, named_program, ")


@pytest.mark.slow
def test_calibration_with_made_up_sites_needs_no_configuration_or_database(site: Daemon) -> None:
    site.config.write_text("nonsense")
    done = run(site, "site.toml", "--made-up")
    assert done.returncode == 0 and "this site" not in done.stdout
    assert written(site, "site.toml").label == "site/1" and "site" not in written(site, "site.toml").evidence


@pytest.mark.slow(sites="all")
def test_an_overwritten_model_gets_the_next_version(site: Daemon) -> None:
    """Stored decisions contain the version, which therefore must distinguish the new model from the old one."""
    for version in (1, 2):
        assert run(site, "ours.toml", "--made-up", "--force").returncode == 0
        assert written(site).label == f"ours/{version}"


@pytest.mark.slow(sites="all")
def test_the_requested_rate_of_false_matches_is_kept_on_held_out_sites(site: Daemon) -> None:
    models = [calibrate(None, false_matches=rate).model for rate in (0.0, 0.5)]
    assert models[0].threshold >= models[1].threshold
    assert [model.evidence["false_matches_stated"] for model in models] == [0.0, 0.5]
    assert models[0].evidence["held_out_thesis"]["unknown_matched"] == 0


# -- errors, in one line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (["taken.toml", "--made-up"], "", "taken.toml: already exists: give another name, or --force to overwrite it"),
        (["nowhere/x.toml", "--made-up"], "", "nowhere/x.toml: cannot be written: No such file or directory"),
        (
            ["x.toml"],
            "",
            f"0 jobs are too few to learn from: give {LEAST_JOBS} or more (--from-sacct), or use Reprise's model",
        ),
        (["x.toml", "--from-sacct", "-"], accounted(JOBS[:19]), "19 jobs are too few"),
        (["x.toml", "--from-sacct", "-"], "", "<stdin>: the first line has no column JobID: use the output of `sacct "),
        (
            ["x.toml", "--from-sacct", "-"],
            "JobID|User\n1|a\n",
            "<stdin>: the first line has no column JobName: use the output of",
        ),
        (
            ["x.toml", "--from-sacct", "-", "--made-up"],
            "",
            "--from-sacct and --made-up are mutually exclusive: give one",
        ),
        (
            ["x.toml", "--made-up", "--name", "a\nb"],
            "",
            r"the name 'a\nb' cannot be printed: choose another one with --name",
        ),
        (["x.toml", "--made-up", "--name", "\udcff"], "", r"the name '\udcff' cannot be printed"),
    ],
)
def test_invalid_requests_are_refused_in_one_line_and_write_nothing(
    site: Daemon, words: list[str], stdin: str, said: str
) -> None:
    (site.config.parent / "out" / "taken.toml").write_text("as it was")
    done = run(site, *words, stdin=stdin)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"reprise: {said}") and "\n" not in done.stderr
    assert left(site) == ["taken.toml"]
    assert (site.config.parent / "out" / "taken.toml").read_text() == "as it was"


def test_a_missing_database_is_reported_and_nothing_is_written(site: Daemon) -> None:
    site.database.unlink()
    done = run(site, "x.toml")
    assert done.returncode == 1 and str(site.database) in done.stderr and "\n" not in done.stderr
    assert left(site) == []


@pytest.mark.parametrize("words", [["x", "--false-matches", "0.9"], ["x", "--weights", "magic"], []])
def test_invalid_options_give_status_2(site: Daemon, words: list[str]) -> None:
    done = run(site, *words)
    assert done.returncode == 2 and left(site) == []


@pytest.mark.slow(sites="all")
def test_calibration_fails_if_no_threshold_keeps_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = made_up_pairs.held_out(load("site"))
    sure = {
        name: [type(one)(one.seed, one.query, one.nearest, one.found, 1.0) for one in of_one]
        for name, of_one in answers.items()
    }
    monkeypatch.setattr(made_up_pairs, "held_out", lambda _: sure)
    with pytest.raises(MatcherError, match="no threshold keeps false matches at 1 %"):
        calibrate(None)


def test_help_states_that_ecm_weights_are_less_accurate() -> None:
    told = " ".join(CliRunner().invoke(reprise, ["match", "calibrate", "--help"]).output.split())
    assert "less accurate" in told and "takes half a minute" in told


# -- odd sites ---------------------------------------------------------------------------------------------------------


def of_one_user() -> list[JobMetadata]:
    return [JobMetadata(**{**vars(job), "user": "ann", "account": "p", "directory": "/home/ann"}) for job in JOBS]


def all_the_same() -> list[JobMetadata]:
    return [JOBS[0]] * 30


def all_unlike() -> list[JobMetadata]:
    rng = random.Random(1)  # noqa: S311 - not used for security

    def word() -> str:
        return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=12))

    return [
        JobMetadata(word(), word(), program=(name := word()), path=f"/{word()}/{name}", directory=f"/{word()}")
        for _ in range(40)
    ]


@pytest.mark.slow(sites="all")
@pytest.mark.parametrize("jobs", [of_one_user, all_the_same, all_unlike])
def test_unusual_sites_get_a_usable_model(jobs: Callable[[], list[JobMetadata]]) -> None:
    found = made(jobs())
    assert found.expected and LEAST_MATCHED / len(JOBS) <= found.expected.share <= MOST_SHARE
    assert -100 < (found.model.prior or 0) < 0


def made(jobs: list[JobMetadata]) -> Calibration:
    return calibrate(site_of(jobs, cluster_nodes=4, timezone="UTC"))


# -- the shipped model -------------------------------------------------------------------------------------------------


@pytest.mark.slow(sites="all")
def test_the_shipped_model_has_todays_fields_and_correct_evidence() -> None:
    shipped, today = load("site"), calibrate(None).model
    assert (today.label, today.prefer, today.scoring) == (shipped.label, shipped.prefer, shipped.scoring)
    for field, other in zip(today.fields, shipped.fields, strict=True):
        settings = {"parts": {"__all__": {"curve", "unknown"}}}
        assert field.model_dump(exclude=settings) == other.model_dump(exclude=settings)
    assert today.fields[-1] == shipped.fields[-1] and shipped.compares_program_files
    for scenario, answered in made_up_pairs.held_out(shipped).items():
        measures, told = measure(answered, shipped.threshold), shipped.evidence[f"held_out_{scenario}"]
        assert {key: round(100 * (getattr(measures, key).value or 0), 1) for key in told} == told
