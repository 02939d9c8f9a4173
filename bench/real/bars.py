# SPDX-License-Identifier: Apache-2.0
"""The final JSON object of `bench.real`, computed from the stored results alone; `__main__.py` describes its keys."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.real.kept_results import Kept
from bench.real.looking import WORTH as WORTH_TRYING
from bench.real.looking import is_worth
from bench.real.promises import WORTH, Promise
from reprise.tuner.proxy.agreement import TOLERANCE

RUNS, GAINS, PROMISE, OVERHEAD, LOOK = "runs", "gains", "promise", "overhead", "look"
"""The names of the parts of a program's result."""


def line(results: Sequence[Kept], network: str) -> dict[str, Any]:
    """Return the final JSON object; keys without measurements have the value None."""
    there = [one for one in results if one.counted]
    promises = {name: Promise.of(found) for name, found in _of(there, PROMISE).items()}
    looks = _of(there, LOOK)
    overheads = {name: found["percent"] for name, found in _of(there, OVERHEAD).items()}
    return {
        "network": network,
        "code": {one.program: sorted({part["code"] for part in one.counted.values()}) for one in there},
        "outdated": [one.program for one in results if one.is_outdated],
        "wrong": [one.program for one in there if one.failed],
        "seconds": _of(there, RUNS),
        "gains": _of(there, GAINS),
        **of_promises(promises),
        **of_looks(looks, promises),
        "overheads": overheads,
        "profile_overhead_pct": _median([percent[0] for percent in overheads.values()]),
    }


def of_promises(promises: Mapping[str, Promise]) -> dict[str, Any]:
    """Return the part of the final JSON object that compares promised with measured gains."""
    given = [one for one in promises.values() if one.promised]
    gained = [one for one in given if one.kept and one.kept[0] >= WORTH and one.is_beyond_noise]
    by_mpi = [one.by_communication for one in given if one.by_communication and one.by_communication[1] > 0]
    campaigns = [one for one in promises.values() if one.campaign]
    proxies = [(one.proxy_loss, one.proxy) for one in campaigns if one.proxy_loss and one.proxy]
    agreed = [loss[0] <= TOLERANCE for loss, _ in proxies]
    used = [loss[0] <= TOLERANCE for loss, proxy in proxies if proxy.get("used", True)]
    beyond = [loss for loss, _ in proxies if loss[1] > TOLERANCE]
    return {
        "promises": {name: _shown(one) for name, one in promises.items()},
        "claims": len(given),
        "claims_held": _share([one.is_held for one in given]),
        "false_claims": sum(one.is_false for one in given) if promises else None,
        "slower": sum(bool(one.kept and one.kept[2] < 0) for one in given) if promises else None,
        "gained": len(gained) if promises else None,
        "mpi_gained": len(by_mpi) if promises else None,
        "mpi_gained_10pct": sum(gain[0] >= WORTH for gain in by_mpi) if promises else None,
        "cost_runs": _median([one.runs for one in campaigns]),
        "cost_runs_with_proxy": _median([one.all_runs for one in campaigns]),
        "proxies": len(proxies),
        "proxy_agreement": _share(agreed),
        "proxies_used": len(used),
        "proxy_agreement_used": _share(used),
        "proxy_disagrees_beyond_noise": len(beyond) if proxies else None,
    }


@dataclass(frozen=True)
class Judged:
    """Names of a program's components, classified by whether the profile's verdict agrees with the result of the look.

    `cannot` lists the components in `false_yes` that the program cannot use at all.
    """

    right: Sequence[str]
    false_yes: Sequence[str]
    false_no: Sequence[str]
    cannot: Sequence[str]
    unknown: Sequence[str]


def judged(look: Mapping[str, Any]) -> Judged:
    """Compare the profile's verdicts with the gains that a look found.

    A component that jobs on this cluster can use is worth trying if and only if at least one of its settings gained 5 %
    or more, beyond noise, when it was measured again.
    """
    gaining = {one["component"] for one in look["again"].values() if is_worth(one["gain"])}
    known = {
        name: worth
        for name, worth in look["verdicts"].items()
        if name not in look["excluded"] and name not in look["unknown"]
    }
    false_yes = [name for name, worth in known.items() if worth and name not in gaining]
    return Judged(
        [name for name, worth in known.items() if worth == (name in gaining)],
        false_yes,
        [name for name, worth in known.items() if not worth and name in gaining],
        [name for name in false_yes if name in look["inapplicable"]],
        look["unknown"],
    )


def of_looks(looks: Mapping[str, Any], promises: Mapping[str, Promise]) -> dict[str, Any]:
    """Return the part of the final JSON object that is about looks, the exhaustive searches for gains."""
    found = {name: judged(look) for name, look in looks.items()}
    right, false_yes, false_no, cannot, unknown = (
        sum(len(getattr(one, key)) for one in found.values())
        for key in ("right", "false_yes", "false_no", "cannot", "unknown")
    )
    pairs = right + false_yes + false_no
    oracle = {name: _oracle(look, promises.get(name)) for name, look in looks.items()}
    shares = [one["share"] for one in oracle.values() if one["share"] is not None]
    return {
        "looks": {
            name: {**vars(one), "oracle": oracle[name], "runs": looks[name]["runs"]} for name, one in found.items()
        },
        "verdict_pairs": pairs,
        "verdict_right": round(right / pairs, 3) if pairs else None,
        "verdict_false_yes": false_yes if pairs else None,
        "verdict_cannot": cannot if pairs else None,
        "verdict_false_no": false_no if pairs else None,
        "verdict_unknown": unknown if pairs else None,
        "oracle_programs": len(shares),
        "oracle_share": round(statistics.mean(shares), 3) if shares else None,
    }


def _oracle(look: Mapping[str, Any], promise: Promise | None) -> dict[str, Any]:
    """Return the best gain, the users' gain, and their ratio (None if the best gain is too small or within noise)."""
    best = look["best"] or {"settings": [], "gain": [0.0, 0.0, 0.0]}
    delivered = None if promise is None else promise.kept[0] if promise.kept else 0.0
    counts = best["gain"][1] > 0 and best["gain"][0] > WORTH_TRYING and delivered is not None
    share = min(1.0, max(0.0, delivered or 0.0) / best["gain"][0]) if counts else None
    return {"settings": best["settings"], "gain": best["gain"], "delivered": delivered, "share": share}


def _of(results: Sequence[Kept], part: str) -> dict[str, Any]:
    return {one.program: one.found(part) for one in results if one.found(part) is not None}


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _share(held: Sequence[bool]) -> float | None:
    return round(sum(held) / len(held), 3) if held else None


def _shown(one: Promise) -> dict[str, Any]:
    gains = {
        "promised": one.promised,
        "kept": one.kept,
        "by_communication": one.by_communication,
        "proxy_loss": one.proxy_loss,
    }
    bounds = {name: found and [round(bound, 4) for bound in found] for name, found in gains.items()}
    used = one.proxy.get("used") if one.proxy else None
    return {"kind": one.kind, "runs": one.runs, "settings": one.settings, **bounds, "proxy_used": used}
