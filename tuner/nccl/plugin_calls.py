# SPDX-License-Identifier: Apache-2.0
"""Program that asks a tuner plugin for its decisions, as NCCL would; it needs no GPU.

It is a process of its own, because a plugin that was built wrongly may end its process. The question, a JSON object, is
read from standard input: `library` is the path of the plugin, and each of `calls` has the numbers of NCCL's interface.
The answer is printed. Versions 4 to 6 of the interface are known; 4 initializes a plugin differently.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

ALGORITHMS, PROTOCOLS = 7, 3
# Costs of a usable combination, of the combination that the plugin chose, and of one that NCCL cannot use.
COST, CHOSEN, IGNORED = 5.0, 0.0, -1.0
VERSIONS = (6, 5, 4)

_INIT = {
    4: ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    ),
    5: ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_uint64,
        ctypes.c_size_t,
        ctypes.c_size_t,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ),
}
_GET_COLL_INFO = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_int),
)


class _Plugin(ctypes.Structure):
    """The first members of a plugin's table, which are the same in versions 4 to 6."""

    _fields_ = (("name", ctypes.c_char_p), ("init", ctypes.c_void_p), ("get_coll_info", ctypes.c_void_p))


def answers(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plugin's version, and its answer to each call as the numbers (algorithm, protocol, channels).

    Algorithm and protocol are -1 if the plugin chose none. Raise ValueError if the library is no such plugin, and
    OSError if it cannot be loaded.
    """
    library = ctypes.CDLL(question["library"])
    version, plugin = _table(library)
    contexts: dict[tuple[int, int], ctypes.c_void_p] = {}
    found = []
    for call in question["calls"]:
        shape = call["ranks"], call["nodes"]
        if shape not in contexts:
            contexts[shape] = _context(plugin, version, *shape)
        found.append(_answer(plugin, contexts[shape], call))
    return {"version": version, "answers": found}


def _table(library: ctypes.CDLL) -> tuple[int, _Plugin]:
    for version in VERSIONS:
        try:
            return version, _Plugin.in_dll(library, f"ncclTunerPlugin_v{version}")
        except ValueError:
            continue
    raise ValueError(f"has none of ncclTunerPlugin_v{', _v'.join(map(str, VERSIONS))}")


def _context(plugin: _Plugin, version: int, ranks: int, nodes: int) -> ctypes.c_void_p:
    context = ctypes.c_void_p()
    init = _INIT[min(version, 5)](plugin.init)
    # The plugin gets no function for its log, and no table of NCCL's constants, which a plugin could change.
    result = (
        init(ranks, nodes, None, ctypes.byref(context))
        if version == 4
        else init(ctypes.byref(context), 0, ranks, nodes, None, None, None)
    )
    if result:
        raise ValueError(f"its initialization failed with {result}")
    return context


def _answer(plugin: _Plugin, context: ctypes.c_void_p, call: Mapping[str, Any]) -> Sequence[int]:
    costs = (ctypes.c_float * (ALGORITHMS * PROTOCOLS))(*[COST] * ALGORITHMS * PROTOCOLS)
    for algorithm, protocol in call["ignored"]:
        costs[algorithm * PROTOCOLS + protocol] = IGNORED
    channels = ctypes.c_int(0)
    result = _GET_COLL_INFO(plugin.get_coll_info)(
        context,
        call["collective"],
        call["size"],
        call["operations"],
        ctypes.cast(costs, ctypes.c_void_p),
        ALGORITHMS,
        PROTOCOLS,
        call["registered"],
        ctypes.byref(channels),
    )
    if result:
        raise ValueError(f"a call failed with {result}")
    chosen = [index for index, cost in enumerate(costs) if cost == CHOSEN]
    return (*(divmod(chosen[0], PROTOCOLS) if chosen else (-1, -1)), channels.value)


def main() -> None:
    """Answer the question on standard input; print `error` instead if the plugin cannot be used."""
    try:
        sys.stdout.write(json.dumps(answers(json.load(sys.stdin))))
    except (OSError, ValueError) as error:
        sys.stdout.write(json.dumps({"error": str(error)}))


if __name__ == "__main__":
    main()
