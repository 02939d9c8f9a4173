# SPDX-License-Identifier: Apache-2.0
"""The benchmark's virtual cluster, which is started when first needed, and replaced after a failure."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from bench.real.catalogue import Program
from bench.real.running import prepare
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import SOURCE, install


class Place:
    """A context manager that runs clusters created by `made`, one at a time, with Reprise if `installed`."""

    def __init__(self, made: Callable[[], VirtualCluster], *, installed: bool) -> None:
        self._made, self._installed = made, installed
        self._cluster: VirtualCluster | None = None
        self._prepared: set[str] = set()

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.drop()

    def cluster(self, program: Program) -> VirtualCluster:
        """Return the running cluster with the program's files on it. The cluster is started if necessary."""
        if self._cluster is None:
            self._cluster = self._made()
            self._cluster.start()
            if self._installed:
                install(self._cluster)
                self._cluster.run(["make", "-s", "-C", SOURCE, "install-accelerators"])
        if program.name not in self._prepared:
            prepare(self._cluster, program)
            self._prepared.add(program.name)
        return self._cluster

    def drop(self) -> None:
        """Stop the cluster. The next call of `cluster` starts a new one."""
        if self._cluster is not None:
            self._cluster.stop()
        self._cluster = None
        self._prepared.clear()
