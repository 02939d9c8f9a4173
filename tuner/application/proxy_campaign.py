# SPDX-License-Identifier: Apache-2.0
"""Proxy of an application: a script that replays the application's communication.

Campaigns can run the proxy instead of the application.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reprise.config import Config
from reprise.tuner.application.planned import LEAST_PROXY_S, LEAST_SHARE, Asked
from reprise.tuner.definition.campaign_place import claim
from reprise.tuner.definition.component_registry import read_script
from reprise.tuner.errors import ProxyError
from reprise.tuner.executors.executor import Executor
from reprise.tuner.executors.trial_script import CLAIM
from reprise.tuner.model import private_files
from reprise.tuner.profile.profiled_run import Application
from reprise.tuner.proxy import mix_file, otf2_mix, recorded_run
from reprise.tuner.proxy.mix import Mix
from reprise.tuner.proxy.mix_check import unsupported
from reprise.tuner.proxy.mix_share import shared
from reprise.tuner.proxy.replay_script import PROGRAM, replay_script

RUN = "run"
"""Directory in a proxy's directory where the application is recorded."""


def make(
    asked: Asked, config: Config, executor: Executor, directory: Path, timeout_s: float, warn: Callable[[str], None]
) -> Path:
    """Record the application once, in a new `directory` below `[tuner] work`, and return the script that replays it.

    If there is a trace of the application, it is used, and the application does not run; `warn` receives a line for
    everything that the trace lacks.

    Raise ProxyError if the application cannot be recorded or replayed.
    """
    record = _recorder(asked, config, executor, timeout_s, warn)
    try:
        claim(directory)
        mix = record(directory / RUN)
        if mix.left_out:
            raise ProxyError(unsupported(mix))
        share = min(1.0, max(LEAST_SHARE, LEAST_PROXY_S / mix.seconds)) if mix.seconds > 0 else 1.0
        mix_path, script = directory / "application.mix", directory / "replay.sh"
        mix_file.write(shared(mix, share), mix_path)
        command = [str(config.tuner.libexec / PROGRAM), str(mix_path)]
        private_files.write_text(script, replay_script(read_script(asked.script), command))
    except OSError as error:
        raise ProxyError(f"{error.filename or directory}: {error.strerror or error}") from error
    return script


def recordings(directory: Path) -> int:
    """Return the number of runs started to record the application in a proxy's `directory`, including failed runs."""
    return int((directory / RUN / CLAIM).is_symlink())


def _recorder(
    asked: Asked, config: Config, executor: Executor, timeout_s: float, warn: Callable[[str], None]
) -> Callable[[Path], Mix]:
    """Return the function that makes the mix of calls to replay, from the trace or a run recorded in a directory."""
    if trace := asked.trace:
        return lambda _: otf2_mix.mix_of(trace, warn)
    application = Application(asked.script, asked.directory, asked.options)
    plan = recorded_run.recording(application, config, timeout_s)
    return lambda directory: recorded_run.record(plan, executor, directory)
