# SPDX-License-Identifier: Apache-2.0
"""Rules files of Open MPI: a model of their content, each release's interpretation of them, and their writing."""
