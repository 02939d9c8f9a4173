# SPDX-License-Identifier: Apache-2.0
"""The demonstration: from a campaign to a faster job, on a virtual Slurm cluster."""
