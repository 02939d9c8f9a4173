# SPDX-License-Identifier: Apache-2.0
"""The tests of the plugin on this machine's Slurm, run on every other release."""

import pytest

from tests.cluster.test_plugin import *  # noqa: F403

pytestmark = pytest.mark.matrix
