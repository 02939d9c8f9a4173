# SPDX-License-Identifier: Apache-2.0
"""Bandwidths of the 20 write patterns of table 5.1 of Bez 2020, on two machines.

The table has no bandwidths. These are medians of the runs that the author published (github.com/jeanbez,
forge-evaluation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

COUNTS = (0, 1, 2, 4, 8)
"""Numbers of forwarders to which the bandwidths of a pattern belong."""


class Pattern(NamedTuple):
    """A row of table 5.1: its letter, compute nodes and processes, and bandwidths in MB/s on both machines."""

    letter: str
    nodes: int
    processes: int
    mare_nostrum: Sequence[float]
    santos_dumont: Sequence[float]


PATTERNS = (
    Pattern("A", 32, 1536, (4574.3, 118.4, 352.6, 824.5, 1795.4), (6223.5, 278.2, 681.8, 1214.5, 2220.8)),
    Pattern("B", 32, 1536, (2036.0, 108.0, 579.8, 1534.4, 2753.8), (333.4, 18.3, 31.1, 59.8, 122.1)),
    Pattern("C", 32, 1536, (35.0, 25.4, 71.1, 51.1, 46.4), (722.6, 373.5, 858.6, 1307.6, 1952.9)),
    Pattern("D", 32, 1536, (93.5, 112.1, 128.8, 127.8, 110.2), (827.5, 353.0, 763.6, 970.6, 1977.6)),
    Pattern("E", 32, 1536, (25.9, 66.2, 75.4, 53.3, 33.1), (130.4, 69.1, 174.1, 325.6, 575.8)),
    Pattern("F", 16, 192, (131.9, 156.2, 207.5, 146.8, 154.3), (36.0, 4.9, 10.9, 21.4, 47.8)),
    Pattern("G", 16, 192, (164.2, 148.3, 186.8, 187.9, 216.0), (29.9, 16.9, 26.6, 75.5, 69.6)),
    Pattern("H", 8, 192, (2244.8, 836.1, 1897.7, 3008.1, 6525.4), (1925.8, 327.3, 624.6, 1314.2, 1914.0)),
    Pattern("I", 8, 192, (127.3, 110.5, 164.2, 151.1, 146.5), (890.3, 303.1, 692.3, 1032.3, 1714.2)),
    Pattern("J", 16, 384, (139.3, 127.0, 264.4, 273.8, 147.8), (26.5, 14.5, 24.3, 54.2, 85.8)),
    Pattern("K", 16, 384, (291.3, 283.8, 301.1, 205.0, 168.6), (767.4, 337.8, 662.0, 1259.0, 1851.0)),
    Pattern("L", 32, 384, (111.9, 133.6, 124.3, 98.8, 88.2), (1316.4, 398.3, 573.6, 1484.4, 2020.0)),
    Pattern("M", 32, 384, (37.0, 43.9, 36.0, 23.8, 18.8), (187.1, 87.2, 151.3, 277.2, 431.1)),
    Pattern("N", 8, 384, (101.9, 115.3, 165.4, 105.9, 109.4), (560.0, 328.6, 652.5, 1174.1, 1879.5)),
    Pattern("O", 16, 768, (34.9, 59.6, 80.4, 86.5, 70.5), (784.1, 178.6, 534.6, 985.6, 1854.0)),
    Pattern("P", 32, 768, (61.2, 76.1, 100.3, 86.3, 70.1), (784.0, 232.3, 575.9, 1116.4, 1827.2)),
    Pattern("Q", 16, 768, (40.4, 84.9, 91.6, 61.2, 46.6), (683.0, 372.1, 738.9, 1535.6, 1798.7)),
    Pattern("R", 8, 96, (1047.5, 952.8, 1999.5, 3824.2, 4934.0), (1439.0, 367.8, 724.8, 861.5, 1489.9)),
    Pattern("S", 8, 96, (80.0, 100.8, 118.5, 92.9, 91.9), (638.2, 297.5, 826.3, 940.3, 1388.0)),
    Pattern("T", 8, 96, (48.7, 66.5, 115.0, 85.8, 43.2), (167.3, 57.7, 162.4, 175.5, 365.9)),
)
MACHINES: Mapping[str, Sequence[Mapping[int, float]]] = {
    "MareNostrum 4": [dict(zip(COUNTS, one.mare_nostrum, strict=True)) for one in PATTERNS],
    "Santos Dumont": [dict(zip(COUNTS, one.santos_dumont, strict=True)) for one in PATTERNS],
}
"""Curves of all patterns, in the order of `PATTERNS`."""
