# SPDX-License-Identifier: Apache-2.0
"""Components of kind `application`: a YAML file describes how to switch something on and which parameters it has."""
