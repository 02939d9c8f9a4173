# SPDX-License-Identifier: Apache-2.0
"""Components of kind `application`: a YAML file says how something is switched on and what its parameters are."""
