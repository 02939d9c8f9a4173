# SPDX-License-Identifier: Apache-2.0
"""Kinds of MPI calls in the witness's traces, and the call that a replay makes for each kind."""

from __future__ import annotations

# Each of these dictionaries maps kinds of calls in the trace to the calls that a replay makes.
SENDS = {"send": "send", "bsend": "send", "rsend": "send", "ssend": "ssend"}
ISENDS = {"isend": "isend", "ibsend": "isend", "irsend": "isend", "issend": "issend"}
RECEIVES = {"recv": "recv", "mrecv": "recv", "irecv": "irecv", "imrecv": "irecv"}
BOTH = {"sendrecv": "sendrecv", "sendrecv_replace": "sendrecv"}
PREPARED = {
    "send_init": "isend",
    "bsend_init": "isend",
    "rsend_init": "isend",
    "ssend_init": "issend",
    "recv_init": "irecv",
}
MESSAGES = SENDS | ISENDS | RECEIVES | BOTH | PREPARED

WHOLE = frozenset(["bcast", "reduce", "allreduce", "scan", "exscan"])
PARTS = frozenset(["gather", "scatter", "allgather", "alltoall", "reduce_scatter_block"])
COUNTED = frozenset(["gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter"])
COLLECTIVES = WHOLE | PARTS | COUNTED | {"barrier"}
ROOTED = frozenset(["bcast", "reduce", "gather", "scatter", "gatherv", "scatterv"])

NEIGHBORHOOD = frozenset(
    f"{request}neighbor_{kind}"
    for request in ("", "i")
    for kind in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
)
"""Collectives between neighbors, which a replay makes as messages, as Open MPI itself does."""

REDUCING = frozenset(["reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"])

MAKING = {
    "comm_dup": "comm_dup",
    "comm_dup_with_info": "comm_dup",
    "comm_split": "comm_split",
    "comm_split_type": "comm_split",
    "cart_sub": "comm_split",
    "cart_create": "cart_create",
    "comm_create": "comm_create",
    "graph_create": "comm_split",
    "dist_graph_create": "comm_split",
    "dist_graph_create_adjacent": "comm_split",
}
"""Calls that communicate to create a communicator, and the call that a replay makes for each.

Communicators created by other calls exist from the start of a replay.
"""

LOCAL = (
    "init",
    "finalize",
    "comm_",
    "cart_",
    "graph_",
    "dist_graph_",
    "intercomm_",
    "probe",
    "iprobe",
    "mprobe",
    "improbe",
    "cancel",
    "request_",
)
"""Prefixes of kinds that a replay omits because they send nothing; their duration does not count as computation."""
