# SPDX-License-Identifier: Apache-2.0
"""`reprise tune application`: profile a batch script, tune it, and make a record, in one command."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprise.cli import foreground, single_run
from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.config import Config
    from reprise.database.facade import Database
    from reprise.tuner.application.choice import Choice
    from reprise.tuner.application.planned import Asked
    from reprise.tuner.application.proxy_ranking import Ranked
    from reprise.tuner.profile.profile_values import Profile
    from reprise.tuner.profile.verdicts import Verdict


@click.command()
@single_run.SCRIPT
@click.option("--user", help="User who submits SCRIPT (default: its owner).")
@single_run.DIRECTORY
@single_run.OPTIONS
@click.option(
    "--profile",
    "profile_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Use the profile in this file instead of profiling SCRIPT.",
)
@click.option("--runs", type=click.IntRange(min=1), help="Maximum number of runs of the application in the search.")
@click.option(
    "--pairs",
    type=click.IntRange(min=2),
    help="Number of pairs of runs (with and without the settings) in the first session.",
)
@click.option(
    "--later",
    "later_s",
    type=click.FloatRange(min=0),
    help="Seconds until a second session, of 3 pairs, begins (default: 600).",
)
@click.option("--warm", is_flag=True, help="Keep files in the page cache between runs.")
@click.option("--proxy/--no-proxy", default=True, help="Rank MPI settings on a replay of the program's communication.")
@single_run.TRACE
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    help="Seconds after which a run of the application is stopped.",
)
@click.option("--partition", help="Slurm partition to submit trials to.")
@click.option("--account", help="Slurm account to submit trials under.")
@click.option("--reservation", help="Slurm reservation to submit trials to.")
@click.option("--write", "only_write", is_flag=True, help="Print the campaign file after the profile, and exit.")
@click.option("--yes", is_flag=True, help="Start without asking for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def application(settings: Settings, /, script: Path, **given: Any) -> None:
    """Tune the application of a batch script, in one command.

    The command profiles SCRIPT, searches the settings that the profile suggests, and measures them together. The result
    is one record, with the gain measured in runs of the application. If there is no gain beyond noise, there is no
    record.
    """
    import yaml

    from reprise.database.facade import Database
    from reprise.tuner.application import planned, proxy_ranking
    from reprise.tuner.application.choice import Choice
    from reprise.tuner.campaign import session
    from reprise.tuner.campaign.publish import kept_profile
    from reprise.tuner.campaign.trials import proofs_with_application
    from reprise.tuner.definition import campaign_definition
    from reprise.tuner.definition.campaign_place import directory_of
    from reprise.tuner.profile import profile_text, profiled_run
    from reprise.tuner.profile.verdicts import NOT_GIVEN, NOTHING, overall, verdicts

    asked = _asked(script, given)
    campaign_definition.check(planned.campaign(asked, Choice()), str(script))  # fails before anything runs
    profile, profiled = _profile(asked, given["profile_file"], given["warm"], settings.config)
    judged = verdicts(profile, profiled_run.touched(settings.config, single_run.warn))
    for line in (*profile_text.head(profile), *(f"{one.component}: {one.words}" for one in judged if one.worth)):
        click.echo(line, err=True)
    choice = _choice(asked, profile, judged, settings.config)
    if not choice.components:
        verdict = NOT_GIVEN if any(one.worth for one in judged) else NOTHING
        nothing = {"verdict": verdict, "runs": profiled, "proxy": None}
        click.echo(json.dumps(versioned(nothing)) if given["as_json"] else verdict)
        return
    if given["only_write"]:
        click.echo(yaml.safe_dump(planned.campaign(asked, choice), sort_keys=False), nl=False)
        return
    replayed = _is_worth_a_proxy(profile, choice, given)
    if replayed and (alone := choice.off_proxy().components):
        click.echo(f"not tried on the proxy, which only sends messages: {', '.join(alone)}", err=True)
    told = f"{overall(judged)}; {planned.cost(asked, choice, profile.nodes, profile.elapsed_s, replayed)}"
    if not given["yes"] and sys.stdin.isatty():
        click.confirm(f"Run it ({told})?", err=True, abort=True)
    else:
        click.echo(told, err=True)
    with Database.open(settings.config.database.path) as database:
        ranked, proxy, recorded = None, None, 0
        if replayed:
            ranked, proxy, recorded = _ranked_on_proxy(database, asked, choice, settings.config)
        mapping = planned.campaign(asked, choice, ranked.first if ranked else ())
        definition = campaign_definition.check(mapping, str(script))
        now = time.time()
        kept = kept_profile(now, profile_text.summary(profile), profile.without_names())
        begun = session.begin(database, definition, settings.config, now, kept)
        records = foreground.run(database, begun, settings.config)
        trials = database.trials(begun.id)
        if ranked and proxy is not None:
            (problem,) = database.campaign(begun.id).spec["problems"]
            default = problem["default"]
            found = ranked.agreement(trials, default), ranked.ratios(trials, default)
            proxy |= proxy_ranking.to_json(*found, used=ranked.is_used(trials, default))
        proofs = proofs_with_application(directory_of(begun, settings.config))
        runs = len(trials) + proofs + profiled + recorded
        answer = _to_its_jobs(asked, settings.config) if records else None
        more = {"runs": runs, "proxy": proxy, "its_jobs": answer}
        foreground.show(database, begun.id, settings.config, given["as_json"], more)
        if ranked and proxy is not None:
            click.echo(proxy["reason"], err=True)
        if answer and answer["verdict"] != "apply":
            click.echo(f"jobs of {asked.script} do not get the record at submission: {answer['reason']}", err=True)


def _to_its_jobs(asked: Asked, config: Config) -> dict[str, str]:
    """Return the decision that the matcher would make if the user submitted the script now.

    The decision may be not to apply the new record, for example because the job is not similar enough to it.
    """
    from reprise.cli.reading import open_to_read
    from reprise.matcher.support import job_lookup, unsubmitted_script

    question = unsubmitted_script.question(asked.script, asked.options, asked.user, asked.directory)
    with open_to_read(config) as database:
        (decided,) = job_lookup.of_script(database, config, question).decisions
    return {"verdict": decided.decision.verdict, "reason": decided.decision.reason}


def _is_worth_a_proxy(profile: Profile, choice: Choice, given: dict[str, Any]) -> bool:
    """Return whether to tune on a replay of the application's communication first.

    This requires that the user permits a proxy, that a replay can rank a chosen component, and that communication takes
    enough of the run time.
    """
    from reprise.tuner.application import planned

    share = profile.share("mpi.collective") + profile.share("mpi.p2p")
    return bool(given["proxy"] and choice.on_proxy().components) and share >= planned.WORTH_A_PROXY


def _ranked_on_proxy(
    database: Database, asked: Asked, choice: Choice, config: Config
) -> tuple[Ranked | None, dict[str, Any], int]:
    """Tune the application's replay; return the ranking of settings, the cost, and the number of application runs.

    If no replay can be made, the ranking is None, and the cost contains the reason.
    """
    from reprise.tuner.application import planned, proxy_campaign, proxy_ranking
    from reprise.tuner.campaign import session
    from reprise.tuner.definition import campaign_definition
    from reprise.tuner.errors import TunerError
    from reprise.tuner.model.trial_rows import node_seconds

    name = single_run.name_of("record")
    directory = config.tuner.work / name
    try:
        script = proxy_campaign.make(
            asked,
            config,
            single_run.executor(config, "slurm", name, asked.sbatch_options),
            directory,
            asked.timeout_s,
            single_run.warn,
        )
        definition = campaign_definition.check(planned.campaign_on_proxy(asked, choice, script), str(asked.script))
        begun = session.begin(database, definition, config, time.time())
        foreground.run(database, begun, config)
    except TunerError as error:
        click.echo(f"no proxy: {error}: searching with the application itself", err=True)
        return None, {"made": False, "reason": str(error)}, proxy_campaign.recordings(directory)
    (problem,) = database.campaign(begun.id).spec["problems"]
    trials = database.trials(begun.id)
    cost = {"made": True, "trials": len(trials), "node_hours": node_seconds(trials) / 3600}
    ranked = proxy_ranking.Ranked.of(trials, problem["default"], planned.FROM_PROXY)
    return ranked, cost, proxy_campaign.recordings(directory)


def _asked(script: Path, given: dict[str, Any]) -> Asked:
    """Return the request from the command line. Raise TunerError if the script does not exist or has no owner.

    Raise click.UsageError if the options contradict each other.
    """
    from reprise.tuner.application import planned
    from reprise.tuner.errors import TunerError

    if given["trace"] and not given["proxy"]:
        raise click.UsageError("--trace gives the proxy its communication: leave out --no-proxy")
    path = script.absolute()
    try:
        owner = path.owner()
    except (OSError, KeyError) as error:
        if not given["user"] or not path.exists():
            raise TunerError(
                f"{path}: cannot be read, or its owner has no name: check the path, or give --user"
            ) from error
        owner = ""
    named = (("searched", "runs"), ("pairs", "pairs"), ("later_s", "later_s"))
    counts = {name: given[key] for name, key in named if given[key] is not None}
    executor = {key: given[key] for key in ("partition", "account", "reservation") if given[key]}
    directory = (given["directory"] or path.parent).absolute()
    more = {"timeout_s": given["timeout_s"], "trace": given["trace"], **counts}
    return planned.Asked(path, given["user"] or owner, directory, given["options"], executor, **more)


def _profile(asked: Asked, file: Path | None, warm: bool, config: Config) -> tuple[Profile, int]:
    """Read the profile from a file, or run the application to make it; return the profile and the number of runs.

    If the application reads large files, it is run again after these files have been dropped from the page cache, so
    that it reads them as on a node that has not read them before. With `warm`, the files stay in the cache.
    """
    from reprise.tuner.application.choice import cold
    from reprise.tuner.errors import TunerError
    from reprise.tuner.profile.profile_values import read_profile

    if file is not None:
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise TunerError(
                f"{file}: cannot be read ({error}): make it with `reprise tune profile --output`"
            ) from error
        profile, runs = read_profile(found, str(file)), 0
    else:
        profile, runs = _profiled(asked, config), 1
        if not warm and (reads := cold(profile)):
            size = sum(one.bytes for one in profile.inputs) / 1e9
            click.echo(
                f"the application reads {len(reads)} files, {size:.2g} GB: later runs start with these files uncached",
                err=True,
            )
            profile, runs = _profiled(asked, config, reads), 2
    return profile.model_copy(update={"inputs": ()}) if warm else profile, runs


def _profiled(asked: Asked, config: Config, reads: Sequence[str] = ()) -> Profile:
    from reprise.tuner.profile import profiled_run

    name = single_run.name_of("profile")
    run = profiled_run.Application(asked.script, asked.directory, asked.options)
    executor = single_run.executor(config, "slurm", name, asked.sbatch_options)
    return profiled_run.profile(run, config, executor, config.tuner.work / name, asked.timeout_s, reads)


def _choice(asked: Asked, profile: Profile, judged: Sequence[Verdict], config: Config) -> Choice:
    from reprise.tuner.application.choice import choose
    from reprise.tuner.components.application import Workload
    from reprise.tuner.definition.component_registry import read_script
    from reprise.tuner.executors.slurm_commands import SlurmCommands

    workload = Workload(str(asked.script), read_script(asked.script), str(asked.directory), asked.options)
    choice = choose(profile, judged, workload, config, SlurmCommands().knows_option)
    for line in choice.left_out:
        click.echo(f"left out: {line}", err=True)
    return choice
