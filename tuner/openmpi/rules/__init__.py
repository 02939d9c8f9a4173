# SPDX-License-Identifier: Apache-2.0
"""Rules files of Open MPI: one model of what they say, how each release reads them, and how they are written."""
