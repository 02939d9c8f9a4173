# SPDX-License-Identifier: Apache-2.0
"""Reader of the cluster that a submission requests with `-M` (`--clusters`)."""

from __future__ import annotations

import re

from reprise.matcher.submission.directives import read_directives
from reprise.matcher.submission.slurm_options import given_options
from reprise.matcher.submission.submitted import ARGV_LIMIT, Submission
from reprise.matcher.submission.work_limit import Work

_VARIABLES = {
    "sbatch": ("SBATCH_CLUSTERS", "SLURM_CLUSTERS"),
    "salloc": ("SLURM_CLUSTERS",),
    "srun": ("SLURM_CLUSTERS",),
}
_DIRECTIVE = re.compile(r"^#SBATCH\b.*\s-(?:\w*M|-cl)", re.MULTILINE)  # a quick check; few scripts have the option


def named_clusters(submission: Submission) -> str:
    """Return the cluster, or the list of clusters, that a submission requests, in lower case; "" if it requests none.

    If users list several clusters, or give `all`, Slurm chooses one of these clusters. Slurm stores names in lower
    case, however users write them (seen on 22.05).
    """
    options = {}
    if submission.command == "sbatch" and submission.script and _DIRECTIVE.search(submission.script.text):
        options = read_directives(submission.script.text, Work())
    for name in reversed(_VARIABLES.get(submission.command, ())):
        if name in submission.env:
            options["clusters"] = submission.env[name]
    if any("M" in word or "--cl" in word for word in submission.argv[1:ARGV_LIMIT]):
        options |= given_options(submission).values
    return options.get("clusters", options.get("cluster", "")).lower()
