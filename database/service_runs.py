# SPDX-License-Identifier: Apache-2.0
"""Storage of the periods in which the daemon ran."""

from __future__ import annotations

from reprise.database.entities import ServiceRun
from reprise.database.row_codec import Table
from reprise.database.store import Store

SERVICE_RUN = Table("service_run", ServiceRun)

TOUCH_INTERVAL_S = 60.0  # seconds between a daemon's reports that it is still running


class ServiceRuns(Store):
    """The stored runs of the daemon, with their starts and ends."""

    def begin_service_run(self, version: str, at: float) -> int:
        """Store that a daemon of this version started at `at` (Unix seconds), and return the run's id."""
        run = ServiceRun(started_at=at, seen_at=at, version=version)
        with self._write() as connection:
            return SERVICE_RUN.add(connection, run)

    def touch_service_run(self, run_id: int, at: float) -> None:
        """Store that the daemon is still running at `at` (Unix seconds); call this every TOUCH_INTERVAL_S seconds."""
        with self._write() as connection:
            connection.execute("UPDATE service_run SET seen_at = max(seen_at, ?) WHERE id = ?", (at, run_id))

    def end_service_run(self, run_id: int, at: float) -> None:
        """Store that the daemon stopped normally at `at` (Unix seconds)."""
        with self._write() as connection:
            connection.execute(
                "UPDATE service_run SET seen_at = max(seen_at, :at), stopped_at = max(started_at, :at) WHERE id = :id",
                {"at": at, "id": run_id},
            )

    def service_run_at(self, time: float) -> ServiceRun | None:
        """Return the daemon's run that includes this time (Unix seconds), or None if the daemon was not running.

        A run without an end (the daemon was killed, or is still running) is assumed to end TOUCH_INTERVAL_S seconds
        after the daemon was last seen.
        """
        rows = self._read(
            "SELECT * FROM service_run WHERE started_at <= :time AND :time <= coalesce(stopped_at, seen_at + :interval)"
            " ORDER BY started_at DESC, id DESC LIMIT 1",
            {"time": time, "interval": TOUCH_INTERVAL_S},
        )
        return SERVICE_RUN.decode(rows[0]) if rows else None

    def service_runs_around(self, time: float) -> tuple[ServiceRun | None, ServiceRun | None]:
        """Return the last run that started at or before this time, and the first run that started after this time."""
        last = self._read(
            "SELECT * FROM service_run WHERE started_at <= ? ORDER BY started_at DESC, id DESC LIMIT 1", (time,)
        )
        first = self._read("SELECT * FROM service_run WHERE started_at > ? ORDER BY started_at, id LIMIT 1", (time,))
        return (SERVICE_RUN.decode(last[0]) if last else None, SERVICE_RUN.decode(first[0]) if first else None)
