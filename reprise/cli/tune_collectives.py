# SPDX-License-Identifier: Apache-2.0
"""`reprise tune collectives`: a campaign for Open MPI's collectives without a campaign file."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from reprise.tuner.openmpi import collectives_campaign

if TYPE_CHECKING:
    from reprise.cli.main import Settings


@click.command()
@click.option("--nodes", required=True, help="Where it is measured, and given to jobs: one or more numbers, 2,4,8.")
@click.option("--tasks-per-node", default="1", show_default=True, help="Likewise, each with each number of nodes.")
@click.option(
    "--placement",
    type=click.Choice(("core", "node")),
    default="core",
    show_default=True,
    help="core: a node is filled before the next; node: tasks are dealt round the nodes.",
)
@click.option(
    "--collectives",
    default=",".join(collectives_campaign.COLLECTIVES),
    show_default=True,
    help="Names, separated by commas.",
)
@click.option(
    "--sizes",
    default=collectives_campaign.SIZES,
    show_default=True,
    help="Bytes: a range that doubles, or a list: 8,64K,1M.",
)
@click.option(
    "--strategy",
    type=click.Choice(list(collectives_campaign.STRATEGIES)),
    default="shared",
    show_default=True,
    help="shared: all sizes in one run, and one model for them; per-size: each by itself, as published.",
)
@click.option("--benchmark", type=click.Choice(("own", "osu", "imb")), help="What measures; own unless given.")
@click.option(
    "--benchmark-path",
    type=click.Path(resolve_path=True),
    help="Of osu a directory above its programs, of imb IMB-MPI1; every node sees it.",
)
@click.option("--node-hours", type=click.FloatRange(min=0, min_open=True), help="What it may cost.")
@click.option("--name", default="", help="Of the campaign.")
@click.option("--executor", "kind", type=click.Choice(("allocation", "slurm", "local")), help="Where trials run.")
@click.option("--launcher", type=click.Choice(("srun", "mpirun")), help="What starts them.")
@click.option("--partition", help="Of Slurm.")
@click.option("--account", help="Of Slurm.")
@click.option("--reservation", help="Of Slurm.")
@click.option("--time-limit", help="Of the allocation, e.g. 2:00:00.")
@click.option("--plan", "only_plan", is_flag=True, help="Show the first runs and the cost; submit nothing.")
@click.option(
    "--write", "only_write", is_flag=True, help="Print the campaign file, to be changed and run by `tune run`."
)
@click.option("--yes", is_flag=True, help="Do not ask before it begins (on a terminal).")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_obj
def collectives(settings: Settings, /, **given: Any) -> None:
    """Tune Open MPI's collectives for all jobs on so many nodes of this cluster.

    Jobs on as many nodes, with as many tasks on each, get a rules file with what was better beyond noise.
    """
    import yaml

    from reprise.cli import foreground
    from reprise.database.facade import Database
    from reprise.tuner.campaign import session
    from reprise.tuner.definition import campaign_definition

    executor = {key: given[key] for key in ("launcher", "partition", "account", "reservation", "time_limit")}
    mapping = collectives_campaign.campaign(
        collectives=[word.strip() for word in given["collectives"].split(",")],
        sizes=given["sizes"],
        nodes=collectives_campaign.read_counts(given["nodes"], "--nodes"),
        tasks_per_node=collectives_campaign.read_counts(given["tasks_per_node"], "--tasks-per-node"),
        placement=given["placement"],
        strategy=given["strategy"],
        name=given["name"],
        node_hours=given["node_hours"],
        executor={"kind": given["kind"], **executor},
        benchmark={key: given[key] for key in ("benchmark", "benchmark_path")},
    )
    definition = campaign_definition.check(mapping, "the options")
    if given["only_write"]:
        click.echo(yaml.safe_dump(mapping, sort_keys=False), nl=False)
        return
    if given["only_plan"]:
        click.echo(session.plan(definition, settings.config, 2, None, None))
        return
    with Database.open(settings.config.database.path) as database:
        told = session.cost(definition, settings.config, database)
        if not given["yes"] and sys.stdin.isatty():
            click.confirm(f"Run it ({told})?", err=True, abort=True)
        else:
            click.echo(told, err=True)
        begun = session.begin(database, definition, settings.config, time.time())
        foreground.go(database, begun, settings.config, given["as_json"])
