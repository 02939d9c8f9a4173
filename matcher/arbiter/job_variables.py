# SPDX-License-Identifier: Apache-2.0
"""Variables of the forwarding libraries that follow from the site's configuration, not from a record.

Records only say that an application uses forwarders. So a site can move its maps, or export another directory, without
tuning anything again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from reprise.config import Forwarding

LIBRARY = "forward"
"""Name of the forwarding library, as in `REPRISE_PRELOAD`."""
BURST_LIBRARY = "burst"
"""Name of its variant for jobs with a burst buffer."""
LIBRARIES = (LIBRARY, BURST_LIBRARY)
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


def of_jobs(settings: Forwarding) -> Mapping[str, Mapping[str, str]]:
    """Return all variables of a job by the name of its library; empty if the site has no forwarders.

    The arbiter owns the maps. It runs as the user of this process.
    """
    shared = of_site(settings)
    owner = {"REPRISE_FORWARD_MAP_OWNER": str(os.geteuid())}
    names = {LIBRARY: JOB, BURST_LIBRARY: burst_map(settings)}
    return {library: {**shared, **owner, MAP: str(settings.maps / names[library])} for library in names if shared}


def burst_map(settings: Forwarding) -> str:
    """Return the name of the map of all jobs with burst buffers, which lists the whole pool.

    A job's data are in the burst buffers that its map chose, so a job must keep its map. Therefore another pool has a
    map of another name.
    """
    return "burst-" + hashlib.sha256("\n".join(settings.forwarders).encode()).hexdigest()[:16]
