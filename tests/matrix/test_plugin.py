# SPDX-License-Identifier: Apache-2.0
"""The tests of the plugin on a virtual cluster, run on every other release of Slurm."""

import pytest

from tests.cluster.test_plugin import *  # noqa: F403

pytestmark = pytest.mark.matrix
