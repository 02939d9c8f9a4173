# SPDX-License-Identifier: Apache-2.0
"""Read a file of machine code (elf(5)), such as a shared object, without running any of it."""

from __future__ import annotations

import struct
from pathlib import Path

_DYNAMIC_SYMBOLS = 11  # SHT_DYNSYM
_NO_BITS = 8  # SHT_NOBITS: section that consists of zeros and is not stored in the file
_SECTION = "IIQQQQIIQQ"  # section header: name, type, flags, address, offset, size, link, info, alignment, entry size
_SYMBOL = "IBBHQQ"  # symbol table's entry: name, info, other, section, value, size
_MACHINES = {
    3: "x86",
    21: "ppc64",
    22: "s390x",
    40: "arm",
    62: "x86-64",
    183: "aarch64",
    243: "riscv",
    258: "loongarch",
}
_ORDERS = {1: "<", 2: ">"}  # byte order in struct's notation, by the value of the ELF header's byte 5


def machine(path: Path) -> str:
    """Return the architecture of a program or shared object, with its word size and byte order, as text.

    Raise ValueError if the file is neither, and OSError if it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in _ORDERS:
        raise ValueError("is not a shared object")
    (number,) = struct.unpack_from(_ORDERS[head[5]] + "H", head, 18)
    endian = "little" if head[5] == 1 else "big"
    return f"{_MACHINES.get(number, f'machine {number}')} ({32 * head[4]} bits, {endian}-endian)"


def unsigned_int(path: Path, name: str) -> int:
    """Return the 32-bit number that the 64-bit shared object at `path` exports as `name`.

    Raise ValueError if the file is not a 64-bit shared object or lacks the symbol, and OSError if it cannot be read.
    """
    data = path.read_bytes()
    if data[:5] != b"\x7fELF\x02" or data[5:6] not in (b"\x01", b"\x02"):
        raise ValueError("is not a 64-bit shared object")
    order = _ORDERS[data[5]]
    try:
        return _number_at(data, order, _place_of(data, order, name.encode()))
    except struct.error as error:
        raise ValueError("is a damaged shared object") from error


def _place_of(data: bytes, order: str, name: bytes) -> int | None:
    """Return the offset of the symbol's value in the file; None if the value is zero and not stored in the file."""
    (table,) = struct.unpack_from(order + "Q", data, 0x28)
    size, count = struct.unpack_from(order + "HH", data, 0x3A)
    sections = [struct.unpack_from(order + _SECTION, data, table + index * size) for index in range(count)]
    for section in sections:
        if section[1] != _DYNAMIC_SYMBOLS or section[6] >= count:
            continue
        names = sections[section[6]][4]
        for place in range(section[4], section[4] + section[5], struct.calcsize(order + _SYMBOL)):
            symbol = struct.unpack_from(order + _SYMBOL, data, place)
            begin = names + symbol[0]
            if data[begin : begin + len(name) + 1] == name + b"\0" and 0 < symbol[3] < count:
                home = sections[symbol[3]]
                return None if home[1] == _NO_BITS else home[4] + symbol[4] - home[3]
    raise ValueError(f"does not export {name.decode()}")


def _number_at(data: bytes, order: str, place: int | None) -> int:
    return 0 if place is None else int(struct.unpack_from(order + "I", data, place)[0])
