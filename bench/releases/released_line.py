# SPDX-License-Identifier: Apache-2.0
"""The final JSON object of `bench.releases`, computed from its parts' results; `__main__.py` describes the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.releases.mpi_families import FAMILIES
from bench.releases.stored_parts import Part

MPICH, OPEN_MPI_6 = "mpich", "openmpi-6"
WITHOUT_MUNGE = "without munge"


def line(parts: Mapping[str, Part | None]) -> dict[str, Any]:
    """Return the final JSON object; `parts` has None for a part that has not run."""
    ran = {name: part for name, part in parts.items() if part}
    found = {name: part.found for name, part in ran.items()}
    gains = {name: found[name]["gains"] for name in FAMILIES if "gains" in found.get(name, {})}
    checked = found.get("matrix", {}).get("results", [])
    broken = {one["software"]: one["checks"] - one["passed"] for one in checked if one["passed"] < one["checks"]}
    campaigns = [f"{name}: {part.failed}" for name, part in ran.items() if part.failed]
    campaigns += [f"{name}: no matched job" for name in FAMILIES if name in ran and not matched(ran[name])]
    munge = [one for one in checked if WITHOUT_MUNGE in one["software"]]
    return {
        "releases": releases(found),
        "failures": sum(broken.values()) + len(campaigns) if ran else None,
        "mpich_gain": best(gains, MPICH),
        "ompi6_gain": best(gains, OPEN_MPI_6),
        "wrong_mpi": found.get("scripts", {}).get("wrong_mpi"),
        "wrong_mpi_scripts": found.get("scripts", {}).get("wrong_mpi_scripts"),
        "nomunge_ok": all(one["passed"] == one["checks"] for one in munge) if munge else None,
        "install_commands": found.get("packages", {}).get("install_commands"),
        "gains": {
            name: {call: [round(bound, 4) for bound in gain] for call, gain in of.items()} for name, of in gains.items()
        },
        "failed": [*(f"{name}: {count} checks" for name, count in broken.items()), *campaigns],
        "missing": [name for name, part in parts.items() if not part],
    }


def matched(part: Part) -> bool:
    """Return whether all jobs of a campaign's part got the settings; True if the part failed, which counts as such."""
    return bool(part.failed or part.found.get("matched"))


def best(gains: Mapping[str, Mapping[str, list[float]]], kind: str) -> list[float] | None:
    """Return the gain with the largest lower bound, of the releases whose names begin with `kind`; None without any."""
    known = [gain for name, of in gains.items() if name.startswith(kind) for gain in of.values()]
    return [round(bound, 4) for bound in max(known, key=lambda gain: gain[1])] if known else None


def releases(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the releases of Slurm and of MPI implementations with which checks or campaigns ran."""
    checked = {one["software"] for one in found.get("matrix", {}).get("results", [])}
    tuned = {
        f"{family.name.rsplit(' ', 1)[0]} {found[name]['release']}"
        for name, family in FAMILIES.items()
        if "release" in found.get(name, {})
    }
    return sorted({name for name in checked if name.startswith(("Slurm", "Open MPI"))} | tuned)
