# SPDX-License-Identifier: Apache-2.0
"""`reprise tune collectives`: tune Open MPI's collectives without a campaign file."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from reprise.tuner.openmpi import collectives_campaign

if TYPE_CHECKING:
    from reprise.cli.main import Settings


@click.command()
@click.option("--nodes", required=True, help="Numbers of nodes to tune for, separated by commas: 2,4,8.")
@click.option(
    "--tasks-per-node",
    default="1",
    show_default=True,
    help="Numbers of tasks per node, each combined with each number of nodes.",
)
@click.option(
    "--placement",
    type=click.Choice(("core", "node")),
    default="core",
    show_default=True,
    help="core: fill one node after the other; node: distribute tasks round-robin over the nodes.",
)
@click.option(
    "--collectives",
    default=",".join(collectives_campaign.COLLECTIVES),
    show_default=True,
    help="Collectives to tune, separated by commas.",
)
@click.option(
    "--sizes",
    default=collectives_campaign.SIZES,
    show_default=True,
    help="Message sizes in bytes, as a range that doubles or as a list such as 8,64K,1M.",
)
@click.option(
    "--strategy",
    type=click.Choice(list(collectives_campaign.STRATEGIES)),
    default="shared",
    show_default=True,
    help="shared: measure all sizes in one run, with one model; per-size: search each size separately (Sartori 2024).",
)
@click.option("--benchmark", type=click.Choice(("own", "osu", "imb")), help="Benchmark to measure with (default: own).")
@click.option(
    "--benchmark-path",
    type=click.Path(resolve_path=True),
    help="Shared path of the benchmark: for osu a directory above its programs, for imb the program IMB-MPI1.",
)
@click.option("--node-hours", type=click.FloatRange(min=0, min_open=True), help="Maximum number of node-hours to use.")
@click.option("--name", default="", help="Name of the campaign.")
@click.option(
    "--executor",
    "kind",
    type=click.Choice(("allocation", "slurm", "local")),
    help="Run trials in one allocation, as jobs of Slurm, or on this host.",
)
@click.option("--launcher", type=click.Choice(("srun", "mpirun")), help="Command that launches trials.")
@click.option("--partition", help="Slurm partition to submit trials to.")
@click.option("--account", help="Slurm account to submit trials under.")
@click.option("--reservation", help="Slurm reservation to submit trials to.")
@click.option("--time-limit", help="Time limit of the allocation, e.g. 2:00:00.")
@click.option("--plan", "only_plan", is_flag=True, help="Show the first runs and the estimated cost; submit nothing.")
@click.option("--write", "only_write", is_flag=True, help="Print the campaign file, to edit and pass to `tune run`.")
@click.option("--yes", is_flag=True, help="Start without asking for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def collectives(settings: Settings, /, **given: Any) -> None:
    """Tune Open MPI's collectives for given node and task counts.

    Jobs with the given numbers of nodes and tasks per node get a rules file, with the algorithms that were faster than
    the default beyond noise.
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
        cost = session.cost(definition, settings.config, database)
        if not given["yes"] and sys.stdin.isatty():
            click.confirm(f"Run it ({cost})?", err=True, abort=True)
        else:
            click.echo(cost, err=True)
        begun = session.begin(database, definition, settings.config, time.time())
        foreground.go(database, begun, settings.config, given["as_json"])
