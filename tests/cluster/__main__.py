# SPDX-License-Identifier: Apache-2.0
"""`make cluster`: open a shell on a virtual Slurm cluster with Reprise."""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import Daemon, install
from tests.waiting import NotSeenError

WELCOME = """\
This Slurm cluster is yours until you leave this shell: {network}. You are {user}.
  sinfo                      the nodes
  sbatch --wrap hostname     a job; its output is in slurm-<job>.out
  reprise --help             what Reprise can do (its daemon runs; its log: /var/log/reprise/matcher.log)
From another terminal, `nsenter --target {pid} --all bash` enters as root.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--rate", default="1gbit", help="Rate of every link, in tc syntax (default: %(default)s)")
    parser.add_argument(
        "--latency",
        type=int,
        default=0,
        metavar="US",
        help="Additional latency between nodes, in microseconds (default: %(default)s)",
    )
    parser.add_argument("--user", default="alice", choices=["alice", "bob", "carol", "reprise", "root"])
    options = parser.parse_args()
    try:
        with VirtualCluster(options.nodes, options.rate, options.latency) as cluster:
            install(cluster)
            with Daemon(cluster):
                print(WELCOME.format(network=cluster.describe(), user=options.user, pid=cluster.pid))
                return subprocess.run(cluster.command(["bash", "-i"], user=options.user), check=False).returncode
    except (ClusterError, NotSeenError) as error:
        print(f"make cluster: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
