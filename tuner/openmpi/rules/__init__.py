# SPDX-License-Identifier: Apache-2.0
"""Rules files of Open MPI: a model of their content, their interpretation by each release, and writing them."""
