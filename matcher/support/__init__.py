# SPDX-License-Identifier: Apache-2.0
"""Why a job got what it got, and what support staff look for among jobs."""
