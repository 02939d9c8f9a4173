# SPDX-License-Identifier: Apache-2.0
"""Test the plugin's checks of replies and of values from a job's environment, and its requests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reprise.allowlist import ALLOW_LIST, REPORTED_LIST, c_table
from reprise.database.entities import Decision
from reprise.matcher.wire.protocol import decision_reply
from tests.spank.conftest import SPANK, Probe
from tests.spank.daemon import decision
from tools import slurm_options

ROOT = SPANK.parent
VECTORS = json.loads((ROOT / "tests/vectors/protocol.json").read_text(encoding="utf-8"))
PROTOCOL = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
MESSAGES = (ROOT / "docs/reference/messages.md").read_text(encoding="utf-8")
VARIABLES = (ROOT / "docs/reference/variables.md").read_text(encoding="utf-8")


def body(vector: dict[str, Any]) -> bytes:
    if "json" in vector:
        return json.dumps(vector["json"]).encode()
    if "hex" in vector:
        return bytes.fromhex(vector["hex"])
    if "parts" in vector:
        return b"".join(text.encode() * count for text, count in vector["parts"])
    return str(vector["text"]).encode()


@pytest.mark.parametrize("what", ["replies", "carried"])
def test_every_vector_is_judged_as_the_protocol_says(probe: Probe, what: str) -> None:
    vectors = VECTORS[what]
    answers = probe.ask({"replies": "reply", "carried": "carried"}[what], [body(vector) for vector in vectors])
    got = {vector["name"]: answer for vector, answer in zip(vectors, answers, strict=True)}
    assert got == {vector["name"]: vector.get("expect") for vector in vectors}


@pytest.mark.parametrize("vector", VECTORS["envelopes"], ids=lambda vector: vector["name"])
def test_a_reply_is_accepted_only_after_the_number_of_its_request(probe: Probe, vector: dict[str, Any]) -> None:
    number = bytes(range(16))
    (text,) = probe.ask("envelope", [number + bytes.fromhex(vector["hex"])])
    assert text == (vector["text"] if vector["reply"] else None)


@pytest.mark.parametrize("verdict", ["apply", "none", "observe", "holdout", "defer"])
def test_replies_of_the_real_daemon_are_accepted(probe: Probe, verdict: str) -> None:
    env = {"SRO_A": 'h\u00e9 "x"'} if verdict == "apply" else {}
    logged = Decision(
        id="d-1",
        at=0.0,
        point="submit",
        cluster="c",
        uid=1,
        user="u",
        mode="on",
        verdict=verdict,
        reason="r\u00e9" * 400,
        model="thesis",
        threshold=0.5,
        metadata={},
        score=1.0,
        record_id=3,
        injected=env,
    )
    reply = json.dumps(decision_reply(logged)).encode()
    assert probe.ask("reply", [reply]) == [{"id": "d-1", "verdict": verdict, "env": env}]


def test_no_truncated_reply_is_accepted(probe: Probe) -> None:
    whole = body(VECTORS["replies"][0])
    answers = probe.ask("reply", [whole[:size] for size in range(len(whole))])
    assert answers == [None] * len(whole)


def test_no_flipped_byte_gives_a_variable_outside_the_list(probe: Probe) -> None:
    whole = body(VECTORS["replies"][1])
    flipped = [whole[:i] + bytes([whole[i] ^ bit]) + whole[i + 1 :] for i in range(len(whole)) for bit in (1, 32, 128)]
    allowed = re.compile(r"(OMPI_MCA|PRTE_MCA|PMIX_MCA|ROMIO|SRO|SBB|FASTIO|REPRISE)_[A-Za-z0-9_]+|PNETCDF_HINTS")
    names = [name for answer in probe.ask("reply", flipped) if answer for name in answer["env"]]
    assert names
    assert all(allowed.fullmatch(name) for name in names)


def documented_patterns() -> list[str]:
    section = VARIABLES.split("## The allow-list")[1]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def test_the_allow_list_is_the_documented_one(probe: Probe) -> None:
    assert list(ALLOW_LIST) == documented_patterns()
    names = [pattern.replace("*", "x") for pattern in documented_patterns()]
    assert probe.ask("name", [name.encode() for name in names]) == [True] * len(names)


def test_the_names_that_are_reported_and_never_set_are_the_documented_ones() -> None:
    section = VARIABLES.split("## Reported, never set")[1].split("\n## ")[0]
    documented = re.findall(r"`([A-Z0-9_]+\*?)`", section.split(":")[1].split(". ")[0])
    assert documented == list(REPORTED_LIST)


def test_the_table_of_the_plugin_is_the_one_that_the_list_generates() -> None:
    assert (SPANK / "allowlist_table.h").read_text() == c_table(), "run `make allow-list`"


@example(["/", ":", "@", "[", "`", "{"])  # the characters just before and after the allowed ranges
@given(st.lists(st.text(min_size=1).filter(lambda text: "\0" not in text), min_size=1, max_size=20))
def test_a_name_is_allowed_exactly_if_a_documented_pattern_matches(probe: Probe, names: list[str]) -> None:
    patterns = [re.escape(pattern).replace(r"\*", "[A-Za-z0-9_]+") for pattern in documented_patterns()]
    candidates = [*names, *(f"SRO_{name}" for name in names), *(f"ROMIO_HINTS{name}" for name in names)]
    expected = [any(re.fullmatch(p, name) for p in patterns) for name in candidates]
    assert probe.ask("name", [name.encode("utf-8", "surrogatepass") for name in candidates]) == expected


def test_the_limits_are_the_documented_ones() -> None:
    limits = dict(re.findall(r"#define (\w+) (\d+)", (SPANK / "limits.h").read_text()))
    rows = dict(re.findall(r"^\| ([\w ]+?) \| ([\d,]+) bytes", PROTOCOL, re.MULTILINE))
    rows = {name: value.replace(",", "") for name, value in rows.items()}
    assert limits["REQUEST_MAX"] == rows["request"]
    assert limits["REPLY_MAX"] == rows["reply"]
    assert limits["SCRIPT_MAX"] == rows["script text in a request"]
    assert f"of at most {limits['ENDPOINTS_MAX']}" in (SPANK / "settings.c").read_text()
    assert f"list of endpoints, at most {limits['ENDPOINTS_MAX']}" in PROTOCOL
    assert f"| 0 to {int(limits['NONCE_SIZE']) - 1} |" in PROTOCOL
    twice = [
        f"{2 * int(limits[name]):,} for a {what}" for name, what in (("REQUEST_MAX", "request"), ("REPLY_MAX", "reply"))
    ]
    assert f"({', '.join(twice)})" in PROTOCOL
    assert "#define REPLY_CREDENTIAL_MAX (2 * REPLY_MAX)" in (SPANK / "limits.h").read_text()
    variables = re.search(
        r"variables in a decision \| (\d+), names at most (\d+) bytes, values at most ([\d,]+)", PROTOCOL
    )
    assert variables
    documented = [number.replace(",", "") for number in variables.groups()]
    assert documented == [limits[n] for n in ("VARIABLES_MAX", "VARIABLE_NAME_MAX", "VARIABLE_VALUE_MAX")]
    carried = re.search(r"at most ([\d,]+) bytes\. The job's user can change", VARIABLES.replace("\n", " "))
    assert carried and carried[1].replace(",", "") == limits["CARRY_MAX"]
    deadline = re.search(r"\(([\d,]+) ms unless set otherwise, ([\d,]+) ms at\s+most\)", PROTOCOL)
    assert deadline
    assert [n.replace(",", "") for n in deadline.groups()] == [limits["DEADLINE_MS_DEFAULT"], limits["DEADLINE_MS_MAX"]]
    assert f"string of 1 to {limits['DECISION_ID_MAX']} letters" in MESSAGES
    assert f"a string of 1 to {limits['CLUSTER_NAME_MAX']} of `a-z 0-9 . _ -`" in MESSAGES.replace("\n", " ")
    assert f"string, at most {limits['REASON_MAX']} bytes" in MESSAGES


@given(st.binary(max_size=200))
def test_each_byte_that_is_not_utf8_becomes_one_replacement_character(probe: Probe, data: bytes) -> None:
    ((text, cut),) = probe.ask("text", [data]) if data else [("", False)]
    expected = data.decode("utf-8", "surrogateescape")
    expected = re.sub("[\udc80-\udcff]", "\ufffd", expected)
    assert (text, cut) == (expected, False)


@pytest.mark.parametrize(
    "bytes_",
    [
        *(b"\xc1\xbf", b"\xc2\x80", b"\xc2\x7f", b"\xdf\xc0", b"\xe0\x9f\xbf", b"\xe0\xa0\x80", b"\xed\x9f\xbf"),
        *(b"\xed\xa0\x80", b"\xef\xbf\xbf", b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf"),
        *(b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf0\x9f\x98a", b"\x80", b"\xff"),
    ],
    ids=bytes.hex,
)
def test_valid_and_invalid_utf8_are_distinguished_at_the_edges_of_each_range(probe: Probe, bytes_: bytes) -> None:
    ((text, _),) = probe.ask("text", [bytes_])
    assert text == re.sub("[\udc80-\udcff]", "\ufffd", bytes_.decode("utf-8", "surrogateescape"))
    (believed,) = probe.ask("reply", [json.dumps(decision(reason="@")).encode().replace(b"@", bytes_)])
    assert (believed is None) is ("\ufffd" in text)


@pytest.mark.parametrize("character", ["x", "\u00e9", "\u2713", "\U0001f600"])
@pytest.mark.parametrize("offset", range(4))
def test_a_long_script_is_cut_between_characters(probe: Probe, character: str, offset: int) -> None:
    limit = 131072
    whole = "a" * (limit - 4 + offset) + character * 4
    ((text, cut),) = probe.ask("text", [whole.encode()[: limit + 4]])
    assert cut is (len(whole.encode()) > limit)
    assert whole.startswith(text)
    assert limit - 4 < len(text.encode()) <= limit


def sbatch_options(binaries: Path, directory: Path) -> tuple[str, dict[str, int]]:
    conf = directory / "slurm.conf"
    conf.write_text("ClusterName=x\nSlurmctldHost=localhost\nNodeName=n\nPartitionName=p Nodes=n\n")
    with conf.open("a") as out:
        out.write(f"PlugStackConfig={directory}/none\n")
    env = {**os.environ, "SLURM_CONF": str(conf), "LD_PRELOAD": str(binaries / "getopt_table.so")}
    done = subprocess.run(["sbatch", "x"], env=env, capture_output=True, text=True, timeout=30, check=True)
    short, *rows = done.stdout.splitlines()
    return short, {name: int(takes) for name, takes, _ in (row.split() for row in rows)}


def test_the_option_tables_are_those_of_the_installed_sbatch(binaries: Path, tmp_path: Path) -> None:
    source = (SPANK / "slurm_options.h").read_text()
    known = {name: takes == "true" for name, takes in re.findall(r'\{"([^"]*)", (true|false), ', source)}
    short, long = sbatch_options(binaries, tmp_path)
    ours = re.findall(r"\w:*", source.split('short_options[] = "')[1].split('"')[0])
    assert sorted(ours) == sorted(re.findall(r"\w:*", short))
    assert {name: known.get(name) for name in long} == {name: takes == 1 for name, takes in long.items()}


def test_the_plugins_options_are_generated_from_the_table() -> None:
    assert (SPANK / "slurm_options.h").read_text() == slurm_options.header_text(
        tomllib.loads(slurm_options.TABLE.read_text())
    ), "run tools/slurm_options.py header"


UNKNOWN = tomllib.loads((ROOT / "tests/vectors/unknown_options.toml").read_text())["cases"]


def test_an_unknown_long_option_never_hides_the_script(probe: Probe) -> None:
    lines = ["\n".join(["sbatch", *case["line"].split()]).encode() for case in UNKNOWN]
    found = [(case["line"], script) for case, (script, _) in zip(UNKNOWN, probe.ask("words", lines), strict=True)]
    assert found == [(case["line"], case["script"]) for case in UNKNOWN]


def test_of_a_line_with_many_unknown_options_only_some_words_are_looked_up(probe: Probe) -> None:
    few, many = ("\n".join(["sbatch", *["--not-ours", "x"] * count, "job.sh"]).encode() for count in (16, 17))
    assert probe.ask("words", [few, many]) == [[33, None], [0, None]]


@pytest.mark.parametrize(
    ("line", "script", "directory"),
    [
        ("job.sh", 1, None),
        ("-N 2 job.sh", 3, None),
        ("-N2 job.sh", 2, None),
        ("-HN2 job.sh", 2, None),
        ("-HN 2 job.sh", 3, None),
        ("-HOs job.sh -N 2", 2, None),
        ("-k job.sh", 2, None),
        ("-koff job.sh", 2, None),
        ("--time 5 job.sh", 3, None),
        ("--time=5 job.sh", 2, None),
        ("--part main job.sh", 3, None),
        ("--nice job.sh", 2, None),
        ("--nice=5 job.sh", 2, None),
        ("--exclusive job.sh", 2, None),
        ("--reprise off job.sh", 3, None),
        ("--not-ours x -D dir job.sh", 5, "dir"),
        ("-Z job.sh", 2, None),
        ("-: job.sh", 2, None),
        ("-- job.sh", 2, None),
        ("-- -job.sh", 2, None),
        ("--", 0, None),
        ("- x", 1, None),
        ("-n1 : -n2 job.sh", 0, None),
        (": job.sh", 0, None),
        ("-N2", 0, None),
        ("-N", 0, None),
        ("", 0, None),
        ("--wrap x job.sh", 0, None),
        ("--wrap=x", 0, None),
        ("--wr=x job.sh", 0, None),
        ("--wait job.sh", 2, None),
        ("--job-name --wrap job.sh", 3, None),
        ("-D dir job.sh", 3, "dir"),
        ("-Ddir job.sh", 2, "dir"),
        ("-HD dir job.sh", 3, "dir"),
        ("-JD job.sh", 2, None),
        ("--chdir=dir job.sh", 2, "dir"),
        ("--chd dir job.sh", 3, "dir"),
        ("-D a -D b job.sh", 5, "b"),
        ("job.sh -D dir", 1, None),
        ("-J -D job.sh", 3, None),
    ],
)
def test_the_script_is_found_among_the_arguments(probe: Probe, line: str, script: int, directory: str | None) -> None:
    words = "\n".join(["sbatch", *line.split()]).encode()
    assert probe.ask("words", [words]) == [[script, directory]]
