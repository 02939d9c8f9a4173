# SPDX-License-Identifier: Apache-2.0
"""Follow a running campaign by reading the database at intervals, without writing or locking anything."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from reprise.config import Config
from reprise.database.entities import CampaignState, Json
from reprise.database.for_tuner import TunerDatabase
from reprise.tuner.report import campaign_overview, words
from reprise.tuner.report.campaign_overview import INTERRUPTED, STALE_S
from reprise.tuner.report.progress import percent
from reprise.tuner.steps import warm_start

EXIT_STATUS = {CampaignState.COMPLETE: 0, CampaignState.FAILED: 1, CampaignState.STOPPED: 3, INTERRUPTED: 3}
# A campaign without a coordinator may be starting. After this number of consecutive checks, it counts as interrupted.
LOOKS = 3
LINE_EVERY_S = 5.0  # minimum seconds between lines if the output is not a terminal
OTHER_LINES = 12  # number of the terminal's lines that are not available for problems
FEWEST_PROBLEMS = 3


def watch(
    database: TunerDatabase,
    campaign_id: int,
    config: Config,
    interval_s: float,
    console: Console | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Show a campaign until it ends or is interrupted, and return the exit status for its state."""
    console = console or Console(file=sys.stdout, highlight=False)
    show = _on_terminal if console.is_terminal else _in_lines
    described = show(_looks(database, campaign_id, config, interval_s, sleep), console, clock)
    console.print(campaign_overview.last_words(described), markup=False, soft_wrap=True)
    return EXIT_STATUS[described["state"]]


def _looks(
    database: TunerDatabase, campaign_id: int, config: Config, interval_s: float, sleep: Callable[[float], None]
) -> Any:
    """Yield the campaign's description every `interval_s` seconds until it has ended or is interrupted."""
    alone = 0
    while True:
        described = campaign_overview.describe(database, database.campaign(campaign_id), config)
        alone = alone + 1 if described["state"] == INTERRUPTED else 0
        yield described
        if described["state"] != CampaignState.RUNNING and (alone == 0 or alone >= LOOKS):
            return
        sleep(interval_s)


def _on_terminal(looks: Any, console: Console, _: Callable[[], float]) -> dict[str, Any]:
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for described in looks:
            live.update(picture(described, console.size.height), refresh=True)
    console.print(campaign_overview.table(described))
    return dict(described)


def _in_lines(looks: Any, console: Console, clock: Callable[[], float]) -> dict[str, Any]:
    """Print a line when its text has changed, at most every LINE_EVERY_S seconds; return the last description."""
    said, said_at = "", -LINE_EVERY_S
    for described in looks:
        text = line(described)
        if text != said and clock() - said_at >= LINE_EVERY_S:
            console.print(text, markup=False, soft_wrap=True)
            said, said_at = text, clock()
    return dict(described)


def line(described: Json) -> str:
    """Return one line with a campaign's state, current problem, best gain and cost."""
    current = _current(described["problems"])
    parts = [f"campaign {described['campaign']} {described['state']}"]
    if current:
        place = described["problems"].index(current) + 1
        about = f"{words.printable(current['problem'])} ({place} of {len(described['problems'])}), {current['phase']}"
        parts += [about, f"{current['trials']} trials"]
        if current["comparison"]:
            parts.append(f"gain {words.gain(current['comparison'])}")
        elif best := current["best"]:
            parts.append(f"best so far {words.single(best['mean'], best['unit'])}{_gain(best)}")
    parts.append(f"{words.hours(described['node_hours'])} node-hours")
    return "; ".join([*parts, *filter(None, [_silence(described)])])


def picture(described: Json, height: int) -> Group:
    """Return the display of a running campaign for a terminal with `height` lines."""
    number, state = described["campaign"], described["state"]
    problems, running = described["problems"], described["running"]
    states = ", ".join(f"{count} {name}" for name, count in sorted(described["states"].items()))
    head = Text.assemble((f"campaign {number}: {words.printable(described['name'])}", "bold"), f"  {state}")
    about = f"{described['component']} {described['component_version']}; "
    about += f"{described['trials']} trials ({states})" if states else "no trial yet"
    lines: list[Any] = [head, Text(f"{about}; {words.hours(described['node_hours'])} node-hours")]
    if start := warm_start.in_words(described["warm_start"]):
        lines.append(Text(start))
    if silence := _silence(described):
        lines.append(Text(silence, style="bold red" if _is_stale(described) else "dim"))
    room = max(FEWEST_PROBLEMS, height - OTHER_LINES)
    lines += [Text(), _problems(problems, room)]
    if running:
        lines += [Text(), _running(running, max(1, room - len(problems)))]
    return Group(*lines)


def _problems(problems: list[dict[str, Any]], room: int) -> Table:
    """Return a table of at most `room` problems around the current one."""
    table = Table("problem", "phase", "trials", "default", "best so far", "gain", "settings", box=None, pad_edge=False)
    current = _current(problems)
    at = problems.index(current) if current else 0
    first = max(0, min(at - room // 2, len(problems) - room))
    for one in problems[first : first + room]:
        found, best, default = one["comparison"], one["best"], one["default"]
        cells = [words.printable(one["problem"]), one["phase"], str(one["trials"])]
        cells.append(words.interval(default) if default else "")
        if found:
            cells += [words.interval(found["tuned"]), words.gain(found), words.settings(found["winner"], one["usual"])]
        elif best:
            gain = percent(best["gain"]) if best["gain"] is not None else ""
            cells += [words.single(best["mean"], best["unit"]), gain, words.settings(best["point"], one["usual"])]
        else:
            cells += ["", "", one["note"]]
        table.add_row(*map(Text, cells), style="" if one is current else "dim")
    return table


def _running(running: list[dict[str, Any]], room: int) -> Table:
    table = Table("running", "role", "job", "since", "settings", box=None, pad_edge=False)
    for one in running[:room]:
        since = "not started" if one["begun_s"] is None else words.span(one["begun_s"])
        cells = f"{words.printable(one['problem'])} {one['number']}", one["role"], str(one["job"] or "")
        table.add_row(*map(Text, [*cells, since, words.settings(one["parametrization"], one["usual"])]))
    if len(running) > room:
        table.add_row(Text(f"and {len(running) - room} more"))
    return table


def _current(problems: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the most recently started problem, or None if no problem was started."""
    begun = [one for one in problems if one["phase"] != "waiting"]
    return begun[-1] if begun else None


def _gain(best: Json) -> str:
    return "" if best["gain"] is None else f" ({percent(best['gain'])})"


def _is_stale(described: Json) -> bool:
    return described["silent_s"] is not None and described["silent_s"] > STALE_S


def _silence(described: Json) -> str:
    """Return a text on the coordinator's last sign of life, with a warning if that is older than STALE_S."""
    if described["state"] == INTERRUPTED:
        return "no coordinator is running"
    if described["silent_s"] is None:
        return ""
    if _is_stale(described):
        return f"no sign of life for {words.span(described['silent_s'])}: check whether its coordinator hangs"
    return f"last sign of life {words.span(described['silent_s'])} ago"
