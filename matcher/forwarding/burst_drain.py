# SPDX-License-Identifier: Apache-2.0
"""Wait until the data in a job's burst buffers are in the file system.

A forwarder keeps its answer to one message, whose form is that in accelerators/forward/nine.h, until then. The job's
burst buffers on all forwarders write their data at the same time.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Sequence

from reprise.matcher.errors import MatcherError
from reprise.matcher.forwarding import slurm_queue
from reprise.matcher.forwarding.forwarder_health import check, opened

VERSION = b"9P2000.L.burst"
PROOF = b" proof="
Prove = Callable[[bytes], bytes]
"""Makes a credential of munge that contains the given text, and that forwarders can open."""
CONNECT_S = 10.0
_RLERROR, _TVERSION, _RVERSION, _NO_TAG, _MSIZE = 7, 100, 101, 0xFFFF, 65_536
_HEAD = struct.Struct("<IBHIH")  # size, type, tag, msize, length of the version
_MOST_BYTES = 256


class DrainError(MatcherError):
    """Some data may not be in the file system yet."""


def user_of(job: int, run: Callable[[Sequence[str]], str] = slurm_queue.squeue) -> int:
    """Return the user id of a job that Slurm knows. Raise DrainError otherwise, QueueError if squeue fails."""
    words = ("squeue", "--noheader", "--all", "--local", "--states=all", "--Format=jobid:20,userid:20")
    rows = [line.split() for line in run(words).splitlines()]
    for row in rows:
        if len(row) == 2 and row[0] == str(job) and row[1].isdecimal():
            return int(row[1])
    raise DrainError(f"job {job}: squeue does not list it any more: name its user with --user")


def drain(addresses: Sequence[str], job: int, uid: int, seconds: float, prove: Prove | None = None) -> None:
    """Return when all data of the job's burst buffers are in the file system.

    `seconds` limits the wait. Without `prove`, forwarders are asked without a proof of the user. Raise DrainError with
    the forwarders that cannot be reached, do not answer in time or do not believe the user, CredentialError if there is
    no proof. A forwarder without a burst buffer of the job answers at once.
    """
    # a credential for each, because forwarders on one node could not open the same one
    requests = [request(job, uid, prove) for _ in addresses]
    problems = asyncio.run(_drained(addresses, requests, seconds))
    told = "; ".join(f"{address}: {problem}" for address, problem in zip(addresses, problems, strict=True) if problem)
    if told:
        raise DrainError(f"job {job}: data may be missing in the file system ({told}): see the forwarders' logs")


def request(job: int, uid: int, prove: Prove | None = None) -> bytes:
    """Return the message that asks a forwarder."""
    version = VERSION + f" {job} {uid} drain".encode()
    version += PROOF + prove(version) if prove else b""
    return _HEAD.pack(_HEAD.size + len(version), _TVERSION, _NO_TAG, _MSIZE, len(version)) + version


async def _drained(addresses: Sequence[str], messages: Sequence[bytes], seconds: float) -> Sequence[str]:
    """Return each forwarder's problem, "" if it has none."""

    async def one(address: str, message: bytes) -> str:
        if problem := await check(address, CONNECT_S):
            return problem
        try:
            async with asyncio.timeout(seconds):
                return await _asked(address, message)
        except TimeoutError:
            return "its data are not in the file system yet"
        except (OSError, asyncio.IncompleteReadError):
            return "it ended the connection"

    return await asyncio.gather(*map(one, addresses, messages))


async def _asked(address: str, message: bytes) -> str:
    reader, writer = await opened(address)
    try:
        writer.write(message)
        size = int.from_bytes(await reader.readexactly(4), "little")
        answer = await reader.readexactly(size - 4) if 4 < size <= _MOST_BYTES else b"\0"
    finally:
        writer.close()
    # a server without burst buffers answers that it does not know the version, or with an error
    is_answer = answer[0] == _RLERROR or (answer[0] == _RVERSION and answer[9:] in (VERSION, b"unknown"))
    return "" if is_answer else "it is no forwarder"
