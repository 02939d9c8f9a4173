# SPDX-License-Identifier: Apache-2.0
"""Check that Slurm loads Reprise's plugin.

Since Slurm 22.05, the symbol `plugin_version` of a SPANK plugin must contain the first two numbers of the running
Slurm's release (`_verify_syms` in Slurm's src/common/plugin.c). Slurm searches its plugin directories for a plugin with
a relative name, and passes over files that it cannot load.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reprise.doctor import elf
from reprise.doctor.findings import Finding, Level, ok, problem
from reprise.doctor.plugin_loading import Load, load
from reprise.doctor.plugstack import PLUGIN, Entry
from reprise.doctor.probes import hidden_by
from reprise.doctor.slurm_checks import Slurm, Version

CHECK = "plugin"
COMPARES = (22, 5)  # first release of Slurm that compares a SPANK plugin's release with its own
IS_SILENT = (25, 11)  # first release of Slurm that prints nothing about an optional plugin that does not load


def plugin(slurm: Slurm, entry: Entry | None, load: Load = load) -> Finding:
    """Check that Slurm finds and loads the plugin, and that every user can read it. `load` loads a plugin."""
    named = Path(entry.plugin if entry else PLUGIN)
    places = [named] if named.is_absolute() else [directory / named for directory in slurm.plugin_directories]
    findings = [_at(place, slurm.version, load) for place in places if place.exists()]
    if not findings:
        where = ", ".join(str(place.parent) for place in places) or "no plugin directory of Slurm"
        return problem(CHECK, f"{named.name} is not in {where}", "run `make install-plugin`")
    return next((finding for finding in findings if finding.level is Level.OK), findings[0])


def _at(path: Path, slurm: Version | None, load: Load) -> Finding:
    """Check the plugin at `path`."""
    remedy = "run `make install-plugin`"
    try:
        hidden = hidden_by(path)
        machine, own = elf.machine(path), elf.machine(Path(sys.executable))
        number = elf.unsigned_int(path, "plugin_version") if machine == own else 0
    except OSError as error:
        return problem(CHECK, f"{path} cannot be read ({error.strerror})", remedy)
    except ValueError as error:
        return problem(CHECK, f"{path} {error}", remedy)
    if hidden:
        return problem(CHECK, f"not every user can read {path}", f"chmod a+rX {hidden}")
    if machine != own:
        text = f"{path} was built for {machine}, but this host is {own}{_seen(slurm)}"
        return problem(CHECK, text, "run `make install-plugin` on a host with this architecture")
    built = (number >> 16, number >> 8 & 0xFF)
    if slurm and built != slurm[:2]:
        text = "{} was built for Slurm {}.{:02}, but this is {}.{:02}".format(path, *built, *slurm[:2])
        remedy = "install this release's headers, then run `make install-plugin`"
        return problem(CHECK, text + _seen_of_foreign(slurm), remedy)
    if fault := load(path):
        return problem(CHECK, f"{path} {fault[0]}{_seen(slurm)}", fault[1])
    return ok(CHECK, "{}, built for Slurm {}.{:02}".format(path, *built))


def _seen(slurm: Version | None) -> str:
    """Return what users see of a plugin that does not load, as the end of a sentence; "" if unknown."""
    if not slurm:
        return ""
    if slurm[:2] >= IS_SILENT:
        return "; Slurm prints nothing about it, and refuses jobs with --reprise="
    return "; Slurm's commands print errors to every user, and refuse jobs with --reprise="


def _seen_of_foreign(slurm: Version) -> str:
    """Return what users see of a plugin that was built for another release, as the end of a sentence."""
    if slurm[:2] < COMPARES:
        return "; Slurm loads it, but it does nothing"
    if slurm[:2] >= IS_SILENT:  # as measured with 26.05
        return '; Slurm\'s commands print only the line "Incompatible Slurm plugin", and refuse jobs with --reprise='
    return _seen(slurm)
