# SPDX-License-Identifier: Apache-2.0
"""What records are worth in production: jobs that were given their settings beside like jobs that were held out."""
