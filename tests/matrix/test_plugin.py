# SPDX-License-Identifier: Apache-2.0
"""Run the tests of the plugin on virtual clusters with every other release of Slurm."""

import pytest

from tests.cluster.test_plugin import *  # noqa: F403

pytestmark = pytest.mark.matrix
