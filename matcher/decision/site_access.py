# SPDX-License-Identifier: Apache-2.0
"""Access to settings, which the site can allow or deny by lists of users, accounts and partitions.

The matcher applies the lists, because the plugin does not know the job's account, partition and user name. The plugin
cannot determine the account and partition, because `#SBATCH` lines of the script may set them. To find the user's name,
the plugin would have to query a directory service, which may be slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reprise.config import Access as Configured
from reprise.matcher.decision.refusal import Refusal
from reprise.matcher.submission.metadata import JobMetadata


@dataclass(frozen=True)
class Lists:
    """Lists of names. `deny` takes precedence over `allow`; an empty `allow` allows all names."""

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()

    def refuse(self, *names: str) -> bool:
        """Return whether the lists refuse a user, account or partition with these alternative names.

        A list contains the user, account or partition if it contains at least one of the names.
        """
        return not self.deny.isdisjoint(names) or bool(self.allow and self.allow.isdisjoint(names))


@dataclass(frozen=True)
class Access:
    """The configured lists. Users are listed by name or id; accounts are in lower case, as in Slurm."""

    users: Lists = Lists()
    accounts: Lists = Lists()
    partitions: Lists = Lists()

    def refusal(self, job: JobMetadata, uid: int, *, started: bool) -> Refusal | None:
        """Return why the job gets no settings, worded to follow "the site"; None if it may get settings.

        If `started` is True, the job has started, so that no more information will become available.
        """
        if self._refuses_user(job.user, uid):
            return Refusal(f"gives nothing to jobs of user {job.user}")
        account = _refusal(self.accounts, "account", [job.account.lower()] if job.account else [], started=started)
        partitions = [name for name in job.partition.split(",") if name]
        partition = _refusal(self.partitions, "partition", partitions, started=started)
        return next((one for one in (account, partition) if one and not one.until_start), account or partition)

    def _refuses_user(self, user: str, uid: int) -> bool:
        if self.users.refuse(user, str(uid)):
            return True
        named = any(not name.isdecimal() for name in self.users.deny)
        return named and user == str(uid)  # the user's name is unknown, and may be on the deny list


def _refusal(lists: Lists, what: str, names: list[str], *, started: bool) -> Refusal | None:
    """Return the refusal by the lists of accounts or partitions; None if the job is not refused.

    `names` are the accounts or partitions from which Slurm may choose, empty if the job uses Slurm's default.
    """
    refused = [name for name in names if lists.refuse(name)]
    if names and len(refused) == len(names):
        return Refusal(f"gives nothing to jobs of {what} {', '.join(names)}")
    if lists == Lists() or (names and not refused):
        return None
    if started and not lists.allow:  # the job has no account or partition that could be denied
        return None
    return Refusal(f"does not give to every {what}, and the job's {what} is unknown", until_start=not started)


EVERYONE = Access()


def access_of(configured: Configured) -> Access:
    """Return the access lists of the configuration."""
    return Access(
        users=_lists(configured.allow_users, configured.deny_users),
        accounts=_lists(map(str.lower, configured.allow_accounts), map(str.lower, configured.deny_accounts)),
        partitions=_lists(configured.allow_partitions, configured.deny_partitions),
    )


def _lists(allow: Iterable[str | int], deny: Iterable[str | int]) -> Lists:
    return Lists(frozenset(map(str, allow)), frozenset(map(str, deny)))
