# SPDX-License-Identifier: Apache-2.0
"""Check that Slurm and Reprise's plugin are installed, and that the plugin was built for this release of Slurm."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path

from reprise.doctor import elf
from reprise.doctor.findings import Finding, ok, problem, warning
from reprise.doctor.plugstack import PLUGIN, Entry
from reprise.doctor.probes import Run, hidden_by

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
    """Version and paths of this host's Slurm."""

    version: Version | None
    plugin_directories: tuple[Path, ...]
    plugstack: Path


def look(run: Run) -> tuple[list[Finding], Slurm]:
    """Query Slurm for its version and paths, and return them together with findings.

    For paths that Slurm does not report, the usual paths of packages are returned.
    """
    findings = []
    ran = run(["sbatch", "--version"])
    version = read_version(ran.stdout) if ran.status == 0 else None
    if version is None:
        remedy = "install Slurm's commands and configuration on this host"
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
    return findings, Slurm(version, tuple(Path(name) for name in directories), stack)


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


def plugin(slurm: Slurm, entry: Entry | None) -> Finding:
    """Check that the plugin is in Slurm's plugin directory, is readable, and was built for this release of Slurm."""
    named = Path(entry.plugin if entry else PLUGIN)
    places = [named] if named.is_absolute() else [directory / named for directory in slurm.plugin_directories]
    remedy = "run `make install-plugin`"
    found = next((place for place in places if place.exists()), None)
    if found is None:
        where = ", ".join(str(place.parent) for place in places) or "no plugin directory of Slurm"
        return problem("plugin", f"{named.name} is not in {where}", remedy)
    try:
        hidden = hidden_by(found)
        number = elf.unsigned_int(found, "plugin_version")
    except OSError as error:
        return problem("plugin", f"{found} cannot be read ({error.strerror})", remedy)
    except ValueError as error:
        return problem("plugin", f"{found} {error}", remedy)
    if hidden:
        return problem("plugin", f"not every user can read {found}", f"chmod a+rX {hidden}")
    built = (number >> 16, number >> 8 & 0xFF, number & 0xFF)
    if slurm.version and built[:2] != slurm.version[:2]:
        text = "{} was built for Slurm {}.{:02}, but this is {}.{:02}".format(found, *built[:2], *slurm.version[:2])
        return problem("plugin", text, "install this release's headers, then run `make install-plugin`")
    return ok("plugin", "{}, built for Slurm {}.{:02}".format(found, *built[:2]))
