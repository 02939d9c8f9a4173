# SPDX-License-Identifier: Apache-2.0
"""Read the ranks, communicators and functions of an OTF2 archive, and the MPI records of each rank.

This module uses `_otf2`, the low-level interface of the OTF2 developers' library. The high-level interface, `otf2`,
rejects archives of EZTrace 2.0, because they define two groups with the same number.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.mix_file import RANKS_MAX

AT_ONCE = 10_000
"""Number of records to read at a time; this many need some 2 MB of memory."""
END = b"\x02\x01"
"""Last bytes of a complete file of events or definitions.

Files without these bytes are rejected, since the library would read past the end of its buffer.
"""
READ_BY = ("", "EZTrace")
"""Programs whose archives are accepted, since they count bytes as EZTrace does; EZTrace 2.0 leaves its name empty."""


class Record(NamedTuple):
    """One record of a rank in an archive.

    `kind`: enter, leave, send, isend, isend_complete, irecv_request, recv, irecv, cancelled, or a collective's name.
    `time` is in ticks. `function`: the MPI function that is entered or left, such as `allreduce`; empty for other
    functions. `peer`: rank in the communicator, or the root of a collective. `sent` and `received`: numbers of bytes.
    """

    kind: str
    time: int
    function: str = ""
    peer: int = -1
    comm: int = -1
    tag: int = -1
    sent: int = 0
    received: int = 0
    request: int = 0


@dataclass(frozen=True)
class Definitions:
    """Definitions from an archive.

    `ranks`: location of each rank. `others`: locations that are not ranks, such as threads. `comms`: members of each
    communicator in order, as ranks in MPI_COMM_WORLD, by the communicator's number. `functions`: names of functions by
    number.
    """

    ranks: Sequence[int]
    others: Sequence[int]
    comms: Mapping[int, tuple[int, ...]]
    functions: Mapping[int, str]
    ticks_per_s: int


class Archive:
    """An open archive, which can be read once, rank by rank."""

    def __init__(self, path: Path, library: ModuleType, reader: Any) -> None:
        self._path = path
        self._library = library
        self._reader = reader
        self.definitions = _definitions(path, library, reader)
        self._select([*self.definitions.ranks, *self.definitions.others])

    def records(self, location: int) -> Iterator[Record] | None:
        """Return an iterator over the records of a location, or None if the location has no records.

        Raises:
            ProxyError: The records are truncated or damaged.
        """
        file = self._path.with_suffix("") / f"{location}.evt"
        if file.is_file() and _last_bytes(file, len(END)) not in (END, b""):
            raise ProxyError(f"{self._path}: {file.name} is truncated: the program was killed, or the disk is full")
        source = self._library.Reader_GetEvtReader(self._reader, location)
        return self._read(location, source) if source else None

    def _read(self, location: int, source: Any) -> Iterator[Record]:
        library = self._library
        found: list[Record] = []
        kept = _take_records(library, source, self.definitions.functions, found)
        try:
            read = AT_ONCE
            while read == AT_ONCE:  # the library reports an error if asked to read beyond the last record
                read = library.Reader_ReadLocalEvents(self._reader, source, AT_ONCE)
                yield from found
                found.clear()
            library.Reader_CloseEvtReader(self._reader, source)
        except library.Error as error:
            raise ProxyError(f"{self._path}: location {location} is damaged ({error.name})") from error
        kept.clear()

    def _select(self, locations: Sequence[int]) -> None:
        library, reader = self._library, self._reader
        for location in locations:
            library.Reader_SelectLocation(reader, location)
        try:
            library.Reader_OpenDefFiles(reader)
            # Local definitions map a location's own numbers to the archive's global numbers.
            for location in locations:
                if source := library.Reader_GetDefReader(reader, location):
                    library.Reader_ReadAllLocalDefinitions(reader, source)
                    library.Reader_CloseDefReader(reader, source)
            library.Reader_CloseDefFiles(reader)
            library.Reader_OpenEvtFiles(reader)
        except library.Error as error:
            raise ProxyError(f"{self._path}: its directory of events is incomplete ({error.name})") from error


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open an archive, given the path of its anchor file, `NAME.otf2`.

    Raises:
        ProxyError: The library is missing, the file is not an archive of an MPI program, or the archive cannot be read.
    """
    try:
        import _otf2 as library
    except (ImportError, OSError) as error:
        raise ProxyError(f"{path}: reading traces needs the package otf2: pip install 'reprise[otf2]'") from error
    _be_quiet(library)
    with redirect_stderr(StringIO()):  # the library prints a traceback if a callback fails
        try:
            reader = library.Reader_Open(str(path))
        except (library.Error, UnicodeError) as error:
            raise ProxyError(f"{path}: not an OTF2 archive: specify the file that ends in .otf2") from error
        with closing(_Closing(library, reader)):
            yield Archive(path, library, reader)


def _last_bytes(file: Path, count: int) -> bytes:
    with file.open("rb") as source:
        source.seek(max(0, file.stat().st_size - count))
        return source.read()


class _Closing:
    def __init__(self, library: ModuleType, reader: Any) -> None:
        self._library, self._reader = library, reader

    def close(self) -> None:
        self._library.Reader_Close(self._reader)


_ERROR = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_uint64,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,
)


def _ignored(_data: Any, _file: Any, _line: int, _function: Any, code: int, _text: Any, _values: Any) -> int:
    return code


_IGNORED = _ERROR(_ignored)


def _be_quiet(library: ModuleType) -> None:
    """Keep the library from printing errors, since it also returns them as error codes."""
    register = library.Config.conf.lib.OTF2_Error_RegisterCallback
    register.argtypes, register.restype = [_ERROR, ctypes.c_void_p], ctypes.c_void_p
    register(_IGNORED, None)


def _definitions(path: Path, library: ModuleType, reader: Any) -> Definitions:
    said = _Said(library)
    file = path.with_suffix(".def")
    if file.is_file() and _last_bytes(file, len(END)) != END:
        raise ProxyError(f"{path}: its definitions are missing, truncated or damaged")
    try:
        creator = library.Reader_GetCreator(reader)
        library.Reader_SetSerialCollectiveCallbacks(reader)
        source = library.Reader_GetGlobalDefReader(reader)
        callbacks = library.GlobalDefReaderCallbacks_New()
        for name, function in said.callbacks.items():
            getattr(library, f"GlobalDefReaderCallbacks_Set{name}Callback")(callbacks, function)
        library.Reader_RegisterGlobalDefCallbacks(reader, source, callbacks, None)
        library.GlobalDefReaderCallbacks_Delete(callbacks)
        library.Reader_ReadAllGlobalDefinitions(reader, source)
        library.Reader_CloseGlobalDefReader(reader, source)
    except library.Error as error:
        raise ProxyError(f"{path}: its definitions are missing, truncated or damaged ({error.name})") from error
    if creator and not creator.startswith(READ_BY[1:]):
        raise ProxyError(
            f"{path}: recorded by {creator!r}, which counts the bytes of collectives differently from EZTrace: record "
            "with `eztrace -t openmpi`, or with `reprise tune record` without --trace"
        )
    if not said.ranks:
        raise ProxyError(f"{path}: no MPI rank: the program does not use MPI, or was recorded without it")
    return said.definitions(path)


class _Said:
    """Definitions of an archive that have been read so far."""

    def __init__(self, library: ModuleType) -> None:
        self.ranks: list[int] = []
        self._ticks_per_s = 0
        self._strings: dict[int, str] = {}
        self._regions: dict[int, int] = {}
        self._locations: list[int] = []
        self._groups: dict[int, list[int]] = {}
        self._comms: dict[int, int] = {}

        def clock(_data: Any, ticks_per_s: int, *_: Any) -> None:
            self._ticks_per_s = ticks_per_s

        def string(_data: Any, number: int, text: str) -> None:
            self._strings[number] = text

        def region(_data: Any, number: int, name: int, *_: Any) -> None:
            self._regions[number] = name

        def location(_data: Any, number: int, *_: Any) -> None:
            self._locations.append(number)

        def group(_data: Any, number: int, _name: int, kind: Any, paradigm: Any, _flags: Any, members: Any) -> None:
            if paradigm == library.PARADIGM_MPI and kind == library.GROUP_TYPE_COMM_LOCATIONS:
                self.ranks = members
            elif paradigm == library.PARADIGM_MPI and kind == library.GROUP_TYPE_COMM_GROUP:
                self._groups[number] = members

        def comm(_data: Any, number: int, _name: int, group: int, *_: Any) -> None:
            self._comms[number] = group

        self.callbacks: dict[str, Callable[..., None]] = {
            "ClockProperties": clock,
            "String": string,
            "Region": region,
            "Location": location,
            "Group": group,
            "Comm": comm,
        }

    def definitions(self, path: Path) -> Definitions:
        """Return the archive's definitions.

        Raise ProxyError if the definitions are incomplete or contradict each other.
        """
        if len(self.ranks) > RANKS_MAX or len(set(self.ranks)) != len(self.ranks):
            raise ProxyError(f"{path}: damaged: {len(self.ranks)} ranks, with duplicates or more than {RANKS_MAX}")
        if missing := set(self.ranks) - set(self._locations):
            raise ProxyError(f"{path}: {len(missing)} of {len(self.ranks)} ranks are missing: record a complete run")
        if not self._ticks_per_s:
            raise ProxyError(f"{path}: truncated: the length of a tick is missing")
        world = len(self.ranks)
        groups = {number: tuple(members) for number, members in self._groups.items() if max(members, default=0) < world}
        own = set(self.ranks)
        return Definitions(
            self.ranks,
            [one for one in self._locations if one not in own],
            {number: groups[group] for number, group in self._comms.items() if group in groups},
            {number: self._strings.get(name, "") for number, name in self._regions.items()},
            self._ticks_per_s,
        )


def _take_records(
    library: ModuleType, source: Any, functions: Mapping[int, str], found: list[Record]
) -> list[Callable[..., None]]:
    """Register callbacks that append a location's records to `found`.

    The returned callbacks must be kept until all records are read.
    """
    mpi = {
        number: name.lower()[4:].rstrip("_") for number, name in functions.items() if name.lower().startswith("mpi_")
    }
    collectives = {
        getattr(library, name).value: name.removeprefix("COLLECTIVE_OP_").lower()
        for name in dir(library)
        if name.startswith("COLLECTIVE_OP_")
    }

    def enter(_at: int, time: int, _place: int, _data: Any, _more: Any, region: int) -> None:
        found.append(Record("enter", time, mpi.get(region, "")))

    def leave(_at: int, time: int, _place: int, _data: Any, _more: Any, region: int) -> None:
        found.append(Record("leave", time, mpi.get(region, "")))

    def message(kind: str) -> Callable[..., None]:
        def take(_at: int, time: int, _p: int, _d: Any, _m: Any, peer: int, comm: int, tag: int, *more: int) -> None:
            size, request = more if len(more) > 1 else (more[0], 0)
            found.append(Record(kind, time, "", peer, comm, tag, size, size, request))

        return take

    def request(kind: str) -> Callable[..., None]:
        def take(_at: int, time: int, _place: int, _data: Any, _more: Any, number: int) -> None:
            found.append(Record(kind, time, request=number))

        return take

    def collective(
        _at: int, time: int, _p: int, _d: Any, _m: Any, op: Any, comm: int, root: int, sent: int, received: int
    ) -> None:
        found.append(Record(collectives.get(op.value, "?"), time, "", root, comm, -1, sent, received))

    kept: dict[str, Callable[..., None]] = {
        "Enter": enter,
        "Leave": leave,
        "MpiSend": message("send"),
        "MpiIsend": message("isend"),
        "MpiRecv": message("recv"),
        "MpiIrecv": message("irecv"),
        "MpiIsendComplete": request("isend_complete"),
        "MpiIrecvRequest": request("irecv_request"),
        "MpiRequestCancelled": request("cancelled"),
        "MpiCollectiveEnd": collective,
    }
    callbacks = library.EvtReaderCallbacks_New()
    for name, function in kept.items():
        getattr(library, f"EvtReaderCallbacks_Set{name}Callback")(callbacks, function)
    library.EvtReader_SetCallbacks(source, callbacks, None)
    library.EvtReaderCallbacks_Delete(callbacks)
    return list(kept.values())
