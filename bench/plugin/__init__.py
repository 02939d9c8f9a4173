# SPDX-License-Identifier: Apache-2.0
"""What the plugin costs `sbatch`: `make bench-plugin`."""
