# SPDX-License-Identifier: Apache-2.0
"""What a setting would take, predicted from trials of other configurations (Agarwal et al. 2019: Predict and PrAct).

`rows` collects trials, `model` learns from them and says how well, `gate` whether that is good enough, `search` looks
for the best setting of a configuration that was never run.
"""
