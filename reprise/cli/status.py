# SPDX-License-Identifier: Apache-2.0
"""`reprise status`: show the daemon, the plugin, records, campaigns and savings on one screen."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from reprise.cli.reading import open_to_read
from reprise.database.totals import DAY_S

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.doctor.findings import Finding

JSON_VERSION = 1


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.pass_obj
def status(settings: Settings, as_json: bool) -> None:
    """Show the daemon, the plugin, records, campaigns and savings on one screen.

    `reprise doctor` checks the installation and suggests remedies.
    """
    from reprise.doctor import plugin_checks, plugstack, slurm_checks
    from reprise.doctor.probes import run
    from reprise.matcher.support.jobs import site_summary

    config = settings.config
    _, slurm = slurm_checks.look(run)
    stack, entry = plugstack.examine(slurm.plugstack, config.matcher.socket)
    with open_to_read(config) as database:
        summary = site_summary.read(database, config, time.time())
    found = document(config.site.cluster, summary, plugin([plugin_checks.plugin(slurm, entry), *stack]))
    for line in [json.dumps(found)] if as_json else lines(found):
        click.echo(line)


def plugin(findings: Sequence[Finding]) -> Mapping[str, Any]:
    """Return whether this host's Slurm loads the plugin, and a text on the plugin or on the first problem."""
    from reprise.doctor.findings import Level

    wrong = [one.text for one in findings if one.level is Level.PROBLEM]
    return {"loads": not wrong, "text": wrong[0] if wrong else findings[0].text}


def document(cluster: str, summary: Mapping[str, Any], loaded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the screen's content as data for JSON, from the results of `site_summary.read` and `plugin`."""
    keys = ("recent_days", "matcher", "records", "campaigns_running", "decisions", "match_rate")
    benefit = {key: value for key, value in summary["benefit"].items() if key != "by_record"}
    return {
        "version": JSON_VERSION,
        "cluster": cluster,
        "plugin": dict(loaded),
        **{key: summary[key] for key in keys},
        "benefit": benefit,
    }


def lines(found: Mapping[str, Any]) -> list[str]:
    """Return the screen's content as lines of text, from the result of `document`."""
    days = f"in {found['recent_days']} days"
    rows = {
        "cluster": found["cluster"],
        "matcher": _matcher(found["matcher"]),
        "plugin": found["plugin"]["text"] + ("" if found["plugin"]["loads"] else ": run `reprise doctor`"),
        "records": _counts(found["records"]) or "none: tune an application with `reprise tune application`",
        "campaigns": f"{found['campaigns_running']} running",
        "decisions": _decisions(found["decisions"], found["match_rate"], days),
        "savings": _savings(found["benefit"], days),
    }
    return [f"{name:<11}{text}" for name, text in rows.items()]


def _matcher(seen: Mapping[str, Any]) -> str:
    if not seen["answers"]:
        return "does not answer: run `reprise doctor`"
    uptime = seen["uptime_s"] or 0
    since = f"{uptime / DAY_S:.0f} days" if uptime >= 2 * DAY_S else f"{uptime / 3600:.1f} hours"
    return f"answers, version {seen['version']}, {seen['records']} records loaded, up {since}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]) if count)


def _decisions(counts: Mapping[str, int], match_rate: float | None, days: str) -> str:
    if match_rate is None:
        return f"none {days}"
    return f"{sum(counts.values()):,} {days}, {match_rate:.0%} matched a record"


def _savings(benefit: Mapping[str, Any], days: str) -> str:
    if benefit["saved"] is None:
        return f"not measured yet; {benefit['jobs']:,} jobs were given settings {days}"
    return (
        f"{benefit['saved']:,.1f} node-hours {days} (95 % bounds {benefit['low']:,.1f} to {benefit['high']:,.1f}), "
        f"by {benefit['jobs']:,} jobs that took {benefit['node_hours']:,.1f}"
    )
