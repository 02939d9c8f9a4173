# SPDX-License-Identifier: Apache-2.0
"""Values for tests of MPICH's collectives: a library with a small table, and a runner that acts like MPICH."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reprise.tuner.model.component import Runner, TrialOutput, TrialPlan
from reprise.tuner.mpich.installed_library import MpichLibrary
from reprise.tuner.mpich.mpich_catalogue import CATALOGUE, full_name
from reprise.tuner.mpich.selection_reader import Call, StopsProgram, selected

FILE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"


def chosen(name: str) -> dict[str, Any]:
    return {f"algorithm=MPIR_{name}": {}}


def intra(tree: dict[str, Any], inter: str) -> dict[str, Any]:
    return {"comm_type=intra": tree, "comm_type=inter": chosen(inter)}


def ends(key: str, bound: int, small: str, large: str) -> dict[str, Any]:
    return {f"{key}<={bound}": chosen(small), f"{key}=any": chosen(large)}


TABLE: dict[str, Any] = {
    "collective=bcast": intra(
        {
            "comm_size<8": chosen("Bcast_intra_binomial"),
            "comm_size=any": ends("avg_msg_size", 12288, "Bcast_intra_binomial", "Bcast_intra_scatter_ring_allgather"),
        },
        "Bcast_inter_remote_send_local_bcast",
    ),
    "collective=allreduce": intra(
        {
            "is_op_built_in=no": chosen("Allreduce_intra_recursive_doubling"),
            "is_op_built_in=yes": {
                "count<pow2": chosen("Allreduce_intra_recursive_doubling"),
                "count=any": chosen("Allreduce_intra_reduce_scatter_allgather"),
            },
        },
        "Allreduce_inter_reduce_exchange_bcast",
    ),
    "collective=alltoall": intra(
        {
            "is_sendbuf_inplace=yes": chosen("Alltoall_intra_pairwise_sendrecv_replace"),
            "is_sendbuf_inplace=no": ends("avg_msg_size", 256, "Alltoall_intra_brucks", "Alltoall_intra_pairwise"),
        },
        "Alltoall_inter_pairwise_exchange",
    ),
    "collective=allgather": intra(
        ends("total_msg_size", 81919, "Allgather_intra_brucks", "Allgather_intra_ring"),
        "Allgather_inter_local_gather_remote_bcast",
    ),
    "collective=barrier": intra(chosen("Barrier_intra_dissemination"), "Barrier_inter_bcast"),
    "collective=gather": intra(chosen("Gather_intra_binomial"), "Gather_inter_linear"),
}
NAMES = frozenset(full_name(name, algorithm) for name, of in CATALOGUE.items() for algorithm in of.algorithms)
LIBRARY = MpichLibrary("4.0.2", "/usr/lib/libmpich.so.12", TABLE, NAMES)


def mpich(reader: Callable[[str], dict[str, Any]] = json.loads) -> Runner:
    """Return a runner that acts like the probe on MPICH, with `reader` as the reader of selection files.

    The program fails at a call for which the file selects an algorithm of another collective. Otherwise, its
    output does not show which algorithm was used.
    """

    def run(plan: TrialPlan) -> TrialOutput:
        table = reader(Path(plan.environment[FILE]).read_text())
        lines: list[str] = []
        for word in plan.argv[1:]:
            name, size, ranks = word.split(":")
            call = Call(name, int(size), int(ranks), count=int(size) // 4)
            try:
                ours = selected(table, call).lower().startswith(f"mpir_{name}_")
            except StopsProgram as error:
                return TrialOutput(1, "\n".join(lines), str(error), 0.1)
            if not ours:
                return TrialOutput(1, "\n".join(lines), "Assertion failed in file mpir_coll.c", 0.1)
            lines.append(json.dumps({"collective": name, "size": int(size), "ranks": int(ranks), "rc": 0}))
        return TrialOutput(0, "\n".join(lines), "", 0.1)

    return run
