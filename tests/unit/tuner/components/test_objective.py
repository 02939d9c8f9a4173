# SPDX-License-Identifier: Apache-2.0
"""Test the objective of a trial: its run time, a number in its output, or the value of a site's function."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reprise.tuner.components import objective
from reprise.tuner.components.component_file import check
from reprise.tuner.components.described_component import Objective, Part
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import Sample, TrialOutput
from tests.places import ROOT
from tests.unit.component_values import definition

OSU = """\
# OSU MPI Broadcast Latency Test v5.6.3
# Size       Avg Latency(us)
512                    18.71
1024                   20.29
2048                   31.00
"""
ROWS = r"^\d+\s+([\d.]+)"


def output(stdout: str = "", directory: Path | None = None) -> TrialOutput:
    return TrialOutput(0, stdout, "", 12.5, directory)


def read(one: Objective, found: TrialOutput, work_directory: str = "") -> Sample:
    function = objective.load(one.function, found.directory.parent) if one.function and found.directory else None
    return objective.read(one, found, work_directory, function)


def test_the_objective_is_the_run_time_by_default() -> None:
    assert read(Objective(), output()) == Sample(12.5)


@pytest.mark.parametrize(
    ("take", "value"),
    [("first", 18.71), ("last", 31.0), ("min", 18.71), ("max", 31.0), ("mean", 70 / 3), ("sum", 70.0)],
)
def test_a_pattern_reads_osus_table(take: str, value: float) -> None:
    sample = read(Objective(pattern=ROWS, take=take, unit="us"), output(OSU))
    assert sample.value == pytest.approx(value) and sample.unit == "us"


def test_a_maximized_figure_is_recorded_as_its_reciprocal() -> None:
    bandwidth = Objective(pattern=r"write +([\d.]+) MiB/s", unit="MiB/s", maximize=True)
    assert read(bandwidth, output("write 250.0 MiB/s\n")) == Sample(1 / 250, unit="1/(MiB/s)")
    with pytest.raises(ObjectiveError, match="must be over 0"):
        read(bandwidth, output("write 0 MiB/s"))


@pytest.mark.parametrize(("pattern", "words"), [(r"time (\S+)", "found nothing"), (r"(\w+) us", "is not a number")])
def test_an_output_without_the_number_fails_the_trial(pattern: str, words: str) -> None:
    with pytest.raises(ObjectiveError, match=words):
        read(Objective(pattern=pattern), output("took many us"))


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    directory = tmp_path / "trial"
    directory.mkdir()
    (directory / "stdout").write_text(OSU)
    (directory / "stderr").write_text("real\t1m2.5s\n")
    return directory


def test_a_file_is_sought_where_the_application_runs_or_in_the_trials_directory(trial: Path) -> None:
    work = trial.parent / "work"
    work.mkdir()
    (work / "log").write_text("time 1\n")
    (trial / "log").write_text("time 2\n")
    found = output("time 3", trial)
    for file, value in (("log", 1), ("{directory}/log", 2), ("", 3)):
        assert read(Objective(pattern=r"time (\d)", file=file), found, str(work)).value == value


def test_a_file_from_an_earlier_run_is_not_used(trial: Path) -> None:
    log = trial.parent / "log"
    log.write_text("time 1\n")
    os.utime(log, (1e9, 1e9))
    with pytest.raises(ObjectiveError, match="older than the trial"):
        read(Objective(pattern=r"time (\d)", file=str(log)), output("", trial))
    with pytest.raises(ObjectiveError, match="cannot be read"):
        read(Objective(pattern=r"time (\d)", file="missing"), output("", trial))


def functions(trial: Path, text: str) -> None:
    (trial.parent / "site.py").write_text(text)


def test_a_function_gets_the_trials_directory(trial: Path) -> None:
    functions(trial, "def total(directory):\n    return sum(1 for _ in (directory / 'stdout').open())\n")
    assert read(Objective(function="site.total", unit="lines"), output(directory=trial)) == Sample(5.0, unit="lines")


def test_a_function_made_for_shaman_finds_the_output_where_it_looks_for_it(trial: Path) -> None:
    text = "def real(job_id, path=None):\n    return float((path / f'slurm-{job_id}.out').read_text()[-5:-2])\n"
    functions(trial, text)
    assert read(Objective(function="site.real"), output(directory=trial)).value == 2.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(directory):\n    raise ValueError('a\\nb')\n", "site.f: ValueError: a b"),
        ("def f(directory):\n    return 'fast'\n", "returned 'fast', which is not a number"),
        ("def f(directory):\n    return True\n", "returned True"),
        ("def f(job_id):\n    return 1\n", "TypeError"),
    ],
)
def test_a_function_that_fails_fails_the_trial_in_one_line(trial: Path, text: str, words: str) -> None:
    functions(trial, text)
    with pytest.raises(ObjectiveError, match=words):
        read(Objective(function="site.f"), output(directory=trial))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("other.f", "", "cannot be read"),
        ("site.g", "def f(directory): return 1\n", "has no function 'g'"),
        ("site.f", "import no_such_module_at_all\n", "cannot be imported"),
    ],
)
def test_a_missing_function_is_refused_before_anything_runs(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / "site.py").write_text(text)
    with pytest.raises(TunerError, match=words):
        objective.load(name, tmp_path)


@pytest.mark.parametrize("of", [".", "site.py"])
def test_a_function_that_others_may_write_is_not_run(tmp_path: Path, of: str) -> None:
    (tmp_path / "site.py").write_text("def f(directory): return 1\n")
    (tmp_path / of).chmod(0o777)
    with pytest.raises(TunerError, match="other users can write to it"):
        objective.load("site.f", tmp_path)


def test_maximizing_reverses_the_order_of_samples(trial: Path) -> None:
    settings: dict[str, Any] = {"pattern": ROWS, "take": "first"}
    low, high = Objective(**settings), Objective(**settings, maximize=True)
    assert read(low, output("1 2\n")).value < read(low, output("1 4\n")).value
    assert read(high, output("1 2\n")).value > read(high, output("1 4\n")).value


IOR_3 = """\
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     800.00     812.11     0.009       65536      1024.00    0.000433   0.320000   0.000200   0.320000   0
read      1600.00    1611.20    0.001       65536      1024.00    0.000433   0.160000   0.000200   0.160000   0
write     400.00     812.11     0.009       65536      1024.00    0.000433   0.640000   0.000200   0.640000   1
read      1600.00    1611.20    0.001       65536      1024.00    0.000433   0.160000   0.000200   0.160000   1

Max Write: 800.00 MiB/sec (838.86 MB/sec)
"""
IOR_2 = """\
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
write     800.00     65536      1024.00    0.000433   0.320000   0.000200   0.480000   0
read      1600.00    65536      1024.00    0.000433   0.160000   0.000200   0.160000   0
"""
IOR = {"write": r"^write\s.*\s([\d.]+)\s+\d+\s*$", "read": r"^read\s.*\s([\d.]+)\s+\d+\s*$"}


@pytest.mark.parametrize("text", [IOR_3, IOR_2])
def test_parts_read_iors_table_and_are_kept(text: str) -> None:
    parts = [
        Part(name, pattern, "mean", weight) for (name, pattern), weight in zip(IOR.items(), (1.0, 2.0), strict=True)
    ]
    sample = read(Objective(parts=parts), output(text))
    assert sample.metrics == pytest.approx({"write": 0.48, "read": 0.16}) and sample.value == pytest.approx(0.8)


def test_the_manual_has_the_patterns_that_read_iors_table() -> None:
    text = (ROOT / "docs/how-to/component.md").read_text()
    assert all(f"{{pattern: '{pattern}', take: mean}}" in text for pattern in IOR.values())


def test_a_rate_counts_as_the_time_that_the_amount_takes() -> None:
    bandwidth = Part("read", r"^read\s+([\d.]+)", "last", 0.0, 64.0)
    wall = Part("write", r"^write\s+([\d.]+)", "first", 1.0, 80.0)
    sample = read(Objective(parts=[bandwidth, wall]), output(IOR_3))
    assert sample.metrics == {"read": 0.04, "write": 0.1} and sample.value == 0.1
    with pytest.raises(ObjectiveError, match="read is 0, but a rate must be over 0"):
        read(Objective(parts=[bandwidth]), output("read 0"))


def test_a_part_that_the_output_lacks_fails_the_trial() -> None:
    with pytest.raises(ObjectiveError, match="found nothing in standard output"):
        read(Objective(parts=[Part("read", r"^read\s+([\d.]+)"), Part("sync", r"^sync\s+([\d.]+)")]), output(IOR_3))


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"pattern": "(x)", "parts": {"a": {"pattern": "(x)"}}}, "has pattern and parts, which exclude each other"),
        ({"parts": {"a": {"pattern": "(x)", "weight": 0}}}, "all weights are 0"),
        ({"parts": {"a": {"pattern": "(x)"}}, "direction": "maximize"}, "rates have an `amount`"),
        ({"parts": {"a": {"pattern": "x"}}}, "must have one group"),
        ({"unit": "s"}, "add a pattern, parts or a function"),
    ],
)  # fmt: skip
def test_impossible_parts_are_refused(section: dict[str, Any], words: str) -> None:
    with pytest.raises(TunerError, match=words):
        check(definition({"n": {"default": 1}}, objective=section))
