# SPDX-License-Identifier: Apache-2.0
"""Open MPI's rules files: a model of their content, their interpretation by each release, and code to write them."""
