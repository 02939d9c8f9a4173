# SPDX-License-Identifier: Apache-2.0
"""The plugin behaves on every release as on this machine's Slurm: same tests, on the systems of `root`."""

import pytest

from tests.cluster.test_plugin import *  # noqa: F403

pytestmark = pytest.mark.matrix
