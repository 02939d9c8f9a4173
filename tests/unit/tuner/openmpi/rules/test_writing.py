# SPDX-License-Identifier: Apache-2.0
"""Test the writing of rules: the golden file of each form, and that reading a file back gives the same decisions."""

from __future__ import annotations

import pytest

from bench.collectives.rules_roundtrip import main, measure
from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.rules import writing
from reprise.tuner.openmpi.rules.han_file import HanEntry, HanRow
from reprise.tuner.openmpi.rules.han_file import write as write_han
from reprise.tuner.openmpi.rules.releases import FAMILIES, NODE_LEVEL, Reading, family_of, read
from reprise.tuner.openmpi.rules.rules_model import Choice, CommRule, SizeRule, differences
from reprise.tuner.openmpi.rules.writing import Form, form_for, write
from reprise.tuner.openmpi.rules_compiler import Row, Shape, compile_rules
from tests.places import GOLDEN
from tests.unit.collectives_values import BUILD

THEIR_GOLDEN = GOLDEN / "rules"
TABLE = {
    "gather": {Shape(4): [Row(1024, 2), Row(2048, 2), Row(4096, 0)]},
    "bcast": {
        Shape(4): [Row(1048576, 3, 4, 8192), Row(1024, 0), Row(65536, 4, 4, 32768)],
        Shape(5): [Row(8, 2, 64, 16)],
    },
}


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
def test_a_written_file_equals_the_golden_file(form: Form) -> None:
    table = TABLE
    if form is Form.NODES:
        table = {**TABLE, "bcast": {Shape(4, 2): [Row(8, 1)], Shape(4, 4): [Row(8, 6)], Shape(8, 4): [Row(64, 1)]}}
    text = write(compile_rules(table, BUILD), form, ["made for\na test"], BUILD.algorithms)
    assert text == (THEIR_GOLDEN / f"{form.name.lower()}.conf").read_text()


@pytest.mark.parametrize("names", [True, False], ids=["5.0", "4.1"])
def test_a_file_for_han_equals_the_golden_file(names: bool) -> None:
    rows = [HanRow(0, "tuned"), HanRow(1024, "han", 2 if names else 0)]
    rules = {("bcast", "intra_node"): [HanEntry(1, rows)], ("bcast", "global_communicator"): [HanEntry(1, rows[:1])]}
    text = write_han(rules, names, {"bcast": {0: "default", 1: "intra", 2: "simple"}}, ["made for a test"])
    assert text == (THEIR_GOLDEN / f"han-{'5.0' if names else '4.1'}.conf").read_text()


def test_a_portable_file_means_the_same_to_all_releases_and_a_classic_one_does_not() -> None:
    rules = compile_rules(TABLE, BUILD)
    portable, usual = (write(rules, form).encode() for form in (Form.PORTABLE, Form.CLASSIC))
    assert not [name for name in FAMILIES if next(differences(rules, read(portable, name).rules), None)]
    assert [f.name for f in FAMILIES if next(differences(rules, read(usual, f).rules), None)] == ["6"]


@pytest.mark.parametrize(
    ("releases", "form"),
    [
        (["4.1.4"], Form.CLASSIC),
        (["4.1.4", "4.1.8", "5.0.11"], Form.CLASSIC),
        (["6.0.0"], Form.PORTABLE),  # Open MPI 6 prefers JSON, but a JSON file cannot be proved to be in effect
        (["4.1.4", "6.0.0"], Form.PORTABLE),
        (["nodes"], Form.NODES),
    ],
)
def test_the_form_is_one_that_all_releases_read(releases: list[str], form: Form) -> None:
    assert form_for([family_of(release) for release in releases]) is form


def test_no_form_serves_stock_releases_and_builds_with_a_level_of_nodes() -> None:
    with pytest.raises(TunerError, match="no form"):
        form_for([FAMILIES[0], NODE_LEVEL])


ROW = SizeRule(0, 100, Choice(3, requests=2))


@pytest.mark.parametrize(
    ("rule", "form", "why"),
    [
        (CommRule((ROW,)), Form.CLASSIC, "a number of requests cannot be written as classic"),
        (CommRule((ROW,), spread="one-per-node"), Form.REQUESTS, "can only be written as JSON"),
        (CommRule((ROW,), nodes=(2, 2)), Form.JSON, "choose a number of nodes"),
    ],
)
def test_rules_that_a_form_cannot_express_are_refused(rule: CommRule, form: Form, why: str) -> None:
    with pytest.raises(TunerError, match=why):
        write({"bcast": [rule]}, form)


def test_an_empty_table_is_written_as_a_file_without_rules() -> None:
    for form in Form:
        assert not any(read(write({}, form).encode(), family).rules for family in form.families)


def test_a_file_that_does_not_read_back_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "read", lambda _, family: Reading(family, "classic", {}))
    with pytest.raises(AssertionError, match="does not give the same rules"):
        write(compile_rules(TABLE, BUILD), Form.CLASSIC)


def test_random_rules_survive_being_written_and_read() -> None:
    result = measure(600, seed=7, processes=1)
    assert (result["tables"], result["roundtrip_failures"], result["failures"]) == (600, 0, [])


def test_the_measurement_counts_failed_round_trips(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(writing, "read", lambda _, family: Reading(family, "classic", {}, "never read"))
    assert main(["--tables", "5"]) == 1
    assert '"roundtrip_failures": 5' in capsys.readouterr().out
