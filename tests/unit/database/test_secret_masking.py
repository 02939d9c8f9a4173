# SPDX-License-Identifier: Apache-2.0
"""Test that all secrets within a text are masked, that other text is unchanged, and that no text takes long."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reprise.database.masked_json import masked_json, may_hold_secret
from reprise.database.secret_masking import MASK, masked_text
from tests.examples import examples

LIMIT = 128 * 1024  # maximum number of characters of a value
NAMES = ("password", "DB_PASSWORD", "apiKey", "X-Auth-Token", "Authorization", "--api-key", '"secret"')
BEFORE = ("", "user=a,", "host=h;", "https://h/?x=1&", "curl -H ", "{", "--x=1 ", 'X-Note: a="b", ')


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://u:p@ss@h/x", "https://***@h/x"),
        ("https://u:pa/ss@h/x", "https://***@h/x"),
        ("https://TOKEN@github.com/x", "https://***@github.com/x"),
        ("https://TOKEN:x-oauth-basic@github.com", "https://***@github.com"),
        ("redis://:pw@h:6379/0", "redis://***@h:6379/0"),
        ("https://t1@h1,https://t2@h2", "https://***@h1,https://***@h2"),
        ("docker://u:p@r/a:1@sha256:0f", "docker://***@r/a:1@sha256:0f"),
        ("user=a,password=b", "user=a,password=***"),
        ("user=a,password=b;c,host=h", "user=a,password=***,host=h"),
        ("host=h;password=y", "host=h;password=***"),
        ("postgresql://h/db?user=a&password=b&x=1", "postgresql://h/db?user=a&password=***&x=1"),
        ("Authorization: Bearer xyz", "Authorization: ***"),
        ('Authorization: Digest user="a", response="b"', "Authorization: ***"),
        ('{"user": "a", "password": "b"}', '{"user": "a", "password": ***'),
        ('a=1 password="b c=d" e', "a=1 password=***"),
        ("PASSWORD=a,b=c", "PASSWORD=***"),
    ],
)
def test_secrets_within_a_text_are_masked(text: str, clean: str) -> None:
    assert masked_text(text) == masked_text(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "http://host:80/x",
        "http://host:8080/npm/@scope/package",
        "http://[::1]:80/a@b",
        "https://host/@scope/package",
        "docker://ubuntu:22.04@sha256:0f",
        "file:///C:/x@y",
        "user@host:/path",
        "alice@example.org",
        "--keys=a,b",
        "$PWD:/data",
        "${TOKEN:-none}",
        "/a/key=5/b",
        "/a:/key:/b",
        "key://x",
        "auth::none",
        "password=",
        "token:",
        "12:30:00",
        "monkey=1,author: me",
    ],
)
def test_text_that_only_resembles_a_secret_is_unchanged(text: str) -> None:
    assert masked_text(text) == text


@settings(max_examples=examples(500))
@given(
    st.sampled_from(("https", "postgres", "git+ssh", "s3", "${S}")),
    st.text("ab1%.-", max_size=4),
    st.text("ab1@:/?#%=,;&'\"[]é", min_size=1),
    st.sampled_from(("", "x ", "--url=", "x://h/y,")),
)
def test_no_user_or_password_is_left_in_an_address(scheme: str, user: str, password: str, before: str) -> None:
    assume(
        not re.match(r"\d*[/?#]", password),
    )  # a port
    assert masked_text(f"{before}{scheme}://{user}:{password}@h/x y") == f"{before}{scheme}://{MASK}@h/x y"


@given(st.text("ab1@.-_é", min_size=1))
def test_no_token_is_left_in_an_address(token: str) -> None:
    assert masked_text(f"https://{token}@h:80/x@y") == f"https://{MASK}@h:80/x@y"


@settings(max_examples=examples(500))
@given(
    st.sampled_from(BEFORE),
    st.sampled_from(NAMES),
    st.sampled_from(("=", ":", ": ", " = ")),
    st.text("ab1@:/?#=,;&'\"[] \n"),
)
def test_a_secret_value_is_masked_up_to_the_next_assignment(before: str, name: str, sign: str, rest: str) -> None:
    clean = masked_text(f"{before}{name}{sign}hunter2{rest}")
    assert clean.startswith(f"{before}{name}{sign}{MASK}")
    if sign.strip() == ":":
        assert clean == f"{before}{name}{sign}{MASK}"


@settings(max_examples=examples(500))
@given(st.lists(st.sampled_from([*NAMES, *"ab1@:/?#=,;&'\"[]{ \n-.$", "://", "@sha256:", MASK])).map("".join))
def test_masking_a_masked_text_changes_nothing(text: str) -> None:
    assert masked_text(masked_text(text)) == masked_text(text)


@settings(max_examples=examples(500))
@given(st.text("abxyz019=:,;/@ .-_'\"{}$\n"))
def test_a_text_without_a_secrets_name_or_an_address_is_unchanged(text: str) -> None:
    assume("://" not in text)
    assume(not re.search(r"[A-Za-z][^\s/@:]*:[^\s/@:]{4,}@[A-Za-z]", text))  # user:password@host
    assert masked_text(text) == text


AROUND = [("", ""), ("", "@"), ("x://y:", "@"), ("key=", "="), ("a key=", "")]


@pytest.mark.parametrize(
    "around", [AROUND[:1], pytest.param(AROUND[1:], marks=pytest.mark.slow)], ids=["bare", "within"]
)
@pytest.mark.parametrize(
    "piece",
    [
        "a://",
        "a://b:",
        "a://b:@",
        "a://[:@",
        "://@",
        "@",
        "a-",
        "a=",
        "a:",
        "key=",
        "key=,",
        "key= ",
        "key:",
        ",a",
        "Aa",
        "Aa1",
        "sig=",
        " -a",
        " -x token=1,",
        "-eyJabc",
        "SG.",
        "oracle:a:/",
        "BEGIN PRIVATE KEY-----",
        "-----BEGIN A PRIVATE KEY-----x",
        "Basic ",
        "mysql -p ",
        "$6$",
    ],
)
def test_a_text_of_the_maximum_size_is_masked_quickly(piece: str, around: list[tuple[str, str]]) -> None:
    """Masking is measured to take less than a tenth of a second; a quadratic algorithm would take minutes."""
    for before, after in around:
        text = before + piece * (LIMIT // len(piece)) + after
        begun = time.process_time()
        masked_text(text)
        assert time.process_time() - begun < 2


@pytest.mark.parametrize("name", ["script", "functions", "imports", "contents", "build_id"])
def test_identities_of_programs_are_unchanged_and_other_random_words_are_masked(name: str) -> None:
    drawn = "LgPHfMinWSWaWFq6mlMAbEnKTu7nz4or"
    known = "15dfff3239aa7c3b16a71e6b2e3b6e4009dab998" if name == "build_id" else drawn
    job = {"program": "a.out", "options": {}, name: known}
    compared = {"left": known, "name": name, "right": None}
    assert masked_json(job) == job and masked_json(compared) == compared
    for one in (job, compared, {**job, "script": ""}):
        assert not may_hold_secret(json.dumps(one, separators=(",", ":"), sort_keys=True))
    longer = {"program": "a.out", "options": {}, name: drawn + "Q7xT2"}
    assert masked_json(longer)[name] != longer[name]
