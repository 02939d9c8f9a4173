# SPDX-License-Identifier: Apache-2.0
"""Test access rights on the web pages, and that hostile names, forms and sites have no effect."""

from __future__ import annotations

import grp
import html
import json
import os
import pwd
import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from reprise.cli.main import reprise
from reprise.database import Database
from reprise.database.entities import ForwarderState, Outcome, RecordProfile, Scope
from reprise.database.forwarding import MOST_PERIODS
from reprise.matcher.forwarding.map_directory import MapDirectory
from reprise.matcher.support import slurm_job
from reprise.matcher.wire import tokens
from reprise.tuner.campaign import session
from reprise.tuner.definition.campaign_definition import check
from reprise.web import campaign_control, documents, static_files
from reprise.web import pages as web_pages
from reprise.web.app import create, root_path
from reprise.web.request_guard import HEADERS
from reprise.web.site import COOKIE
from tests.places import ROOT
from tests.unit.database_values import campaign, decision, forwarder_share, trial
from tests.unit.matcher_daemon import record as a_record
from tests.unit.profile_values import profile
from tests.unit.tuner.definition.test_campaign_definition import MANY_LISTS, MANY_MERGED, WRONG_TAGS
from tests.waiting import wait_for
from tests.web.site import FORWARDERS, HOSTILE, NOBODY, WebSite

ALICE = 1000  # owner of some jobs; a user with this uid need not exist
PAGES = ("/", "/jobs", "/jobs/d-0000", "/records", "/records/1", "/campaigns", "/campaigns/new", "/forwarders")
STAFF_ONLY = (
    *("/records", "/records/1", "/campaigns", "/campaigns/1", "/campaigns/1/report", "/campaigns/new", "/forwarders"),
    "/api/forwarders",
)


def as_user(site: WebSite, uid: int | None = None) -> dict[str, str]:
    return {"authorization": f"Bearer {site.token(uid)}"}


def text(page: str) -> str:
    """Return the visible text of an HTML page."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def attributes(page: str) -> set[str]:
    """Return the names of all attributes of the elements of an HTML page."""
    found: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.update(name for name, _ in attrs)

    Reader().feed(page)
    return found


# -- signing in


@pytest.mark.parametrize("path", [*PAGES, "/campaigns/1"])
def test_a_user_who_has_not_signed_in_is_sent_to_the_sign_in_page(pages: TestClient, path: str) -> None:
    answer = pages.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


def test_a_request_of_a_program_without_a_token_is_refused(pages: TestClient) -> None:
    answer = pages.get("/api/jobs")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "reprise web token" in answer.json()["detail"]


def test_a_token_is_kept_in_a_cookie_hidden_from_scripts_and_other_sites(filled: WebSite) -> None:
    with TestClient(create(filled.config), follow_redirects=False) as client:
        answer = client.post("/sign-in", data={"token": f" {filled.token()}\n"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        words = answer.headers["set-cookie"].lower()
        assert "httponly" in words and "samesite=strict" in words and "secure" not in words
        assert client.get("/").status_code == 200
        assert client.post("/sign-out").headers["location"] == "/sign-in"
        assert client.get("/").status_code == 303


def test_behind_a_proxy_paths_and_cookie_are_below_the_proxys_path(tmp_path: Path) -> None:
    site = WebSite(tmp_path, 'url = "https://hpc.example.org/reprise"')
    address = {"base_url": "https://hpc.example.org", "root_path": root_path(site.config)}
    with TestClient(create(site.config), follow_redirects=False, **address) as client:  # type: ignore[arg-type]
        answer = client.post("/sign-in", data={"token": site.token()})
        assert answer.headers["location"] == "/reprise/"
        assert (
            "path=/reprise" in answer.headers["set-cookie"].lower() and "secure" in answer.headers["set-cookie"].lower()
        )
        page = client.get("/", headers=as_user(site)).text
        assert (
            'href="/reprise/jobs"' in page
            and 'href="/reprise/static/reprise.css?v=' in page
            and 'href="/jobs"' not in page
        )


@pytest.mark.slow
def test_paths_and_cookie_are_right_if_the_proxy_removes_its_own_path(tmp_path: Path) -> None:
    site = WebSite(tmp_path, 'url = "https://hpc.example.org/reprise"')
    site.start()
    try:
        with httpx.Client(base_url=site.url) as client:
            assert client.get("/jobs").headers["location"] == "/reprise/sign-in"
            signed_in = client.post("/sign-in", data={"token": site.token()})
            assert signed_in.headers["location"] == "/reprise/"
            assert "path=/reprise;" in signed_in.headers["set-cookie"].lower().replace(" ", "") + ";"
            page = client.get("/jobs", headers=as_user(site)).text
            links = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
            assert links and all(link.startswith("/reprise/") for link in links)
            for link in {urlsplit(link).path.removeprefix("/reprise") for link in links} - {"/sign-out"}:
                assert client.get(link, headers=as_user(site)).status_code == 200, link
            assert client.get("/api/jobs").json()["detail"], "errors of the REST interface are JSON"
            assert client.get("/jobs/none", headers=as_user(site)).text.startswith("<!doctype html>")
    finally:
        site.stop()


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é" * 100, "x" * 10_000])
def test_an_invalid_token_is_refused_in_one_line(pages: TestClient, token: str) -> None:
    answer = pages.post("/sign-in", data={"token": token})
    assert answer.status_code in (401, 422) and "set-cookie" not in answer.headers


def test_a_token_expires_and_a_token_of_another_key_is_refused(filled: WebSite) -> None:
    key = tokens.key_of(filled.config)
    token = tokens.make(key, 7)
    assert tokens.uid_of(key, token, timedelta(hours=1)) == 7
    for wrong_key, lifetime, words in (
        (key, timedelta(seconds=-1), "expired"),
        ("0" * 64, timedelta(hours=1), r"invalid token \(not made by this site\)"),
    ):
        with pytest.raises(tokens.TokenError, match=words):
            tokens.uid_of(wrong_key, token, lifetime)
    assert tokens.key_path(filled.config).stat().st_mode & 0o777 == 0o600
    assert key == tokens.key_of(filled.config), "the key is made only once"


def test_a_damaged_key_is_reported_and_not_used(empty: WebSite) -> None:
    tokens.key_path(empty.config).write_text("0" * 63)
    with pytest.raises(tokens.TokenError, match="is damaged: delete it"):
        tokens.key_of(empty.config)


def test_a_missing_group_is_reported_at_the_start(tmp_path: Path) -> None:
    site = WebSite(tmp_path)
    site.file.write_text(site.file.read_text().replace("operators = ", 'operators = "no-such-group" # '))
    with pytest.raises(Exception, match=r"web\.operators: group 'no-such-group' does not exist"):
        create(site.config)


def test_a_gain_of_a_benchmark_is_shown_as_a_benchmarks(empty: WebSite) -> None:
    rules = {"rules": [{"problem": "bcast/4096", "applied": True}]}
    with Database.open(empty.config.database.path) as database:
        database.add_record(a_record(scope=Scope.CLUSTER, metadata={}, parametrization=rules))
        database.add_record(a_record())
    with TestClient(create(empty.config, empty.file), headers=as_user(empty)) as client:
        for path in ("/records", "/records/1"):
            assert "of bcast of 4 KiB in a benchmark" in html.unescape(client.get(path).text)
        assert "gain of bcast of 4 KiB in a benchmark: 30.0% (28.0% to 32.0%)" in html.unescape(
            client.get("/records/1").text
        )
        assert "of the application's run time" in html.unescape(client.get("/records/2").text)
        told = client.get("/api/records/1").json()["record"]
        assert told["gain_of"] == "bcast of 4 KiB in a benchmark"


def test_the_settings_of_a_combination_are_shown_one_by_one(empty: WebSite) -> None:
    parts = {
        "ompio": {"version": "1", "parametrization": {"parameters": {"aggregators": 2}}},
        "rules": {"version": "1", "parametrization": {"nodes": 4}},
    }
    with Database.open(empty.config.database.path) as database:
        database.add_record(a_record(component="ompio+rules", parametrization={"parts": parts}))
    with TestClient(create(empty.config, empty.file), headers=as_user(empty)) as client:
        page = html.unescape(client.get("/records/1").text)
    assert "<dt>ompio.aggregators</dt><dd>2</dd>" in page and "<dt>rules.nodes</dt><dd>4</dd>" in page


def test_a_records_profile_is_on_its_page(empty: WebSite) -> None:
    shares = {"compute": 0.6, "mpi.collective.allreduce": 0.3, "io.meta": 0.001}
    document = profile(shares, 0.1).to_json()
    with Database.open(empty.config.database.path) as database:
        number = database.add_record(a_record())
        database.set_profile(RecordProfile(number, 1.0, "60% compute", document))
    with TestClient(create(empty.config, empty.file), headers=as_user(empty)) as client:
        page = html.unescape(client.get(f"/records/{number}").text)
        assert "<dt>mpi.collective.allreduce</dt><dd>30.0%</dd>" in page and "io.meta" not in page
        assert "<dt>waiting for other ranks</dt><dd>10.0%</dd>" in page and "4 ranks on 2 nodes" in page
        assert client.get(f"/api/records/{number}").json()["profile"] == document


# -- access rights


@pytest.mark.parametrize("path", STAFF_ONLY)
def test_records_campaigns_and_forwarders_are_for_staff(pages: TestClient, filled: WebSite, path: str) -> None:
    answer = pages.get(path, headers=as_user(filled, NOBODY))
    assert answer.status_code == 403 and "only staff" in answer.text


@pytest.mark.parametrize(
    ("primary", "others", "staff", "operator"),
    [
        ("users", (), False, False),
        ("users", ("helpers",), False, False),
        ("users", ("support",), True, False),
        ("support", (), True, False),
        ("users", ("tuners",), True, True),
        ("tuners", ("support",), True, True),
    ],
)
def test_groups_decide_who_is_staff_and_who_is_an_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, primary: str, others: tuple[str, ...], staff: bool, operator: bool
) -> None:
    """Members of the group `access.staff` see everything but change nothing.

    Members of `web.operators` may also make changes.
    """
    site = WebSite(tmp_path, "[access]", 'staff = "support"')
    site.file.write_text(site.file.read_text().replace("operators = ", 'operators = "tuners" # '))
    groups = {name: 2000 + place for place, name in enumerate(("users", "helpers", "support", "tuners"))}
    entry = SimpleNamespace(pw_name="alice", pw_gid=groups[primary])
    monkeypatch.setattr(grp, "getgrnam", lambda name: SimpleNamespace(gr_gid=groups[name]))
    monkeypatch.setattr(pwd, "getpwuid", {ALICE: entry}.__getitem__)
    monkeypatch.setattr(os, "getgrouplist", lambda _name, gid: [gid, *(groups[name] for name in others)])
    monkeypatch.setattr(campaign_control, "_begin", lambda *_words: 1)
    with TestClient(create(site.config, site.file), headers=as_user(site, ALICE)) as client:
        assert {"user": "alice", "staff": staff, "operator": operator}.items() <= client.get("/api/me").json().items()
        for path in ("/records", "/campaigns", "/api/records"):
            assert client.get(path).status_code == (200 if staff else 403)
        assert client.post("/api/campaigns", json=site.campaign()).status_code == (201 if operator else 403)
        file = {"text": json.dumps(site.campaign()), "action": "start"}
        started = client.post("/campaigns/file", data=file, follow_redirects=False).status_code
        assert started == (303 if operator else 403)


def test_users_see_their_own_jobs_and_nothing_of_other_users_jobs(pages: TestClient, filled: WebSite) -> None:
    mine = pages.get("/api/jobs", headers=as_user(filled, ALICE), params={"user": "bob", "limit": 200}).json()["jobs"]
    assert {one["uid"] for one in mine} == {ALICE}, "all jobs are alice's, although her uid has no name on this host"
    assert sorted(one["decision"] is None for one in mine) == [False] * 20 + [True], (
        "one job has no decision, only a report"
    )
    others = pages.get("/jobs/d-0001", headers=as_user(filled, ALICE))
    assert others.status_code == 404 and "of yours" in others.text
    overview = pages.get("/", headers=as_user(filled, ALICE)).text
    assert "carol" not in overview and "weather" not in overview and "(hidden)" in overview
    assert pages.get("/jobs/d-0000", headers=as_user(filled, ALICE)).status_code == 200


def test_slurm_is_asked_about_unknown_jobs_for_staff_alone(
    pages: TestClient, filled: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def says(job: str, _cluster: str | None) -> dict[str, str]:
        asked.append(job)
        return {}

    monkeypatch.setattr(slurm_job, "slurm_says", says)
    for uid, times in ((ALICE, 0), (None, 1)):
        answer = pages.get("/jobs/123456", headers=as_user(filled, uid))
        assert (answer.status_code, len(asked)) == (404, times)


def test_staff_sees_the_jobs_of_all_users(pages: TestClient, filled: WebSite) -> None:
    found = pages.get("/api/jobs", headers=as_user(filled), params={"limit": 200}).json()["jobs"]
    assert {one["user"] for one in found} >= {"alice", "bob", "carol"}
    assert {"staff": True, "operator": True}.items() <= pages.get("/api/me", headers=as_user(filled)).json().items()


@pytest.mark.parametrize(
    ("filters", "jobs"),
    [
        ({"user": "bob"}, 20),
        ({"user": "1001"}, 20),
        ({"application": "weather"}, 20),
        ({"application": "lattice"}, 40),
        ({"verdict": "unreachable"}, 1),
        ({"record": "1", "verdict": "apply"}, 10),
        ({"application": HOSTILE}, 1),
        ({"application": "wea"}, 0),
        ({"failed": "true", "user": "carol"}, 1),
    ],
)
def test_jobs_are_found_by_filters(pages: TestClient, filled: WebSite, filters: dict[str, str], jobs: int) -> None:
    found = pages.get("/api/jobs", headers=as_user(filled), params={**filters, "limit": 200})
    assert len(found.json()["jobs"]) == jobs


def test_a_link_leads_to_older_jobs(pages: TestClient, filled: WebSite) -> None:
    first = pages.get("/jobs", headers=as_user(filled)).text
    more = re.search(r'href="(\?[^"]*)" rel="next"', first)
    assert more
    second = pages.get("/jobs" + html.unescape(more[1]), headers=as_user(filled)).text
    seen = re.findall(r'href="/jobs/([\w-]+)"', first), re.findall(r'href="/jobs/([\w-]+)"', second)
    assert len(seen[0]) >= 49 and seen[1] and not set(seen[0]) & set(seen[1])


def test_a_slow_first_overview_tells_the_browser_to_retry(filled: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.web.overview.PATIENCE_S", 0.01)
    # Without `with`, the client does not start the application's background thread, so nothing computes the overview.
    client = TestClient(create(filled.config), headers=as_user(filled))
    page, api = client.get("/"), client.get("/api/overview")
    assert (page.status_code, api.status_code) == (503, 503)
    assert page.headers["refresh"] == api.headers["retry-after"] == "2"
    assert "One moment" in text(page.text) and "added up" in api.json()["detail"]
    assert client.get("/jobs").status_code == 200


def test_the_overview_shows_decisions_savings_and_what_to_tune(pages: TestClient, filled: WebSite) -> None:
    found = pages.get("/api/overview", headers=as_user(filled)).json()
    assert sum(found["decisions"].values()) == 61 == sum(one["decisions"] for one in found["days"])
    assert found["match_rate"] == pytest.approx(40 / 61)
    benefit = found["benefit"]
    assert benefit["low"] < benefit["saved"] < benefit["high"]
    assert benefit["saved"] == pytest.approx(benefit["measured"] * 0.3 / 0.7, rel=0.1)
    assert found["classes"][0]["user"] == "carol" and found["matcher"]["answers"] is False
    said = text(pages.get("/", headers=as_user(filled)).text)
    assert "the matcher does not answer: jobs run with defaults" in said and "61 decisions in 30 days" in said


# -- hostile input


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/jobs", "/jobs/d-hostile", "/jobs/1003", "/records", "/records/3", "/forwarders"),
        "/campaigns/new?decision=d-hostile&component=sleep",
    ],
)
def test_names_are_shown_and_never_obeyed(pages: TestClient, filled: WebSite, path: str) -> None:
    answer = pages.get(path, headers=as_user(filled))
    assert answer.status_code == 200
    assert (
        "<script>document" not in answer.text
        and "<img src=x" not in answer.text
        and "49" not in answer.text.split("{{7*7}}")[0][-5:]
    )
    if path not in ("/campaigns/new?decision=d-hostile&component=sleep",):
        assert HOSTILE in html.unescape(answer.text), "names are shown unchanged"


def test_names_of_campaigns_are_shown_and_never_obeyed(empty: WebSite) -> None:
    with Database.open(empty.config.database.path) as database:
        begun = session.begin(database, check(empty.campaign(), "a"), empty.config, 1.0)
        spec = json.loads(json.dumps(begun.spec).replace("alice", "<b>alice</b>"))
        number = database.add_campaign(replace(begun, id=0, name=HOSTILE, component=HOSTILE, spec=spec))
        database.add_trial(trial(number, problem=HOSTILE, parametrization={HOSTILE: HOSTILE}))
    with TestClient(create(empty.config, empty.file), follow_redirects=False) as client:
        for path in ("/campaigns", f"/campaigns/{number}", f"/campaigns/{number}/report"):
            answer = client.get(path, headers=as_user(empty))
            assert answer.status_code == 200
            assert "<script>document" not in answer.text and "<img src=x" not in answer.text
            assert "<b>alice" not in answer.text
            assert HOSTILE in html.unescape(answer.text), "names are shown unchanged"
        told = client.get(f"/api/campaigns/{number}", headers=as_user(empty)).json()
        assert told["name"] == told["component"] == HOSTILE, "the REST interface shows the names unchanged"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/jobs?user=a%00b", 200),
        ("/jobs?user=%ED%A0%80&application=%00&record=%C2%B2&until=1e400", 200),
        ("/records?component=%00&job=%00&status=%00", 200),
        (f"/campaigns/new?component={'x' * 900}", 409),
        ("/campaigns/new?component=%00", 409),
        ("/campaigns/new?component=../components/sleep", 409),
        ("/campaigns/new?component=sleep&decision=%00", 404),
        *((f"/forwarders?hours={wrong}", 422) for wrong in ("0", "745", "-1", "1.5", "1e9", "x", "%00", "")),
        ("/forwarders?hours=744", 200),
    ],
)
def test_invalid_parameters_are_answered_like_missing_objects(
    pages: TestClient, filled: WebSite, path: str, status: int
) -> None:
    assert pages.get(path, headers=as_user(filled)).status_code == status


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(MANY_LISTS, marks=pytest.mark.slow),
        MANY_MERGED,
        "a: &a [*a]",
        pytest.param("[" * 9000, marks=pytest.mark.slow),
        "\x00",
        "? [a]: b",
        "!!set {a}",
        *WRONG_TAGS,
    ],
)
def test_a_file_that_is_not_a_campaign_is_refused(pages: TestClient, filled: WebSite, file: str) -> None:
    words = {"text": file, "action": "download"}
    assert pages.post("/campaigns/file", data=words, headers=as_user(filled)).status_code == 409


@pytest.mark.parametrize(
    "path", [*PAGES, "/sign-in", "/nothing", "/api/jobs", "/static/charts.js", "/static/plotly.js"]
)
def test_pages_load_nothing_from_other_hosts_and_run_no_inline_code(
    pages: TestClient, filled: WebSite, path: str
) -> None:
    answer = pages.get(path, headers=as_user(filled))
    policy = dict(one.strip().split(" ", 1) for one in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert "unsafe" not in answer.headers["content-security-policy"] and "http" not in policy["style-src"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.headers["content-type"].startswith("text/html"):
        assert not re.search(r'(src|href|action)="(https?:)?//', answer.text), (
            "the page contains no address of another host"
        )
        assert not re.search(r"<script(?![^>]*(src=|application/json))", answer.text)
        assert not [name for name in attributes(answer.text) if name.startswith("on") or name == "style"]


@pytest.mark.parametrize("path", ["/", "/jobs/d-0000", "/records/1", "/sign-in"])
def test_changed_files_are_loaded_again_although_browsers_cache_them(
    pages: TestClient, filled: WebSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def loaded() -> set[str]:
        page = pages.get(path, headers=as_user(filled)).text
        return set(re.findall(r'(?:src|href)="(/static/[^"]*)"', page))

    before = loaded()
    for address in before:
        assert re.fullmatch(r"/static/[a-z.]+\?v=[0-9a-f]{12}", address)
        assert pages.get(address).headers["cache-control"] == "max-age=86400"
    assert loaded() == before
    for original in static_files.STATIC.iterdir():
        (tmp_path / original.name).write_bytes(original.read_bytes() + b"\n")
    (tmp_path / static_files.PLOTLY).write_text("newer")
    monkeypatch.setattr(static_files, "STATIC", tmp_path)
    monkeypatch.setattr(static_files, "library", lambda: tmp_path / static_files.PLOTLY)
    after = loaded()
    assert not before & after
    assert {one.split("?")[0] for one in before} == {one.split("?")[0] for one in after}


def test_a_page_that_fails_has_the_same_security_headers(filled: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "jobs", lambda *_: 1 / 0)
    with TestClient(create(filled.config), raise_server_exceptions=False, headers=as_user(filled)) as client:
        for path in ("/jobs", "/api/jobs"):
            answer = client.get(path)
            assert (
                answer.status_code == 500
                and "see the log of the pages" in answer.text
                and "division" not in answer.text
            )
            assert {**HEADERS, "content-security-policy": ANY}.items() <= dict(answer.headers).items()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://testserver"}, 404),
        ({"sec-fetch-site": "same-origin"}, 404),
    ],
)
def test_a_form_on_another_site_changes_nothing(
    pages: TestClient, filled: WebSite, headers: dict[str, str], status: int
) -> None:
    cookie = {COOKIE: filled.token()}
    words = {**headers, "cookie": "; ".join(f"{key}={value}" for key, value in cookie.items())}
    assert pages.post("/campaigns/77", data={"action": "stop"}, headers=words).status_code == status
    told = pages.post("/api/campaigns/77", json={"action": "stop"}, headers=words)
    assert told.status_code == status and told.json()["detail"]


def test_a_request_that_is_too_large_is_refused_before_it_is_read(pages: TestClient, filled: WebSite) -> None:
    answer = pages.post("/api/campaigns", content=b"x" * 300_000, headers=as_user(filled))
    assert answer.status_code == 413 and "262144" in answer.json()["detail"]
    assert pages.post("/sign-in", content=b"x" * 300_000).status_code == 413


@pytest.mark.parametrize("length", [None, "10"])
@pytest.mark.parametrize("path", ["/sign-in", "/campaigns/file", "/api/campaigns"])
def test_a_large_request_that_hides_its_size_is_refused(
    pages: TestClient, filled: WebSite, path: str, length: str | None
) -> None:
    """The server must count the bytes, because `Transfer-Encoding: chunked` takes precedence over a Content-Length."""
    is_api = path.startswith("/api")
    headers = {
        **as_user(filled),
        "transfer-encoding": "chunked",
        "content-type": "application/json" if is_api else "application/x-www-form-urlencoded",
        **({"content-length": length} if length else {}),
    }
    answer = pages.post(path, content=(b"x" * 100_000 for _ in range(3)), headers=headers)
    assert (answer.status_code, answer.headers["connection"]) == (413, "close")
    assert "262144" in answer.text


def test_a_database_that_cannot_be_read_is_reported_on_the_page(empty: WebSite) -> None:
    with TestClient(create(empty.config)) as client:
        token = as_user(empty)
        wait_for("the overview", lambda: client.get("/", headers=token).status_code == 200, 10)
        empty.config.database.path.rename(empty.directory / "away")
        for path in ("/jobs", "/records"):
            answer = client.get(path, headers=token)
            assert answer.status_code == 503 and "there is no database" in text(answer.text)
        (empty.directory / "away").rename(empty.config.database.path)
        assert client.get("/jobs", headers=token).status_code == 200, "the database is read again as soon as it exists"


# -- forwarders


def test_the_pool_is_shown_with_states_and_links_to_jobs(pages: TestClient, filled: WebSite) -> None:
    one, two, odd = FORWARDERS
    page = pages.get("/forwarders", headers=as_user(filled)).text
    said = text(page)
    assert "Policy mckp; the arbiter does not run: jobs keep the forwarders that they have." in said
    assert re.search(rf"{re.escape(one)} works [-0-9]+ [:0-9]+ \w+ 1004 , 1006 ", said)
    assert re.search(rf"{re.escape(odd)} failed {re.escape(HOSTILE)} .* none", said)
    assert f"1003 {odd}, {two} " in said, "the order is the job's"
    assert "Jobs with direct access: 1007" in said and f"{one} (shared)" in said
    assert {"1000", "1001", "1003", "1004", "1006", "1007"} == set(re.findall(r'href="/jobs/(\d+)"', page))


def test_the_timeline_has_the_length_that_is_asked_for(pages: TestClient, filled: WebSite) -> None:
    for hours, jobs in ((1, {1003, 1004, 1006, 1007}), (6, {1000, 1003, 1004, 1006, 1007}), (168, None)):
        page = pages.get("/forwarders", params={"hours": hours}, headers=as_user(filled)).text
        found = set(map(int, re.findall(r'href="/jobs/(\d+)"', page)))
        assert found == (jobs or {1000, 1001, 1003, 1004, 1006, 1007})
        assert (f'<a href="?hours={hours}" aria-current="page">' in page) == (hours in web_pages.SPANS)
        timeline = pages.get("/api/forwarders", params={"hours": hours}, headers=as_user(filled)).json()["timeline"]
        assert timeline["hours"] == hours and timeline["until"] - timeline["since"] == pytest.approx(hours * 3600)


def test_programs_get_the_list_of_the_command_and_the_timeline(pages: TestClient, filled: WebSite) -> None:
    found = pages.get("/api/forwarders", headers=as_user(filled)).json()
    timeline = found.pop("timeline")
    listed = CliRunner().invoke(reprise, ["--config", str(filled.file), "forwarders", "list", "--json"])
    assert found == json.loads(listed.stdout)
    one, two, odd = timeline["forwarders"]
    assert [row["address"] for row in timeline["forwarders"]] == list(FORWARDERS)
    assert [period["job"] for period in one["jobs"]] == [1000, 1000, 1000, 1004, 1006]
    assert [period["reason"] for period in two["failures"]] == ["Connection refused"]
    assert (odd["failures"][0]["reason"], odd["failures"][0]["until"]) == (HOSTILE, None)
    assert [period["job"] for period in timeline["direct"]] == [1001, 1007] and timeline["more"] is False
    assert timeline["counts"][-1] == {"at": timeline["until"], "forwarders": 3, "direct": 1}


def test_only_staff_of_a_site_with_forwarders_has_a_link_to_them(
    pages: TestClient, filled: WebSite, empty: WebSite
) -> None:
    link = '<a href="/forwarders">Forwarders</a>'
    assert link in pages.get("/jobs", headers=as_user(filled)).text
    assert link not in pages.get("/jobs", headers=as_user(filled, ALICE)).text
    with TestClient(create(empty.config)) as client:
        assert link not in client.get("/jobs", headers=as_user(empty)).text


def test_a_site_without_forwarders_reads_where_to_name_them(empty: WebSite) -> None:
    with TestClient(create(empty.config), headers=as_user(empty)) as client:
        said = text(client.get("/forwarders").text)
        assert "There are no forwarders: name them in forwarding.forwarders of reprise.toml" in said
        found = client.get("/api/forwarders").json()
    assert (found["forwarders"], found["direct"], found["timeline"]["forwarders"]) == ([], [], [])


def test_a_pool_without_history_names_the_remedy(empty: WebSite) -> None:
    with empty.file.open("a") as file:
        file.write(f'[forwarding]\nforwarders = ["{FORWARDERS[0]}"]\nmaps = "{empty.directory}/maps"\n')
    arbiter = MapDirectory(empty.directory / "maps")
    with TestClient(create(empty.config), headers=as_user(empty)) as client:
        said = text(client.get("/forwarders").text)
        assert "not checked yet" in said and "Start the arbiter: systemctl enable --now reprise-arbiter" in said
        arbiter.hold()
        said = text(client.get("/forwarders").text)
        arbiter.release()
    assert "Policy mckp; the arbiter runs." in said and "settings of the component forwarders" in said


def test_the_docs_have_the_limits_of_the_timeline() -> None:
    page = (ROOT / "docs/reference/pages.md").read_text()
    assert f"`?hours={documents.HOURS}` (1 to {documents.MOST_HOURS})" in page
    assert f"newest {MOST_PERIODS:,} periods" in page
    *first, last = web_pages.SPANS.values()
    assert f"{', '.join(first)} or {last}" in page


def test_a_timeline_without_its_oldest_periods_says_so(empty: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = [forwarder_share(job, cluster="test", uid=1000) for job in range(1, 4)]
    with Database.open(empty.config.database.path) as database:
        database.set_forwarding("test", shares, [], empty.now)
    with TestClient(create(empty.config), headers=as_user(empty)) as client:
        for limit, more in ((4, False), (3, True)):
            monkeypatch.setattr(documents, "MOST_PERIODS", limit)
            assert client.get("/api/forwarders").json()["timeline"]["more"] is more
            assert ("It lacks the oldest periods" in client.get("/forwarders").text) is more


def test_the_page_has_a_limited_number_of_periods(empty: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_pages, "BARS", 5)
    monkeypatch.setattr(web_pages, "ROWS", 3)
    shares = [forwarder_share(job, cluster="test", uid=1000) for job in range(1, 9)]
    with Database.open(empty.config.database.path) as database:
        database.set_forwarding("test", shares, [ForwarderState("test", FORWARDERS[0], True, 0.0)], empty.now)
    with TestClient(create(empty.config), headers=as_user(empty)) as client:
        page = client.get("/forwarders").text
    assert re.findall(r'href="/jobs/(\d+)"', page) == ["8", "7", "6"]
    assert "The chart leaves out the 3 shortest bars." in page and "Older periods are not listed" in page


@pytest.mark.parametrize("uid", [None, ALICE])
def test_a_jobs_page_has_its_forwarders(pages: TestClient, filled: WebSite, uid: int | None) -> None:
    said = text(pages.get("/jobs/1003", headers=as_user(filled, uid)).text)
    assert re.search(rf"I/O forwarders from [^/]* to [^/]*: {re.escape(FORWARDERS[2])}: job 1003 started", said)


# -- campaigns


def test_only_operators_start_and_end_campaigns(tmp_path: Path) -> None:
    site = WebSite(tmp_path)
    site.file.write_text(site.file.read_text().replace("operators = ", 'operators = "" # '))
    with Database.open(site.config.database.path) as database:
        database.add_campaign(campaign(spec={"definition": {}}))
    with TestClient(create(site.config, site.file)) as client:
        assert client.get("/api/me", headers=as_user(site)).json()["operator"] is False, (
            "by default, nobody is an operator"
        )
        for action in ("pause", "resume", "stop"):
            assert client.post("/campaigns/1", data={"action": action}, headers=as_user(site)).status_code == 403
            assert client.post("/api/campaigns/1", json={"action": action}, headers=as_user(site)).status_code == 403
        assert client.post("/api/campaigns", json=site.campaign(), headers=as_user(site)).status_code == 403
        words = {"text": "name: x", "action": "start"}
        assert client.post("/campaigns/file", data=words, headers=as_user(site)).status_code in (403, 409)
    assert not site.config.tuner.work.exists()


def test_a_form_makes_a_campaign_file_that_can_be_saved(pages: TestClient, filled: WebSite) -> None:
    form = pages.get("/campaigns/new", params={"component": "sleep", "decision": "d-0002"}, headers=as_user(filled))
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form.text))
    assert fields["user"] == "carol" and "--nodes=4" in fields["options"]
    made = pages.post("/campaigns/new", data={**fields, "script": "/home/carol/job.sh"}, headers=as_user(filled))
    assert made.status_code == 200
    area = re.search(r"<textarea[^>]*>(.*?)</textarea>", made.text, re.DOTALL)
    assert area
    file = html.unescape(area[1])
    saved = pages.post("/campaigns/file", data={"text": file, "action": "download"}, headers=as_user(filled))
    assert saved.headers["content-disposition"] == 'attachment; filename="carol-weather-4-nodes.yaml"'
    path = filled.directory / "downloaded.yaml"
    path.write_text(saved.text)
    assert "script: /home/carol/job.sh" in saved.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"script": "job.sh"}, "application.script"),
        ({"budget": "many"}, "search.budget"),
        ({"name": "a\nb"}, "name"),
        ({"component": "../x"}, "component"),
        ({"options": "--x=a'b"}, ""),
    ],
)
def test_a_wrong_field_is_named(pages: TestClient, filled: WebSite, change: dict[str, str], words: str) -> None:
    fields = {"component": "sleep", "name": "a", "script": "/a.sh", "user": "alice", **change}
    answer = pages.post("/campaigns/new", data=fields, headers=as_user(filled))
    if words:
        assert answer.status_code == 409 and f"setting &#39;{words}" in answer.text


def test_campaign_files_that_cannot_be_written_are_reported(empty: WebSite) -> None:
    empty.config.tuner.work.write_text("a file, and no directory")
    with Database.open(empty.config.database.path) as database:
        number = database.add_campaign(campaign(spec={"definition": {}}))
    with TestClient(create(empty.config, empty.file)) as client:
        for path, body in (("/api/campaigns", empty.campaign()), (f"/api/campaigns/{number}", {"action": "resume"})):
            answer = client.post(path, json=body, headers=as_user(empty))
            assert (
                answer.status_code == 409
                and "allow the user of the pages to write to tuner.work" in answer.json()["detail"]
            )


@pytest.mark.slow
def test_a_campaign_that_cannot_begin_says_why(empty: WebSite) -> None:
    empty.start()
    try:
        with empty.client() as client:
            answer = client.post("/api/campaigns", json=empty.campaign(component="slep"))
            assert answer.status_code == 409 and "did you mean 'sleep'?" in answer.json()["detail"]
            answer = client.post("/api/campaigns", json={"name": 3})
            assert answer.status_code == 409 and "setting" in answer.json()["detail"]
    finally:
        empty.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to start pages as root")
@pytest.mark.slow  # starts the real `reprise`, which refuses root; in the tests' own process, root may run campaigns
def test_pages_that_root_runs_start_no_campaign(empty: WebSite) -> None:
    with TestClient(create(empty.config, empty.file)) as client:
        answer = client.post("/api/campaigns", json=empty.campaign(), headers=as_user(empty))
    assert answer.status_code == 409 and "campaigns do not run as root" in answer.json()["detail"]


@pytest.mark.slow
def test_tokens_are_made_for_the_calling_user(empty: WebSite) -> None:
    from tests.unit.matcher_daemon import Daemon

    directory = empty.directory / "d"
    directory.mkdir()
    daemon = Daemon(directory)
    daemon.start()
    try:
        done = WebSite.reprise(empty, "web", "token")
        assert done.returncode == 4 and "no matcher answers" in done.stderr
        empty.file.write_text(
            empty.file.read_text()
            .replace("run/matcher.sock", "d/run/matcher.sock")
            .replace("lib/reprise.db", "d/lib/reprise.db")
        )
        done = empty.reprise("web", "token")
        assert done.returncode == 0, done.stderr
        key = tokens.key_of(empty.config)
        assert tokens.uid_of(key, done.stdout.strip(), timedelta(hours=1)) == os.getuid()
    finally:
        daemon.stop()


def test_the_page_of_an_unknown_job_says_so(
    pages: TestClient, filled: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    answer = pages.get("/jobs/123456", headers=as_user(filled))
    assert answer.status_code == 404 and "nothing is known of job 123456" in text(answer.text)


def test_a_campaign_that_does_not_start_in_time_is_reported(empty: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign_control, "BEGUN_S", 0.0)
    with TestClient(create(empty.config, empty.file)) as client:
        answer = client.post("/api/campaigns", json=empty.campaign(), headers=as_user(empty))
        assert answer.status_code == 409 and "has not started within" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("job_id", "tasks", "name", "title"),
    [
        (5, [], "a", "Job 5"),
        (5, [None], "a", "Job 5"),
        (5, [2], "a", "Job 5_2"),
        (5, [2, 3], "a", "Job a"),
        (5, [2, 3], "5_3", "Job 5_3"),
        (None, [], "a", "Job a"),
    ],
)
def test_a_job_is_named_by_its_number_if_the_number_is_known(
    empty: WebSite, job_id: int | None, tasks: list[int | None], name: str, title: str
) -> None:
    with Database.open(empty.config.database.path) as database:
        database.add_decision(decision("a", cluster="test", job_id=job_id))
        for task in tasks:
            database.report_start(Outcome("test", 5, task, 1001, "none", empty.now, "a"))
    with TestClient(create(empty.config)) as client:
        page = client.get(f"/jobs/{name}", headers=as_user(empty)).text
    assert f"<h1>{title}</h1>" in page and f"<title>{title} " in page


def test_the_senders_of_reports_are_shown_as_by_the_command(empty: WebSite) -> None:
    """Any user can send a report about any job, so the page shows who sent each report."""
    with Database.open(empty.config.database.path) as database:
        for uid in (1000, 1666):
            database.report_start(Outcome("test", 5, None, uid, "off", empty.now))
    with TestClient(create(empty.config)) as client:
        said = text(client.get("/jobs/5", headers=as_user(empty)).text)
    shown = CliRunner().invoke(reprise, ["--config", str(empty.file), "jobs", "show", "5"])
    told = " ".join(shown.stdout.split())
    for uid in (1000, 1666):
        (line,) = re.findall(rf"The job \(uid {uid}\): started .*?; its end was not reported", told)
        assert line in said


def test_two_decisions_about_a_job_are_shown_newest_first(empty: WebSite) -> None:
    with Database.open(empty.config.database.path) as database:
        for name in ("a", "b"):
            database.add_decision(decision(name, cluster="test", job_id=5, at=100.0 + (name == "b")))
    with TestClient(create(empty.config)) as client:
        page = client.get("/jobs/5", headers=as_user(empty)).text
        assert page.index("Decision b") < page.index("Decision a"), "the newest decision comes first"
