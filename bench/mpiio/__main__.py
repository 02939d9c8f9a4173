# SPDX-License-Identifier: Apache-2.0
"""Compare tuning of MPI-IO by search and by prediction: `make bench-mpiio` (needs root).

    python -m bench.mpiio [--kernels strided,s3d,btio,genericio] [--budget 20] [--seed 1]

On a virtual cluster, campaigns with the component `romio` tune each kernel of bench/mpiio at some sizes and layouts.
This is the method ExAct of Agarwal et al. 2019: TPE with few random points, then new runs that compare the winner with
the default. Models are fitted to the measurements. For sizes in between, the models choose a setting, which is compared
with the default once (the method PrAct). Afterwards, other campaigns search these sizes as well; the models do not get
the measurements of these campaigns. The accuracy gate checks models on held-out sizes. If it refuses the model of
writing or of reading, only the other part (reading or writing) counts for the sizes in between, both in predictions and
in campaigns.

| key | meaning |
|---|---|
| `exact_gain` | for each kernel, the mean gain of its campaigns over the default; 0 if none is beyond noise |
| `mdape`, `refused` | for each kernel and part, the model's median error on held-out sizes, and the gate's reason if it
refuses the model |
| `pract_gain_share` | the sum of the gains of predicted settings, divided by the sum of the gains of campaigns for the
same sizes |
| `pract_time_ratio` | the median time of a prediction, with xgboost loaded, divided by the median time of a campaign |
| `slower_records` | the number of records whose jobs are slower than the default beyond noise, in new pairs of jobs |

The last line of output is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import yaml

from bench.mpiio.plan import PARTS, Kernel, Size, all_sizes, campaign, kernels, script
from bench.scenario.scenario_cluster import inside
from bench.small_reads import ROOT
from reprise.tuner.model.statistics import paired_gain
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import Daemon, install

USER = "alice"
NODES = 4
INITIAL = 5
PAIRS = 4
TIME = re.compile(r"^(?:write|read): ([\d.]+) s", re.MULTILINE)
LONGEST_S = 3600


def place(size: Size) -> str:
    """Return the directory on the cluster for the script and the output of a size."""
    return f"/home/{USER}/{size.name}"


def prepare(cluster: VirtualCluster, chosen: Sequence[Kernel]) -> None:
    """Install Reprise with prediction enabled, and write the batch scripts for all sizes."""
    install(cluster)
    config = cluster.path("/etc/reprise/reprise.toml")
    config.write_text(config.read_text().replace("predicted = false", "predicted = true"))
    program = inside(ROOT / "bench/mpiio/mpiio")
    for size in all_sizes(chosen):
        cluster.write(f"{place(size)}/{size.name}.sh", script(size, program), user=USER, mode=0o755)
        cluster.run(["chmod", "777", place(size)])  # writable for trials, which run as the user `reprise`


def command(cluster: VirtualCluster, *words: str) -> tuple[Any, float, str]:
    """Run `reprise tune`; return its last line as JSON (None if it failed), its duration in seconds, and its stderr."""
    begun = time.monotonic()
    done = cluster.run(["reprise", "tune", *words, "--json"], user="reprise", timeout_s=LONGEST_S, check=False)
    lines = done.stdout.splitlines()
    told = json.loads(lines[-1]) if done.returncode == 0 and lines else None
    return told, time.monotonic() - begun, done.stderr.strip()


def file_of(
    cluster: VirtualCluster, size: Size, family: str, given: argparse.Namespace, counted: Collection[str]
) -> str:
    """Write the campaign file for a size, and return the file's path."""
    path = f"/home/reprise/{family}-{size.name}.yaml"
    search = {"initial": INITIAL, "budget": given.budget, "seed": given.seed}
    described = campaign(size, f"{place(size)}/{size.name}.sh", USER, family, search, counted)
    cluster.write(path, yaml.safe_dump(described), user="reprise")
    return path


def gain_of(told: Mapping[str, Any]) -> float:
    """Return the gain of a campaign from its report, or 0 if the gain is not beyond noise."""
    compared = told["problems"][0]["comparison"]
    return float(compared["gain"]) if compared and compared["gain_low"] > 0 else 0.0


def searched(
    cluster: VirtualCluster, size: Size, family: str, given: argparse.Namespace, counted: Collection[str] = PARTS
) -> tuple[float, float, int | None]:
    """Run a campaign; return its gain, its duration in seconds, and the id of its record, if any."""
    told, seconds, complaint = command(cluster, "run", file_of(cluster, size, family, given, counted), "--yes")
    if told is None:
        raise ClusterError(f"the campaign of {size.name} failed: {complaint}")
    say(f"{size.name}: gain {gain_of(told):.1%} by search, {seconds:.0f} s")
    return gain_of(told), seconds, told["record"]


def seconds_of(cluster: VirtualCluster, size: Size, *words: str) -> float:
    """Run a job of this size and return the total time of its two passes, writing and reading, in seconds."""
    number = cluster.submit(f"{size.name}.sh", *words, user=USER, cwd=place(size))
    end = cluster.wait_job(number, timeout_s=300)
    found = TIME.findall(cluster.path(f"{place(size)}/{size.name}-{number}.out").read_text())
    if len(found) != 2:
        raise ClusterError(f"job {number} of {size.name} is {end.state} and printed no times: {end.output[-300:]}")
    return sum(map(float, found))


def is_slower(cluster: VirtualCluster, size: Size, rng: random.Random) -> bool:
    """Run pairs of jobs; return whether jobs with the record are slower than with --reprise=off, beyond noise."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(PAIRS):
        for given in rng.sample((False, True), 2):
            times[given].append(seconds_of(cluster, size, *(() if given else ("--reprise=off",))))
    gain, low, high = paired_gain(times[False], times[True])
    say(f"{size.name}: gain {gain:.1%} ({low:.1%} to {high:.1%}) of jobs")
    return high < 0


def measure(chosen: Sequence[Kernel], given: argparse.Namespace) -> dict[str, Any]:
    """Tune the kernels by search and by prediction, and return the JSON object."""
    rng = random.Random(given.seed)  # noqa: S311 - not used for security
    exact: dict[str, float] = {}
    models: dict[str, list[dict[str, Any]]] = {}
    asked: list[tuple[float, float, float, float]] = []  # gain and seconds of a prediction, then of a search
    recorded: list[Size] = []
    with VirtualCluster(nodes=NODES) as cluster:
        prepare(cluster, chosen)
        for kernel in chosen:
            ran = [(size, searched(cluster, size, kernel.name, given)) for size in kernel.known]
            exact[kernel.name] = statistics.fmean(gain for _, (gain, _, _) in ran)
            recorded += [size for size, (_, _, record) in ran if record]
            trained, _, _ = command(cluster, "predict", "train", kernel.name)
            models[kernel.name] = trained or []
            counted = [one["target"] for one in models[kernel.name] if not one["refused"]]
            say(f"{kernel.name}: {[(one['target'], one['mdape'], one['refused']) for one in models[kernel.name]]}")
            for size in kernel.unseen if counted else ():
                path = file_of(cluster, size, kernel.name, given, counted)
                told, _, complaint = command(cluster, "predict", "search", path)
                if told is None:
                    say(f"{size.name}: not predicted: {complaint}")
                    continue
                verified, _, complaint = command(cluster, "predict", "search", path, "--verify")
                if verified is None:
                    raise ClusterError(f"the comparison of {size.name} failed: {complaint}")
                gain = gain_of(verified) if "problems" in verified else 0.0
                recorded += [size] if verified.get("record") else []
                say(f"{size.name}: gain {gain:.1%} by prediction, {told['search_s']:.1f} s")
                by_search, seconds, record = searched(cluster, size, f"{kernel.name}-beside", given, counted)
                if record:  # retire the record, so that jobs get the predicted settings
                    cluster.run(["reprise", "records", "retire", str(record)], user="reprise")
                asked.append((gain, told["search_s"], by_search, seconds))
        with Daemon(cluster):
            slower = [size.name for size in recorded if is_slower(cluster, size, rng)]
    best = sum(by_search for _, _, by_search, _ in asked)
    return {
        "exact_gain": {name: round(gain, 4) for name, gain in exact.items()},
        "pract_gain_share": round(sum(gain for gain, *_ in asked) / best, 4) if best else None,
        "pract_time_ratio": round(statistics.median(took / beside for _, took, _, beside in asked), 5)
        if asked
        else None,
        "mdape": {
            name: {one["target"]: one["mdape"] for one in of if not one["refused"]} for name, of in models.items()
        },
        "slower_records": len(slower),
        "refused": {
            name: {one["target"]: one["refused"] for one in of if one["refused"]} for name, of in models.items()
        },
        "predicted_sizes": len(asked),
        "records": len(recorded),
        "slower": slower,
    }


def say(text: str) -> None:
    """Print a line of progress to standard error."""
    sys.stderr.write(text + "\n")


def main() -> None:
    """Run the benchmark and print its JSON object."""
    known = kernels()
    parser = argparse.ArgumentParser(
        prog="python -m bench.mpiio", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default=",".join(known))
    parser.add_argument("--budget", type=int, default=20, help="number of points for each campaign, more than 5")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    names = given.kernels.split(",")
    if wrong := [name for name in names if name not in known]:
        parser.error(f"--kernels: unknown kernel {wrong[0]}: use some of {', '.join(known)}")
    begun = time.monotonic()
    try:
        told = measure([known[name] for name in names], given)
    except ClusterError as error:
        sys.exit(f"bench.mpiio: {error}")
    sys.stdout.write(json.dumps(told | {"minutes": round((time.monotonic() - begun) / 60, 1)}) + "\n")


if __name__ == "__main__":
    main()
