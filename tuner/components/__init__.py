# SPDX-License-Identifier: Apache-2.0
"""Components of kind `application`, each described by a YAML file with its parameters and how to switch it on."""
