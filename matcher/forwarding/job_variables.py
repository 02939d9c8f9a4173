# SPDX-License-Identifier: Apache-2.0
"""Variables of the forwarding library that follow from the site's configuration, not from a record.

Records only say that an application uses forwarders. So a site can move its maps, or export another directory, without
tuning anything again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from reprise.config import Forwarding

LIBRARY = "forward"
"""Name of the forwarding library, as in `REPRISE_PRELOAD`."""
MAP = "REPRISE_FORWARD_MAP"
JOB = "%j"  # stands for the job's number in the path of its map, as in the file names of sbatch
NOT_CONFIGURED = "uses I/O forwarders, and the site configures none (set forwarders and prefixes in [forwarding])"


def of_site(settings: Forwarding) -> Mapping[str, str]:
    """Return the variables that are the same for all jobs and trials; empty if the site has no forwarders."""
    if not settings.forwarders or not settings.prefixes:
        return {}
    return {
        "REPRISE_FORWARD_PREFIXES": ":".join(map(str, settings.prefixes)),
        "REPRISE_FORWARD_AUTH": settings.auth,
    }


def of_jobs(settings: Forwarding) -> Mapping[str, str]:
    """Return all variables of a job whose map the arbiter keeps; empty if the site has no forwarders.

    The arbiter owns the maps. It runs as the user of this process.
    """
    shared = of_site(settings)
    owner = {"REPRISE_FORWARD_MAP_OWNER": str(os.geteuid())}
    return {**shared, **owner, MAP: str(settings.maps / JOB)} if shared else {}
