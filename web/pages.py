# SPDX-License-Identifier: Apache-2.0
"""Routes of the HTML pages."""

from __future__ import annotations

import dataclasses
import re
import time
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reprise.database.entities import VERDICTS, RecordStatus
from reprise.database.gain_subject import subject
from reprise.database.joint_component import settings_of
from reprise.database.totals import WantedRecords
from reprise.matcher.forwarding.pool_list import ARBITER
from reprise.matcher.forwarding.pool_timeline import longest
from reprise.matcher.linkage.linkage_result import PRIOR
from reprise.matcher.support import explanation
from reprise.matcher.support.io_patterns import pattern_texts
from reprise.matcher.support.job_story import JOB_ID, Explained, Story
from reprise.matcher.support.jobs import job_listing, site_summary, unmatched_classes
from reprise.matcher.support.jobs import run_time_rank as besides
from reprise.matcher.support.shortfall import in_bits
from reprise.matcher.wire.tokens import TOKEN_LIMIT, TokenError
from reprise.tuner import search
from reprise.tuner.report import campaign_overview as campaigns_overview
from reprise.tuner.report import html_report as report_page
from reprise.tuner.report import words
from reprise.web import campaign_control, documents, forms
from reprise.web.api import AnId, Hours, Name, Number, Text, act_on, begun_definition, wanted_jobs
from reprise.web.people import Person
from reprise.web.rendering import page
from reprise.web.request_guard import REPORT_POLICY
from reprise.web.site import COOKIE, STAFF, APerson, ASite, Operator, Site, Staff, operator_of

router = APIRouter(include_in_schema=False)

SKETCHED = ("script", "own_script", "functions", "imports", "contents", "build_id")
"""Names of the features whose values contain a sketch or a hash."""
SKETCH_SHOWN = 12  # number of characters of a sketch or a hash that are shown
SPANS = {6: "6 hours", 24: "24 hours", 168: "7 days"}
"""Lengths of the forwarders' timeline that the page offers, in hours."""
BARS = 5000
"""Maximum number of jobs' periods, and of failures, in the chart of forwarders. Chromium draws them in a second."""
ROWS = 200  # maximum number of jobs' periods, and of failures, in a table of forwarders
Asked = Annotated[str, Query(max_length=1000)]
Filled = Annotated[str, Form(max_length=10_000)]


@router.get("/sign-in")
def sign_in(request: Request, site: ASite) -> HTMLResponse:
    """Show the form to sign in."""
    return page(request, "sign-in", person=None, problem="", proxied=site.proxy.is_on)


@router.post("/sign-in")
def signed_in(request: Request, site: ASite, token: Annotated[str, Form(max_length=TOKEN_LIMIT)] = "") -> Response:
    """Check the token, store it in a cookie, and redirect to the overview."""
    try:
        site.people.of_token(token.strip())
    except TokenError as error:
        problem, proxied = str(error), site.proxy.is_on
        return page(request, "sign-in", person=None, status=401, problem=problem, proxied=proxied)
    response = _to(request, "overview")
    response.set_cookie(
        COOKIE,
        token.strip(),
        max_age=int(site.people.lifetime.total_seconds()),
        path=request.scope.get("root_path") or "/",
        secure=site.config.web.url.startswith("https:"),
        httponly=True,
        samesite="strict",
    )
    return response


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    """Delete the cookie with the token, and redirect to the sign-in form."""
    response = _to(request, "sign_in")
    response.delete_cookie(COOKIE, path=request.scope.get("root_path") or "/")
    return response


@router.get("/")
def overview(request: Request, site: ASite, person: APerson) -> HTMLResponse:
    """Show the overview page."""
    found = site_summary.document(site.overview.latest(), person.reader)
    judged_by = [
        unmatched_classes.basis_text(row["of_program"], row["of_user"], row["in_vain"]) for row in found["classes"]
    ]
    return page(request, "overview", person=person, found=found, judged_by=judged_by)


@router.get("/jobs")
def jobs(
    request: Request,
    site: ASite,
    person: APerson,
    job: Asked = "",
    user: Asked = "",
    application: Asked = "",
    verdict: Asked = "",
    record: Asked = "",
    failed: bool = False,
    until: Asked = "",
) -> Response:
    """Show the jobs that meet the conditions, newest first; with `job`, redirect to this job's page."""
    if job.strip():
        return _to(request, "job", job=_name(job))
    asked = {"user": user.strip(), "application": application.strip(), "verdict": verdict, "record": record.strip()}
    wanted = wanted_jobs(
        asked["user"] or None,
        application=asked["application"] or None,
        verdict=verdict if verdict in VERDICTS else None,
        main_record=int(asked["record"]) if asked["record"].isdecimal() and len(asked["record"]) < 19 else None,
        failed=failed,
        since=None,
        until=_seconds(until),
        limit=documents.PAGE,
    )
    with site.database() as database:
        found, _ = documents.jobs(database, site.config.site.cluster, wanted, person)
    rows = [(one, job_listing.row(one, person.reader, site.config.site.cluster)) for one in found]
    more = None
    if len(found) == documents.PAGE:
        words = {**{key: value for key, value in asked.items() if value}, "until": repr(found[-1].at)}
        more = "?" + urlencode(words | ({"failed": "true"} if failed else {}))
    values = {**asked, "failed": failed}
    return page(request, "jobs", person=person, rows=rows, asked=values, verdicts=VERDICTS, more=more)


@router.get("/jobs/{job}")
def job(request: Request, site: ASite, person: APerson, job: Name, cluster: Text = None) -> HTMLResponse:
    """Show one job."""
    with site.database() as database:
        story, beside = documents.job(database, site.config, job, cluster and cluster.lower(), person)
    return page(
        request,
        "job",
        person=person,
        job=_number(job, story),
        prior=PRIOR,
        decisions=[_decision(story, one) for one in story.decisions],
        outcomes=[f"The job (uid {one.uid}): {explanation.outcome_text(one)}" for one in story.outcomes],
        forwarders=[*pattern_texts(story), *map(explanation.share_text, story.forwarders)],
        beside=list(besides.texts(beside)) if beside else [],
        hidden=bool(story.hidden) or any(one.hidden for one in story.decisions),
        more=story.more,
    )


def _number(name: str, story: Story) -> str:
    """Return the title of a job's page: the job's number, or `name` if the number is unknown or ambiguous.

    If `name` is the id of a decision, the job's number may not be known yet, or several tasks of a job array may share
    the decision.
    """
    known: set[tuple[int | None, int | None]] = {(one.job_id, one.array_task) for one in story.outcomes}
    known = known or {(one.decision.job_id, one.decision.array_task) for one in story.decisions}
    if re.fullmatch(JOB_ID, name) or len(known) != 1:
        return name
    ((job_id, task),) = known
    return name if job_id is None else f"{job_id}" if task is None else f"{job_id}_{task}"


def _decision(story: Story, one: Explained) -> dict[str, Any]:
    """Return the values with which the page shows a decision."""
    decision = one.decision
    steps = [_shown(step) for step in explanation.waterfall(decision.fields)]
    return {
        "id": decision.id,
        "verdict": decision.verdict,
        "headline": explanation.headline(decision),
        "asked": f"Asked {explanation.when(decision.at)} at {decision.point} by {decision.user} (uid {decision.uid}), "
        f"mode {decision.mode}, answered in {decision.elapsed_ms:.1f} ms",
        "sources": list(explanation.source_texts(story, decision)),
        "steps": steps,
        "bits": in_bits(decision.fields),
        "score": explanation.score_text(decision, story.model, hidden="score" in one.hidden),
        "shortfall": list(explanation.shortfall_text(decision, one.shortfall)) if one.shortfall else [],
        "given": dict(decision.injected),
        "given_hidden": "injected" in one.hidden,
        "alternatives": list(decision.alternatives),
        "record": decision.record_id,
        "metadata": {
            key: explanation.value_text(value) for key, value in decision.metadata.items() if _is_shown(value)
        },
        "chart": {
            "names": [step.name for step in steps if step.depth == 0],
            "adds": [step.contribution for step in steps if step.depth == 0],
            "unit": "bits" if in_bits(decision.fields) else "score",
        },
    }


def _shown(step: explanation.Step) -> explanation.Step:
    """Return a step of an explanation with its sketches and hashes shortened.

    Readers only need to see whether the values of the job and of the record are equal.
    """
    if step.name not in SKETCHED:
        return step
    left, right = (text if len(text) <= SKETCH_SHOWN else f"{text[:SKETCH_SHOWN]}…" for text in (step.left, step.right))
    return dataclasses.replace(step, left=left, right=right)


def _is_shown(value: Any) -> bool:
    return value not in (None, "", {}, []) and isinstance(value, str | int | float | dict | list)


@router.get("/records")
def records(
    request: Request,
    site: ASite,
    person: Staff,
    status: Asked = "",
    component: Asked = "",
    job: Asked = "",
    before: AnId = None,
) -> HTMLResponse:
    """Show the records that meet the conditions, newest first."""
    asked = {"status": status, "component": component.strip(), "job": job.strip()}
    known = status if status in set(RecordStatus) else None
    wanted = WantedRecords(known, asked["component"] or None, asked["job"] or None, before, documents.PAGE)
    with site.database() as database:
        found, _ = documents.records(database, wanted)
    more = None
    if len(found) == documents.PAGE:
        words = {key: value for key, value in asked.items() if value}
        more = "?" + urlencode({**words, "before": str(found[-1].id)})
    return page(
        request,
        "records",
        person=person,
        records=found,
        gain_of={one.id: subject(one.parametrization) for one in found},
        asked=asked,
        statuses=list(map(str, RecordStatus)),
        more=more,
    )


@router.get("/records/{number}")
def record(request: Request, site: ASite, person: Staff, number: Number) -> HTMLResponse:
    """Show one record."""
    with site.database() as database:
        found, told = documents.record(database, number)
    about = explanation.record_text(found)
    return page(request, "record", person=person, record=found, about=about, told=told, settings=settings_of(found))


@router.get("/campaigns")
def campaigns(request: Request, site: ASite, person: Staff, before: AnId = None) -> HTMLResponse:
    """Show all campaigns, newest first."""
    with site.database() as database:
        found, told = documents.campaigns(database, site.config, before)
    more = f"?before={found[-1].id}" if len(found) == documents.PAGE else None
    return page(request, "campaigns", person=person, rows=told["campaigns"], more=more)


@router.get("/campaigns/new")
def new_campaign(
    request: Request, site: ASite, person: Staff, component: Asked = "", decision: Asked = ""
) -> HTMLResponse:
    """Show the form for a new campaign."""
    known = forms.components(site.config)
    definition: dict[str, Any] = {}
    if component:
        definition = begun_definition(site, component, decision or None)
    chosen = next((one for one in known if one["name"] == component), None)
    return page(
        request,
        "campaign-new",
        person=person,
        components=known,
        chosen=chosen,
        decision=decision,
        fields=forms.fields_of(definition),
        methods=sorted(search.METHODS),
    )


@router.post("/campaigns/new")
def made_campaign(
    request: Request,
    site: ASite,
    person: Staff,
    component: Filled = "",
    settings: Filled = "",
    name: Filled = "",
    script: Filled = "",
    user: Filled = "",
    directory: Filled = "",
    options: Filled = "",
    method: Filled = "",
    budget: Filled = "",
    seed: Filled = "",
    partition: Filled = "",
    account: Filled = "",
) -> HTMLResponse:
    """Show the campaign file that results from the form's values, so that the user can check the file."""
    said = {
        "component": component, "name": name, "script": script, "user": user, "directory": directory,
        "options": options, "method": method, "budget": budget, "seed": seed, "partition": partition,
        "account": account, "settings": settings,
    }  # fmt: skip
    text = forms.as_text(forms.filled_in(said, site.config))
    return page(request, "campaign-file", person=person, text=text)


@router.post("/campaigns/file")
def campaign_file(
    request: Request,
    site: ASite,
    person: Staff,
    text: Annotated[str, Form(max_length=100_000)],
    action: Annotated[Literal["download", "start"], Form()],
) -> Response:
    """Return the campaign file for download, or start its campaign and redirect to the campaign's page."""
    definition = forms.from_text(text)
    if action == "download":
        name = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(definition["name"]))
        headers = {"content-disposition": f'attachment; filename="{name}.yaml"'}
        return Response(text.replace("\r\n", "\n"), media_type="application/yaml", headers=headers)
    return _started(request, site, operator_of(person), definition)


def _started(request: Request, site: Site, person: Person, definition: dict[str, Any]) -> Response:
    return _to(request, "campaign", number=campaign_control.start(site.config, site.path, definition, person.name))


@router.get("/campaigns/{number}")
def campaign(request: Request, site: ASite, person: Staff, number: Number) -> HTMLResponse:
    """Show one campaign."""
    with site.database() as database:
        described = documents.campaign(database, site.config, number)
    return page(
        request,
        "campaign",
        person=person,
        described=described,
        progress=documents.progress(described),
        problems=[_problem(one) for one in described["problems"]],
        last_words=campaigns_overview.last_words(described),
    )


def _problem(found: dict[str, Any]) -> dict[str, str]:
    compared, best = found["comparison"], found.get("best")
    default = compared["default"] if compared else found["default"]
    settings = words.settings(compared["winner"], found["usual"]) if compared else ""
    if not compared:
        settings = found["note"] or (f"so far {words.settings(best['point'], found['usual'])}" if best else "")
    return {
        "problem": words.printable(found["problem"]),
        "default": words.interval(default) if default else "",
        "tuned": words.interval(compared["tuned"]) if compared else "",
        "gain": words.gain(compared) if compared else "",
        "trials": str(found["trials"]),
        "settings": settings,
    }


@router.get("/campaigns/{number}/report", dependencies=STAFF)
def campaign_report(site: ASite, number: Number) -> HTMLResponse:
    """Return the HTML report that `reprise tune report` writes."""
    with site.database() as database:
        described = documents.campaign(database, site.config, number)
    return HTMLResponse(report_page.render(described), headers={"content-security-policy": REPORT_POLICY})


@router.post("/campaigns/{number}")
def act(
    request: Request,
    site: ASite,
    person: Operator,
    number: Number,
    action: Annotated[Literal["pause", "resume", "stop"], Form()],
) -> Response:
    """Pause, resume or stop a campaign, and redirect to its page."""
    act_on(site, number, action, person.name)
    return _to(request, "campaign", number=number)


@router.get("/forwarders")
def forwarders(request: Request, site: ASite, person: Staff, hours: Hours = documents.HOURS) -> HTMLResponse:
    """Show the pool of I/O forwarders, now and over time."""
    runs = site.arbiter.runs()
    with site.database() as database:
        shares, states, found = documents.forwarders(database, site.config, runs, hours, time.time())
    drawn, left_out = longest(found["timeline"], BARS)
    failures = [state for state in states if not state.works]
    return page(
        request,
        "forwarders",
        person=person,
        found=found,
        arbiter=ARBITER[runs],
        span=SPANS.get(hours, f"{hours} hours"),
        spans=SPANS,
        drawn=drawn,
        left_out=left_out,
        shares=shares[:ROWS],
        failures=failures[:ROWS],
        more=found["timeline"]["more"] or max(len(shares), len(failures)) > ROWS,
    )


def _to(request: Request, route: str, **words: Any) -> RedirectResponse:
    return RedirectResponse(request.url_for(route, **words).path, 303)


def _name(text: str) -> str:
    """Return a job's number or a decision's id without the characters that may not be part of a path."""
    return "".join(char for char in text.strip() if char.isascii() and (char.isalnum() or char in "_-"))[:64] or "0"


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < documents.LAST else None
