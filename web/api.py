# SPDX-License-Identifier: Apache-2.0
"""REST interface, through which programs get the content of the web pages and control campaigns."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, HTTPException, Path, Query, Request, Security
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from reprise.database.entities import Verdict
from reprise.database.job_search import EVER, Wanted
from reprise.database.totals import WantedRecords
from reprise.matcher.support.jobs import site_summary
from reprise.web import campaign_control, documents, forms
from reprise.web.live import WATCHERS, Watchers, events
from reprise.web.request_guard import BODY_LIMIT
from reprise.web.site import BEARER, IN_COOKIE, STAFF, APerson, ASite, Operator, Site

Number = Annotated[int, Path(ge=1, le=2**63 - 1)]
Text = Annotated[str | None, Query(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
Name = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Component = Annotated[str, Path(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.-]+$")]
AnId = Annotated[int | None, Query(ge=1, le=2**63 - 1)]
ATime = Annotated[float | None, Query(ge=0, le=EVER, allow_inf_nan=False, description="Unix seconds")]
Limit = Annotated[int, Query(ge=1, le=200)]
Hours = Annotated[int, Query(ge=1, le=documents.MOST_HOURS, description="length of the timeline, which ends now")]

WATCHING = Watchers()


class Failure(BaseModel):
    """The response to a failed request; `detail` is the reason, in one line."""

    detail: str


class Document(BaseModel):
    """A document with a version number. Within a version, keys may be added, but are never changed or removed."""

    model_config = ConfigDict(extra="allow")

    version: int


class Jobs(Document):
    """The document that `reprise jobs list --json` prints."""

    jobs: list[dict[str, Any]]


class Job(Document):
    """The document that `reprise jobs show --json` prints."""

    explanation: dict[str, Any]
    beside: dict[str, Any] | None


class Records(Document):
    """The document that `reprise records list --json` prints."""

    records: list[dict[str, Any]]


class Record(Document):
    """A record, its gain in production (`production`), and the run times of its jobs (`runs`)."""

    record: dict[str, Any]
    production: dict[str, Any]
    runs: list[dict[str, Any]]


class Campaigns(Document):
    """A list of campaigns, newest first."""

    campaigns: list[dict[str, Any]]


class Campaign(BaseModel):
    """The document that `reprise tune report --json` prints."""

    model_config = ConfigDict(extra="allow")

    campaign: int
    state: str


class Overview(Document):
    """Totals over 30 days, decisions per day over 90 days, and candidates for tuning (`classes`)."""

    decisions: dict[str, int]
    match_rate: float | None
    benefit: dict[str, Any]
    classes: list[dict[str, Any]]


class Forwarders(Document):
    """The document that `reprise forwarders list --json` prints, and a timeline of the pool.

    For each forwarder, the timeline has the jobs that it served and the times in which it failed. `counts` has the
    numbers of jobs with forwarders and with direct access at equally distant moments.
    """

    arbiter_runs: bool | None
    policy: str
    forwarders: list[dict[str, Any]]
    direct: list[int]
    timeline: dict[str, Any]


class Started(BaseModel):
    """The number of the campaign that the request started, paused, resumed or stopped."""

    campaign: int


class Me(BaseModel):
    """The user who owns the token of the request.

    `staff` may see other users' jobs, records and campaigns; `operator` may start and stop campaigns.
    """

    user: str
    uid: int
    staff: bool
    operator: bool


class Components(BaseModel):
    """The components that are installed at the site, with the descriptions from their files."""

    components: list[dict[str, Any]]


class CampaignFile(BaseModel):
    """A campaign file: its text (YAML), and its content (`definition`), which `POST /api/campaigns` accepts."""

    text: str
    definition: dict[str, Any]


TAKES_A_BODY: dict[int | str, dict[str, Any]] = {
    413: {"model": Failure, "description": f"The body has more than {BODY_LIMIT} bytes"}
}

router = APIRouter(
    prefix="/api",
    dependencies=[Security(BEARER), Security(IN_COOKIE)],
    responses={status: {"model": Failure} for status in (400, 401, 403, 404, 409, 422, 503)},
)


@router.get("/me")
def me(person: APerson) -> Me:
    """Return the user who owns the token of the request."""
    return Me(user=person.name, uid=person.uid, staff=person.staff, operator=person.operator)


@router.get("/overview")
def overview(site: ASite, person: APerson) -> Overview:
    """Return counts of decisions, the savings, and the candidates for tuning, with the time at which they were read."""
    return Overview.model_validate(site_summary.document(site.overview.latest(), person.reader))


@router.get("/jobs")
def jobs(
    site: ASite,
    person: APerson,
    user: Text = None,
    application: Text = None,
    verdict: Verdict | None = None,
    record: AnId = None,
    failed: bool = False,
    since: ATime = None,
    until: ATime = None,
    limit: Limit = documents.PAGE,
) -> Jobs:
    """List jobs, newest first. Users who are not staff only get their own jobs.

    For the next page, set `until` to the value of `at` in the last job of this page.
    """
    wanted = wanted_jobs(
        user, application=application, verdict=verdict, main_record=record, failed=failed, since=since, until=until,
        limit=limit,
    )  # fmt: skip
    with site.database() as database:
        return Jobs.model_validate(documents.jobs(database, site.config.site.cluster, wanted, person)[1])


@router.get("/jobs/{job}")
def job(site: ASite, person: APerson, job: Name, cluster: Text = None) -> Job:
    """Explain the decision about a job.

    `job` is the job's number (4711, or 4711_3 for an array task) or the decision's id.
    """
    with site.database() as database:
        story, beside = documents.job(database, site.config, job, cluster and cluster.lower(), person)
    return Job.model_validate(documents.job_document(story, beside))


@router.get("/records", dependencies=STAFF)
def records(
    site: ASite,
    status: Literal["active", "quarantined", "retired"] | None = None,
    component: Text = None,
    job: Annotated[Text, Query(description="a user, a program or a job's name")] = None,
    before: Annotated[AnId, Query(description="with smaller ids")] = None,
    limit: Limit = documents.PAGE,
) -> Records:
    """List records, newest first."""
    with site.database() as database:
        found = documents.records(database, WantedRecords(status, component, job, before, limit))
    return Records.model_validate(found[1])


@router.get("/records/{number}", dependencies=STAFF)
def record(site: ASite, number: Number) -> Record:
    """Return a record and its gain in production."""
    with site.database() as database:
        return Record.model_validate(documents.record(database, number)[1])


@router.get("/campaigns", dependencies=STAFF)
def campaigns(site: ASite, before: AnId = None) -> Campaigns:
    """List campaigns, newest first."""
    with site.database() as database:
        return Campaigns.model_validate(documents.campaigns(database, site.config, before)[1])


@router.get("/campaigns/{number}", dependencies=STAFF)
def campaign(site: ASite, number: Number) -> Campaign:
    """Return a campaign with all its trials."""
    with site.database() as database:
        return Campaign.model_validate(documents.campaign(database, site.config, number))


@router.get(
    "/campaigns/{number}/events",
    dependencies=STAFF,
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, 429: {"model": Failure}},
)
def campaign_events(request: Request, site: ASite, number: Number) -> StreamingResponse:
    """Follow a campaign while it runs.

    The response is a stream with an event `progress` for each change, and an event `end` when the campaign has ended.
    """
    if WATCHING.count >= WATCHERS:
        raise HTTPException(429, f"{WATCHERS} pages already follow campaigns: close one of them")

    def look() -> dict[str, Any]:
        with site.database() as database:
            return documents.progress(documents.campaign(database, site.config, number))

    look()  # fails before the stream starts if there is no such campaign
    headers = {"x-accel-buffering": "no"}
    stream = events(look, request.is_disconnected, WATCHING)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get("/forwarders", dependencies=STAFF)
def forwarders(site: ASite, hours: Hours = documents.HOURS) -> Forwarders:
    """Return the pool of I/O forwarders with its present jobs, and its timeline."""
    runs = site.arbiter.runs()
    with site.database() as database:
        _, _, found = documents.forwarders(database, site.config, runs, hours, time.time())
    return Forwarders.model_validate(found)


@router.get("/components", dependencies=STAFF)
def components(site: ASite) -> Components:
    """List the components that can be tuned at the site."""
    return Components(components=forms.components(site.config))


@router.get("/components/{component}/campaign", dependencies=STAFF)
def campaign_file(
    site: ASite,
    component: Component,
    decision: Annotated[Text, Query(description="id of the decision about the job to tune for")] = None,
) -> CampaignFile:
    """Return a campaign file for a component, optionally for a job."""
    definition = begun_definition(site, component, decision)
    return CampaignFile(text=forms.as_text(definition), definition=definition)


@router.post("/campaigns", status_code=201, responses=TAKES_A_BODY)
def start(
    site: ASite,
    person: Operator,
    definition: Annotated[dict[str, Any], Body(description="the content of a campaign file")],
) -> Started:
    """Start a campaign, and return its number."""
    return Started(campaign=campaign_control.start(site.config, site.path, definition, person.name))


class Ask(BaseModel):
    """An action on a campaign. A campaign that was stopped by `stop` cannot be resumed."""

    action: Literal["pause", "resume", "stop"] = Field(description="pause, resume or stop")


@router.post("/campaigns/{number}", responses=TAKES_A_BODY)
def act(site: ASite, person: Operator, number: Number, asked: Ask) -> Started:
    """Pause, resume or stop a campaign."""
    act_on(site, number, asked.action, person.name)
    return Started(campaign=number)


def act_on(site: Site, number: int, action: str, who: str) -> None:
    """Pause, resume or stop a campaign. Raise NotFoundError or TunerError on failure."""
    with site.database() as database:
        database.campaign(number)
    if action == "pause":
        campaign_control.pause(site.config, number)
    elif action == "stop":
        campaign_control.stop(site.config, number, who)
    else:
        campaign_control.resume(site.config, site.path, number)


def begun_definition(site: Site, component: str, decision: str | None) -> dict[str, Any]:
    """Return the initial content of a campaign file, for the job of `decision` if it is given.

    Raise TunerError or NotFoundError on failure.
    """
    if decision is None:
        return forms.empty(site.config, component)
    with site.database() as database:
        return forms.for_job(site.config, component, database.decision(decision))


def wanted_jobs(user: str | None, **filters: Any) -> Wanted:
    """Return the conditions of a search for jobs; `user` is a user's name or id."""
    since, until = filters.pop("since") or 0.0, filters.pop("until")
    name, only, uid = forms.user_of(user)
    return Wanted(user=name, uid=uid, only=only, since=since, until=EVER if until is None else until, **filters)
