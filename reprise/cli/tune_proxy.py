# SPDX-License-Identifier: Apache-2.0
"""`reprise tune record` and `replay`: record an application's communication once, and replay it cheaply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprise.cli import single_run
from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.tuner.proxy.mix import Mix


@click.command()
@single_run.SCRIPT
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the mix to this file (default: SCRIPT.mix).",
)
@single_run.DIRECTORY
@single_run.OPTIONS
@single_run.EXECUTOR
@single_run.TIMEOUT
@single_run.TRACE
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def record(
    settings: Settings,
    script: Path,
    output: Path | None,
    directory: Path | None,
    options: tuple[str, ...],
    executor: str,
    timeout_s: float,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Run a batch script once, and record its MPI communication.

    The recording of SCRIPT's MPI program is called a mix. With --trace, nothing runs: the mix is made from an OTF2
    trace, such as `eztrace -t openmpi` writes.
    """
    from reprise.tuner.definition.campaign_place import claim
    from reprise.tuner.profile import profiled_run
    from reprise.tuner.proxy import mix_file, otf2_mix, recorded_run

    path = output or script.with_suffix(".mix")
    single_run.writable(path)
    if trace:
        mix = otf2_mix.mix_of(trace, single_run.warn)
        mix_file.write(mix, path)
        _say(mix, path, as_json)
        return
    place = (directory or script.parent).absolute()
    application = profiled_run.Application(script.absolute(), place, options)
    name = single_run.name_of("record")
    run_by = single_run.executor(settings.config, executor, name)
    plan = recorded_run.recording(application, settings.config, timeout_s)
    work = settings.config.tuner.work / name
    claim(work)
    mix = recorded_run.record(plan, run_by, work / "run")
    mix_file.write(mix, path)
    _say(mix, path, as_json)


@click.command()
@click.argument("mix", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.argument("script", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the replay's script to this file (default: MIX.replay.sh).",
)
@click.option(
    "--share",
    type=click.FloatRange(min=0, max=1, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of the repetitions of each loop to replay.",
)
@click.option(
    "--compute", default="full", show_default=True, help="Time to wait in place of computation: full, none or a factor."
)
@click.option("--launch", default="", help="Launcher and its options, instead of those in SCRIPT.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def replay(
    settings: Settings,
    mix: Path,
    script: Path,
    output: Path | None,
    share: float,
    compute: str,
    launch: str,
    as_json: bool,
) -> None:
    """Write a batch script that replays a recording.

    MIX is a recording of the batch script SCRIPT. A campaign with the new script as its application runs the replay in
    its trials. With --share, the shorter mix is written next to the new script.
    """
    from reprise.tuner.definition.component_registry import read_script
    from reprise.tuner.errors import ProxyError
    from reprise.tuner.proxy import mix_file
    from reprise.tuner.proxy.mix_share import shared
    from reprise.tuner.proxy.replay_script import PROGRAM, replay_script

    whole = mix_file.read(mix)
    part = shared(whole, share)
    path = (output or mix.with_suffix(".replay.sh")).absolute()
    played = mix.absolute()
    if part is not whole:
        played = path.with_suffix(".mix")
    written = {path} if part is whole else {path, played}
    if written & {mix.absolute(), script.absolute()}:
        raise ProxyError(f"{path}: would overwrite MIX or SCRIPT: name another file with --output")
    if part is not whole:
        mix_file.write(part, played)
    command = [str(settings.config.tuner.libexec / PROGRAM), "--compute", compute, str(played)]
    text = replay_script(read_script(script), command, launch)
    _write(path, text)
    if as_json:
        click.echo(json.dumps(versioned({"script": str(path), "mix": str(played), "share": part.calls / whole.calls})))
        return
    click.echo(f"{path} replays {part.calls / whole.calls:.0%} of the calls of {mix}", err=True)


def _say(mix: Mix, path: Path, as_json: bool) -> None:
    if as_json:
        summary = {
            "mix": str(path),
            "ranks": mix.ranks,
            "calls": mix.calls,
            "seconds": mix.seconds,
            "left_out": mix.left_out,
        }
        click.echo(json.dumps(versioned(summary)))
        return
    click.echo(f"{path}: {mix.calls} calls of {mix.ranks} ranks in {mix.seconds:.1f} s", err=True)
    for kind, count in sorted(mix.left_out.items()):
        click.echo(f"left out: {count} x {kind}, which a replay does not support", err=True)


def _write(path: Path, text: str) -> None:
    from reprise.tuner.errors import ProxyError

    try:
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise ProxyError(f"{path}: cannot be written ({error.strerror}): name another file with --output") from error
