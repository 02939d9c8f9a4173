# SPDX-License-Identifier: Apache-2.0
"""A burst buffer on a data node: four stages of threads and two caches between an application and its file system.

After Robert 2021, section 2.3: polling threads take an I/O from the network, and workers insert it into the RAM cache,
after which the application continues. RAM destagers copy it to the flash cache, flash destagers to the file system.
Volumes flow between the stages in time steps, for all parametrizations of a grid at once, one row of every array each.
All pools share the cores of the data node, and the threads of a pool slow each other down (the universal scalability
law).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

STEP_S = 0.25
LONGEST_S = 3600.0


@dataclass(frozen=True)
class Pool:
    """Threads of one stage. `each` is the GB/s of one thread alone; `queueing` and `crosstalk` are the coefficients."""

    each: float
    queueing: float = 0.02
    crosstalk: float = 0.0

    def rate(self, threads: Vector) -> Vector:
        """Return GB/s of `threads` with a core each; highest at sqrt((1 - queueing) / crosstalk) threads."""
        return self.each * threads / (1 + self.queueing * (threads - 1) + self.crosstalk * threads * (threads - 1))


@dataclass(frozen=True)
class Node:
    """The data node and the file system behind it. Rates in GB/s."""

    polling: Pool = Pool(2.5, 0.05)
    workers: Pool = Pool(0.5, 0.02, 0.0098)
    ram: Pool = Pool(0.35, 0.02, 0.0153)
    flash: Pool = Pool(0.25, 0.02, 0.0153)
    cores: float = 32.0
    needed: float = 0.4  # share of a core that a thread with work needs
    switching: float = 0.1  # share of the cores' time lost for every excess thread per core
    network: float = 6.0
    flash_device: float = 2.5
    file_system: float = 1.2
    roomy: float = 0.4  # share of the RAM cache that must be free to insert at full speed
    crammed: float = 0.35  # share of that speed if nothing is free
    eviction: float = 4.0  # GB/s at which clean data are dropped


@dataclass(frozen=True)
class Traffic:
    """The I/O of the application: `volume` GB in blocks of `block` GB by `processes` that each wait for their blocks.

    `reads` is the share of blocks that are read, anywhere in `working_set` GB. Latencies in s are those of an I/O that
    the cache serves, and the additional one of a miss.
    """

    volume: float
    processes: int
    block: float
    reads: float = 0.0
    working_set: float = 0.0
    latency: float = 2e-5
    miss: float = 4e-4


def run_time(settings: Mapping[str, Vector], traffic: Traffic, node: Node, longest_s: float = LONGEST_S) -> Vector:
    """Return the seconds until the last I/O is acknowledged or the job is stopped, for every row of the settings.

    Settings are polling, workers, ram_destagers, flash_destagers (threads), ram_gb, flash_gb, ram_threshold and
    flash_threshold (the share in use above which clean data are dropped and flash destagers start).
    """
    ram, flash = settings["ram_gb"], settings["flash_gb"]
    done, elapsed, dirty, clean, below_dirty, below_clean = (np.zeros_like(ram) for _ in range(6))
    while (running := (done < traffic.volume - 1e-9) & (elapsed < longest_s)).any():
        used, below = dirty + clean, below_dirty + below_clean
        destaging, flushing = dirty > 0, (below_dirty > 0) & (below > settings["flash_threshold"] * flash)
        speed = _speed(settings, destaging, flushing, node)
        free = np.maximum(ram - used, 0.0)
        resident = np.minimum(used / traffic.working_set, 1.0) if traffic.reads else np.ones_like(used)
        accepted = _accepted(settings, traffic, node, speed, free / ram, resident) * STEP_S
        writes = 1 - traffic.reads
        # Reads that miss bring in their data; writes need free space, or wait.
        room = free / np.maximum(writes + traffic.reads * (1 - resident) * writes, 1e-12)
        moved = np.minimum(np.minimum(accepted, room), traffic.volume - done)
        share = np.divide(moved, accepted, out=np.ones_like(moved), where=accepted > 0)
        share = np.where(done + moved >= traffic.volume - 1e-9, share, 1.0)
        elapsed += np.where(running, STEP_S * share, 0.0)
        done += np.where(running, moved, 0.0)
        down = np.minimum(
            dirty, np.minimum(node.ram.rate(settings["ram_destagers"]) * speed, node.flash_device) * STEP_S
        )
        down = np.minimum(down, np.maximum(flash - below, 0.0))
        out = np.minimum(node.flash.rate(settings["flash_destagers"]) * speed, node.file_system) * STEP_S
        out = np.where(flushing, np.minimum(below_dirty, out), 0.0)
        dropped = _dropped(clean, used, ram, settings["ram_threshold"], node)
        gone = _dropped(below_clean, below, flash, settings["flash_threshold"], node)
        missed = np.minimum(moved * traffic.reads * (1 - resident), np.maximum(free - moved * writes, 0.0))
        dirty = dirty + moved * writes - down
        clean = clean + down + missed - dropped
        below_dirty = below_dirty + down - out
        below_clean = below_clean + out - gone
    return elapsed


def _speed(settings: Mapping[str, Vector], destaging: Flags, flushing: Flags, node: Node) -> Vector:
    """Return the share of its full speed that a thread has if all threads with work share the cores."""
    threads = settings["polling"] + settings["workers"]
    threads = threads + settings["ram_destagers"] * destaging + settings["flash_destagers"] * flushing
    wanted = threads * node.needed / node.cores
    return np.minimum(1.0, 1 / wanted) / (1 + node.switching * np.maximum(wanted - 1, 0.0))


def _accepted(
    settings: Mapping[str, Vector], traffic: Traffic, node: Node, speed: Vector, free: Vector, resident: Vector
) -> Vector:
    """Return the GB/s that polling threads, workers and the waiting application accept."""
    polled = np.minimum(node.polling.rate(settings["polling"]) * speed, node.network)
    misses = traffic.reads * (1 - resident)
    needing_room = 1 - traffic.reads + misses
    crammed = 1 - needing_room + needing_room / np.clip(free / node.roomy, node.crammed, 1.0)
    inserted = node.workers.rate(settings["workers"]) * speed / crammed
    asked = traffic.processes * traffic.block / (traffic.latency + misses * traffic.miss)
    # Time adds up: an I/O waits for the network, then for a worker, and in its process.
    return 1.0 / (1.0 / polled + 1.0 / inserted + 1.0 / asked)


def _dropped(clean: Vector, used: Vector, size: Vector, threshold: Vector, node: Node) -> Vector:
    """Return the GB of clean data that a cache drops in one step."""
    return np.minimum(np.minimum(clean, np.maximum(used - threshold * size, 0.0)), node.eviction * STEP_S)
