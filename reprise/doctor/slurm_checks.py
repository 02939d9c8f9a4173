# SPDX-License-Identifier: Apache-2.0
"""Query Slurm for its release, its paths and its settings."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reprise.doctor.findings import Finding, ok, problem, warning
from reprise.doctor.plugin_loading import package_of
from reprise.doctor.probes import Run
from reprise.matcher.wire.munge import LIBRARY

DEFAULT_CONF = Path("/etc/slurm/slurm.conf")
# Directories in which packages install Slurm's plugins, used if Slurm itself does not answer.
PLUGIN_DIRECTORIES = (
    "/usr/lib/*/slurm-wlm",
    "/usr/lib64/slurm",
    "/usr/lib/*/slurm",
    "/usr/lib/slurm",
    "/usr/local/lib/slurm",
)

Version = tuple[int, int, int]


@dataclass(frozen=True)
class Slurm:
    """Version, paths and settings of this host's Slurm; "" for a setting that Slurm does not report."""

    version: Version | None
    plugin_directories: tuple[Path, ...]
    plugstack: Path
    cluster: str = ""
    auth_type: str = ""


def look(run: Run) -> tuple[list[Finding], Slurm]:
    """Query Slurm for its version and paths, and return them together with findings.

    For paths that Slurm does not report, the usual paths of packages are returned.
    """
    findings = []
    ran = run(["sbatch", "--version"])
    version = read_version(ran.stdout) if ran.status == 0 else None
    if version is None:
        remedy = "install Slurm's commands and configuration on this host"
        if "auth plugin" in ran.complaint:  # which cannot be loaded without munge's library
            remedy = f"install what Slurm's AuthType needs: for auth/munge, {package_of(LIBRARY)}"
        findings.append(problem("slurm", f"`sbatch --version` failed ({ran.complaint})", remedy))
    else:
        findings.append(ok("slurm", "{}.{:02}.{}".format(*version)))
    shown = run(["scontrol", "show", "config"])
    if shown.status != 0 and version is not None:
        remedy = "start slurmctld, or correct this host's slurm.conf"
        findings.append(warning("slurm", f"`scontrol show config` failed ({shown.complaint})", remedy))
    settings = read_settings(shown.stdout) if shown.status == 0 else {}
    conf = Path(settings.get("SLURM_CONF", DEFAULT_CONF))
    stack = Path(settings.get("PlugStackConfig", conf.parent / "plugstack.conf"))
    directories = settings.get("PluginDir", "").split(":") if settings.get("PluginDir") else _usual_directories()
    names = (settings.get("ClusterName", "").lower(), settings.get("AuthType", ""))
    return findings, Slurm(version, tuple(Path(name) for name in directories), stack, *names)


def cluster(named: str, slurm: Slurm) -> Iterator[Finding]:
    """Check that `named`, the value of `site.cluster`, is Slurm's ClusterName, if Slurm reports it.

    Campaigns store `site.cluster` in their records, but jobs that have started report Slurm's own name.
    """
    if not slurm.cluster:
        return
    if named == slurm.cluster:
        yield ok("cluster", named)
        return
    text = (
        f"site.cluster is {named!r}, but Slurm's ClusterName is {slurm.cluster!r}, so jobs that are decided when they "
        "start match no record, and their decisions are stored under another cluster"
    )
    remedy = f'set `cluster = "{slurm.cluster}"` in [site] of reprise.toml, then restart the matcher'
    yield problem("cluster", text, remedy)


def _usual_directories() -> list[str]:
    return [name for pattern in PLUGIN_DIRECTORIES for name in sorted(glob.glob(pattern))]  # noqa: PTH207 (absolute)


def read_version(text: str) -> Version | None:
    """Return the version in the output of a Slurm command, such as "slurm-wlm 22.05.8" or "slurm 23.11.0-rc1"."""
    match = re.search(r"\b(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def read_settings(text: str) -> dict[str, str]:
    """Return the settings in the output of `scontrol show config` that have a value."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs if value.strip() not in ("", "(null)", "N/A")}
