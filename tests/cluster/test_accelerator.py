# SPDX-License-Identifier: Apache-2.0
"""Test the Small Read Optimizer in jobs: a campaign with the shipped component, and the user's next job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import SOURCE, Daemon, tune

pytestmark = pytest.mark.cluster

LIBRARY = "/usr/local/lib/libreprise_sro.so"
PLACE = "/home/alice/reader"
FILES = {
    "reader.sh": """\
#!/bin/bash
#SBATCH --job-name=reader --nodes=2 --ntasks-per-node=1 --output=reader-%j.out
./look script
srun --nodes=1 --ntasks=1 ./look step
LD_PRELOAD=$(ls /lib/*/libm.so.6) srun --nodes=1 --ntasks=1 ./list
mpirun ./look rank
./more
""",
    "look": f'#!/bin/bash\ngrep -q {LIBRARY} /proc/$$/maps && echo "loaded in $1"\nexit 0\n',
    "list": '#!/bin/bash\necho "list $LD_PRELOAD"\n',
    "more": """\
#!/bin/bash
if [ -e nested ]; then
  sbatch --wait --output=nested.out --wrap='echo "[$LD_PRELOAD] [$REPRISE_PRELOAD] [$SRO_DISABLE]"' >/dev/null
fi
[ "$SRO_DISABLE" = 0 ] || sleep 1
""",
}
CAMPAIGN = {
    "name": "reader",
    "component": "sro-alone",
    "settings": {
        "space": {
            "SRO_CLUSTER_THRESHOLD": 2,
            "SRO_DSC_BINSIZE": 1048576,
            "SRO_PREFETCH_SIZE": [1048576, 4194304],
            "SRO_SEQUENCE_LENGTH": 100,
        }
    },
    "application": {"script": f"{PLACE}/reader.sh", "user": "alice"},
    "search": {"method": "exhaustive", "budget": 2},
    "noise": {"policy": "none"},
    "repetitions": {"default_runs": 2, "final_pairs": 3},
    "executor": {"kind": "slurm", "max_trial_s": 60},
}


@pytest.fixture(scope="module")
def report(cluster: VirtualCluster) -> dict[str, Any]:
    cluster.run(["make", "-s", "-C", SOURCE, "install-accelerators"])
    component = yaml.safe_load(cluster.path("/etc/reprise/components/sro.yaml").read_text())
    component |= {"name": "sro-alone", "before": ""}  # drops no caches: the data is not on a disk, and no user has sudo
    cluster.write("/etc/reprise/components/sro-alone.yaml", yaml.safe_dump(component, sort_keys=False))
    for name, text in FILES.items():
        cluster.write(f"{PLACE}/{name}", text, user="alice", mode=0o755)
    result = tune(cluster, "/home/reprise/reader.yaml", CAMPAIGN)
    assert result["record"], result
    return result


@pytest.fixture
def daemon(cluster: VirtualCluster, report: dict[str, Any]) -> Iterator[Daemon]:
    with Daemon(cluster) as running:
        yield running


def run(cluster: VirtualCluster, *words: str) -> list[str]:
    end = cluster.wait_job(cluster.submit("reader.sh", *words, user="alice", cwd=PLACE))
    return cluster.path(f"{PLACE}/reader-{end.job_id}.out").read_text().splitlines()


def test_every_trial_had_the_library_loaded_where_its_job_was_to_have_it(
    cluster: VirtualCluster, report: dict[str, Any]
) -> None:
    said = [path.read_text() for path in cluster.path(report["directory"]).glob("reader.sh/*/stdout")]
    assert len(said) == 2 + 2 + 6
    assert all(text.count("loaded in rank\n") == 2 and "loaded in step\n" in text for text in said), said


def test_the_next_job_has_it_in_its_script_its_steps_and_its_ranks(cluster: VirtualCluster, daemon: Daemon) -> None:
    said = run(cluster)
    assert [said.count(f"loaded in {where}") for where in ("script", "step", "rank")] == [1, 1, 2], said
    (listed,) = [line for line in said if line.startswith("list ")]
    assert listed.endswith(f"/libm.so.6:{LIBRARY}"), (
        "the library is appended to the user's list, which is never replaced"
    )


def test_a_job_that_its_script_submits_does_not_inherit_it(cluster: VirtualCluster, daemon: Daemon) -> None:
    cluster.write(f"{PLACE}/nested", "", user="alice")
    run(cluster)
    assert cluster.path(f"{PLACE}/nested.out").read_text() == "[] [] []\n"
    cluster.path(f"{PLACE}/nested").unlink()


def test_a_user_who_says_no_has_none_of_it(cluster: VirtualCluster, daemon: Daemon) -> None:
    said = run(cluster, "--reprise=off")
    (listed,) = [line for line in said if line.startswith("list ")]
    assert listed.endswith("/libm.so.6") and not [line for line in said if line.startswith("loaded")]


def test_where_the_library_is_not_there_the_job_runs_as_it_is_and_explain_says_so(
    cluster: VirtualCluster, daemon: Daemon
) -> None:
    cluster.run(["mv", LIBRARY, f"{LIBRARY}.away"])
    try:
        end = cluster.wait_job(cluster.submit("reader.sh", user="alice", cwd=PLACE))
        said = cluster.path(f"{PLACE}/reader-{end.job_id}.out").read_text()
        assert "loaded" not in said and "preload" not in said.lower().replace("ld_preload", ""), said
        explained = cluster.run(["reprise", "match", "explain", str(end.job_id)], user="reprise").stdout
        assert "that the user cannot read on the node" in explained, explained
    finally:
        cluster.run(["mv", f"{LIBRARY}.away", LIBRARY])
