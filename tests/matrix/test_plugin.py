# SPDX-License-Identifier: Apache-2.0
"""What the plugin does on this machine's Slurm it does on every release: the same tests, on the systems of `root`."""

import pytest

from tests.cluster.test_plugin import *  # noqa: F403

pytestmark = pytest.mark.matrix
