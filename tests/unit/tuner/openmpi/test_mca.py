# SPDX-License-Identifier: Apache-2.0
"""Test MCA parameters: how `ompi_info` is parsed, which parameters are worth trying, and the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from reprise.cli.main import reprise
from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.mca import MCAParameter, chosen, named, parse


def lines(name: str, kind: str, value: str, *more: str) -> str:
    framework, component = name.split("_")[:2]
    head = f"mca:{framework}:{component}:param:{name}"
    given = [f"value:{value}", "source:default", "level:5", f"type:{kind}", "help:Size: in bytes", *more]
    return "\n".join(f"{head}:{one}" for one in given)


TEXT = "\n".join(
    [
        "ompi:version:full:4.1.4",
        "mca:coll:tuned:version:component:4.1.4",
        "mca:pml:monitoring:pvar:messages:type:size_t",
        lines("coll_tuned_bcast_algorithm", "int", "ignore", "enumerator:value:0:ignore", "enumerator:value:1:linear"),
        lines("btl_tcp_eager_limit", "size_t", "65536", "status:read-only"),
        lines("btl_tcp_links", "unsigned_int", "0"),
        lines("btl_tcp_disable", "bool", "false", "enumerator:value:0:false", "enumerator:value:1:true"),
        lines("btl_tcp_if_include", "string", "lo"),
        lines("btl_tcp_priority", "int", "5"),
        lines("coll_tuned_bcast_algorithm_count", "int", "10"),
        lines("btl_tcp_old", "int", "5", "deprecated:yes"),
        lines("btl_tcp_off", "int", "5", "disabled:true"),
        lines("btl_tcp_alias", "int", "5", "synonym_of:name:btl_tcp_links"),
        lines("btl_tcp_peer", "int", "-1"),
        lines("btl_tcp_most", "int", str(2**31 - 1)),
    ]
)
PARAMETERS = {parameter.name: parameter for parameter in parse(TEXT)}


def test_a_parameter_is_read_with_all_its_attributes() -> None:
    assert len(PARAMETERS) == 12
    assert PARAMETERS["coll_tuned_bcast_algorithm"] == MCAParameter(
        "coll",
        "tuned",
        "coll_tuned_bcast_algorithm",
        "int",
        "ignore",
        level=5,
        help="Size: in bytes",
        choices={0: "ignore", 1: "linear"},
    )
    assert PARAMETERS["btl_tcp_alias"].synonym_of == "btl_tcp_links"
    assert PARAMETERS["btl_tcp_alias"].variable == "OMPI_MCA_btl_tcp_alias"


def test_parameters_worth_trying_are_numbers_or_enumerations_and_in_use() -> None:
    assert [name for name, parameter in PARAMETERS.items() if parameter.tunable] == [
        *("coll_tuned_bcast_algorithm", "btl_tcp_eager_limit", "btl_tcp_links", "btl_tcp_disable", "btl_tcp_peer"),
        "btl_tcp_most",
    ]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("coll_tuned_bcast_algorithm", (0, 1)),
        ("btl_tcp_disable", (0, 1)),
        ("btl_tcp_eager_limit", (8192, 16384, 32768, 65536, 131072, 262144, 524288)),
        ("btl_tcp_links", (0, 1, 2, 4, 8)),
        ("btl_tcp_peer", (-1,)),
        ("btl_tcp_most", (268435455, 536870911, 1073741823, 2147483647)),
        ("btl_tcp_if_include", ()),
        ("btl_tcp_off", ()),
    ],
)
def test_the_values_to_try_are_the_builds_choices_or_values_around_the_present_one(
    name: str, values: tuple[int, ...]
) -> None:
    assert PARAMETERS[name].values() == values


def test_a_number_whose_value_is_not_numeric_has_no_values() -> None:
    assert MCAParameter("btl", "tcp", "btl_tcp_x", "int", "all").values() == ()


def test_parameters_are_selected_by_words_and_level() -> None:
    found = chosen(list(PARAMETERS.values()), ("TCP", "limit"), tunable=True, level=9)
    assert [parameter.name for parameter in found] == ["btl_tcp_eager_limit"]
    assert not list(chosen(list(PARAMETERS.values()), (), tunable=False, level=4))


def test_an_unknown_parameter_is_named_with_the_nearest() -> None:
    assert named(list(PARAMETERS.values()), "OMPI_MCA_btl_tcp_links").name == "btl_tcp_links"
    with pytest.raises(TunerError, match="no such MCA parameter: did you mean btl_tcp_links"):
        named(list(PARAMETERS.values()), "btl_tcp_link")
    with pytest.raises(TunerError, match="see `reprise tune mca list`"):
        named(list(PARAMETERS.values()), "zzzzz")


@given(st.text(max_size=80) | st.text(":mcaparenumtorvlu01\n", max_size=80).map(lambda text: f"mca:a:b:param:c:{text}"))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert parse(text)
    except TunerError as error:
        assert "no MCA parameter" in str(error)


@pytest.fixture
def info(tmp_path: Path) -> Path:
    path = tmp_path / "info.txt"
    path.write_text(TEXT)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(reprise, ["tune", "mca", *map(str, arguments)])


def test_the_list_can_be_made_from_another_machines_output(info: Path) -> None:
    assert run("list", "eager", "--from", info).output == "btl_tcp_eager_limit  65536\n"
    told = json.loads(run("list", "--tunable", "--from", info, "--json").output)["parameters"]
    assert [one["name"] for one in told][:2] == ["coll_tuned_bcast_algorithm", "btl_tcp_eager_limit"]
    assert told[0]["values"] == [0, 1]
    assert run("list", "nothing", "like", "it", "--from", info).output == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("coll_tuned_bcast_algorithm", "     1  linear"),
        ("btl_tcp_links", "values to try: 0, 1, 2, 4, 8"),
        ("btl_tcp_alias", "synonym of btl_tcp_links"),
        ("btl_tcp_if_include", "value lo, from: default\n  not worth tuning"),
    ],
)
def test_one_parameter_is_shown(name: str, words: str, info: Path) -> None:
    assert words in run("show", name, "--from", info).output
    assert json.loads(run("show", name, "--from", info, "--json").output)["name"] == name


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    result = run("list", "--from", tmp_path / "none")
    assert "cannot be read (No such file or directory)" in str(result.exception)
