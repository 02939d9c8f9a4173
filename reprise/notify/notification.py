# SPDX-License-Identifier: Apache-2.0
"""Notifications, which are values: an event, a subject, a text and its details."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from reprise.config import NotifyEvent
from reprise.output import on_one_line

NAME_LIMIT = 80
"""Characters of a name that users chose, such as a job's name; Slurm's own listings cut names, too."""
TEXT_LIMIT = 2000  # characters of a reason, such as the error of a campaign
_NOT_PLAIN = re.compile(r"[^\w ./+,=-]")


@dataclass(frozen=True)
class Notification:
    """Something that an administrator must know. `subject` is one line; `text` has the cause and the remedy.

    `details` has numbers and words for programs. `left_out` is the number of earlier notifications of the same event
    that were not sent because there were too many.
    """

    event: NotifyEvent | Literal["test"]
    subject: str
    text: str
    details: Mapping[str, Any]
    left_out: int = 0

    @property
    def left_out_text(self) -> str:
        """Return a sentence about notifications that were not sent; "" if all were."""
        return f"{self.left_out} earlier notifications of this kind were not sent." * bool(self.left_out)

    def as_json(self) -> dict[str, Any]:
        """Return the notification as a JSON object, which commands and webhooks receive."""
        return asdict(self)


def plain(name: str) -> str:
    """Return a name that a user chose, so that it is only text in a mail, a chat and a terminal.

    Characters other than letters, digits, space and `_./+,=-` are replaced: they could make links, mentions, markup,
    further lines, or text that runs from right to left.
    """
    shortened = name if len(name) <= NAME_LIMIT else f"{name[: NAME_LIMIT - 3]}..."
    return _NOT_PLAIN.sub("?", shortened)


def one_line(words: str) -> str:
    """Return a reason on one line, with at most TEXT_LIMIT characters, all of them printable."""
    return on_one_line(words[:TEXT_LIMIT])


def quarantined(
    cluster: str, record: int, component: str, job: Mapping[str, Any], user: str | None, why: str
) -> Notification:
    """Return the notification of a record that is no longer given, to `user` or, if None, to anybody.

    `job` is the metadata of the job that the record was made for.
    """
    whom = "all users" if user is None else plain(user)
    of = plain(str(job.get("program") or job.get("job_name") or "an unnamed program"))
    return Notification(
        "quarantine",
        f"Reprise on {cluster}: record {record} is quarantined for {whom}",
        f"Jobs with the settings of record {record} ({component}, of {of}) did worse than jobs without: "
        f"{one_line(why)}.\nThe settings are no longer given to {whom}. Run `reprise records show {record}`, then "
        f"`reprise records release {record}` if the cause is gone, or `reprise records retire {record}`.\n",
        {"record": record, "component": component, "program": of, "user": None if user is None else whom},
    )


def writes_wait(cluster: str, count: int, seconds: float, why: str) -> Notification:
    """Return the notification of writes that have waited for the database for some time."""
    return Notification(
        "writes-wait",
        f"Reprise on {cluster}: {count} writes wait for the database",
        f"The matcher could not write to its database for {seconds:.0f} seconds: {one_line(why)}\n"
        "Nothing is lost yet, and jobs are served. Free the disk, or end the program that holds the lock. Do not "
        "restart the matcher before the writes are stored: they would be lost.\n",
        {"waiting": count, "seconds": round(seconds)},
    )


def campaign_ended(
    cluster: str, campaign: int, name: str, component: str, state: str, records: Sequence[int], why: str
) -> Notification:
    """Return the notification of a campaign that ended: it is complete, has failed, or was interrupted by an error."""
    numbers = ", ".join(map(str, records))
    text = {
        "complete": f"It made record {numbers}." if records else "It found no settings better than the default.",
        "failed": f"{one_line(why)}\nIt cannot be resumed: remove the cause, and start a new campaign.",
    }.get(state, f"{one_line(why)}\nRemove the cause, then run `reprise tune resume {campaign}`.")
    return Notification(
        "campaign-end",
        f"Reprise on {cluster}: campaign {campaign} ({plain(name)}) is {state}",
        f"{text}\n`reprise tune report {campaign}` shows the results.\n",
        {"campaign": campaign, "name": plain(name), "component": component, "state": state, "records": list(records)},
    )


def sample(cluster: str) -> Notification:
    """Return a notification with which an administrator tests the settings."""
    return Notification(
        "test",
        f"Reprise on {cluster}: test notification",
        "This is a test. Notifications of Reprise arrive here.\n",
        {},
    )
