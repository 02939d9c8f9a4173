# SPDX-License-Identifier: Apache-2.0
"""Measure how one user's flood of requests, connections and bytes affects other users, memory and disk.

    python -m bench.trust.floods

Run the benchmark as root, because it starts a daemon, and processes with the uids of this host's other users. For
`flood_lost` and `flood_p99_ms`, three users send FLOOD requests in total (requests of 246 KB, usual requests, and
forged reports), a fourth user holds half-sent requests, and two honest users submit jobs meanwhile. `flood_lost` is the
number of the honest users' 300 decisions that cannot be explained afterwards, and `flood_p99_ms` is the 99th percentile
of the times of these decisions. `slow_victims_late` is the share of decisions on scripts of 12 KB that take longer than
LATE_MS while two connections of another user send 30 KB requests in a loop. `rss_mib_full_disk` is the daemon's largest
resident memory if its disk is full and all the requests that one user may make in an hour arrive at once.
`db_mib_per_uid_day` is how much one user's flood makes the database grow in a day.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.match.asked_daemon import rss_mib
from bench.match.large_database import fill, script_of
from bench.match.large_site import Site
from bench.quantile import quantile
from bench.trust.senders import (
    Asked,
    Sender,
    Words,
    ask,
    echo,
    flood,
    forged,
    hold,
    large,
    small,
    thirty,
    twelve,
    users,
)
from reprise.database import Database
from reprise.database.errors import NotFoundError
from reprise.database.store import size_on_disk
from reprise.matcher.daemon.service import ASKED_AT_ONCE, ASKED_PER_S, INLINE_BYTES
from reprise.matcher.daemon.stored_volume import A_DAY_BYTES, AT_ONCE_BYTES
from tests.unit.matcher_daemon import Daemon
from tests.waiting import wait_for

RECORDS = 5_000
FLOOD = 200_000
HONEST_EVERY_S = 0.05
LATE_MS = 100.0
SLOW_S = 20.0
DISK_MIB = 24
HOUR_S = 3600
PLAIN = "plain.sock"  # name of the socket of an echo server, which shows this machine's own delays
VARIETY = 40  # number of different requests of each kind, which a flood repeats
ON_A_SMALL_DISK = (
    'cp "$0/reprise.db" "$0.db" && mount -t tmpfs -o size=$1m tmpfs "$0" && mv "$0.db" "$0/reprise.db" && shift && '
    'exec "$@"'
)


def measure(scratch: Path) -> dict[str, float]:
    """Run the four measurements in separate directories below `scratch`, and return all results."""
    told: dict[str, float] = {}
    for name, part in (("flood", _flooded), ("slow", _slow), ("disk", _full_disk), ("day", _a_day)):
        begun = time.monotonic()
        place = scratch / name
        place.mkdir(parents=True)
        told |= part(place)
        _say(f"{name}: {time.monotonic() - begun:.0f} s, {json.dumps(told)}")
    return told


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


@contextmanager
def _serving(place: Path, *wrapper: str) -> Iterator[Daemon]:
    daemon = Daemon(place)
    fill(daemon.database, _site(), random.Random(2), RECORDS)  # noqa: S311 - not used for security
    daemon.spawn("nice", "-n", "-10", *wrapper)  # at the priority that the systemd unit gives the daemon
    try:
        daemon.wait_until_up()
        yield daemon
    finally:
        daemon.stop()


def _site() -> Site:
    return Site(random.Random(1), 50)  # noqa: S311 - not used for security


def _repeated(make: Callable[[Words], bytes], seed: int) -> Callable[[int], bytes]:
    words = Words(seed)
    frames = [make(words) for _ in range(VARIETY)]
    return lambda number: frames[number % VARIETY]


def _send(make: Callable[[Words], bytes], seed: int, name: str, count: int, at_once: int) -> dict[str, int]:
    return dict(flood(name, _repeated(make, seed), count, at_once))


def _honest(make: Callable[[Words], bytes], seed: int, name: str, every_s: float, path: Path) -> Asked:
    """Send an honest user's requests, one every `every_s` seconds, until a file exists at `path`."""
    words = Words(seed)
    return ask((make(words) for _ in iter(int, 1)), name, every_s, lambda _: path.exists())


# --- flood_lost, flood_p99_ms


def _flooded(place: Path) -> dict[str, float]:
    mallory, eve, trudy, oscar, alice, bob = users()[:6]
    over = place / "run" / "over"
    with _serving(place) as daemon:
        name = daemon.socket.name
        honest = [
            Sender(uid, daemon.socket, partial(_honest, small, uid, name, HONEST_EVERY_S, Path("over")))
            for uid in (alice, bob)
        ]
        shares = ((mallory, large, 0.04), (mallory, small, 0.26), (eve, small, 0.35), (trudy, forged, 0.35))
        attack = [
            Sender(uid, daemon.socket, partial(_send, make, number, name, int(FLOOD * share), 200))
            for number, (uid, make, share) in enumerate(shares)
        ]
        plain = Sender(0, daemon.socket, partial(echo, PLAIN, Path("over")))
        wait_for("the plain server", (daemon.socket.parent / PLAIN).exists)
        control = Sender(0, daemon.socket, partial(_honest, small, 9, PLAIN, HONEST_EVERY_S, Path("over")))
        holding = Sender(oscar, daemon.socket, partial(hold, name, 600, 900.0))
        answered = [one.result() for one in attack]
        _say(f"floods were answered with {answered}")
        over.touch()
        asked = [one.result() for one in honest]
        beside = control.result().took_ms
        plain.result()
        holding.end()
    took = [took for one in asked for took in one.took_ms]
    with Database.open(daemon.database, read_only=True) as database:
        unknown = sum(not _is_known(database, one) for asks in asked for one in asks.ids)
    lost = sum(one.lost for one in asked) + unknown
    _say(
        f"honest users: {len(took)} requests, {lost} lost ({unknown} without an explanation), "
        f"median {quantile(took, 0.5):.1f} ms, p90 {quantile(took, 0.9):.1f} ms; a server that only echoes: "
        f"median {quantile(beside, 0.5):.1f} ms, p99 {quantile(beside, 0.99):.1f} ms"
    )
    return {"flood_lost": round(lost * 300 / len(took), 1), "flood_p99_ms": round(quantile(took, 0.99), 1)}


def _is_known(database: Database, decision: str) -> bool:
    try:
        return bool(database.decision(decision).metadata["program"])
    except NotFoundError:
        return False


# --- slow_victims_late


def _attack_slowly(seed: int, like: str, name: str, path: Path) -> Asked:
    return ask(thirty(Words(seed), like), name, 0.0, lambda _: path.exists())


def _slow(place: Path) -> dict[str, float]:
    mallory, *victims = users()[:5]
    with _serving(place) as daemon:
        name, over = daemon.socket.name, Path("over")
        like = script_of(_site().job())
        attack = [Sender(mallory, daemon.socket, partial(_attack_slowly, seed, like, name, over)) for seed in (1, 2)]
        waiting = [Sender(uid, daemon.socket, partial(_honest, twelve, uid, name, 0.2, over)) for uid in victims]
        time.sleep(SLOW_S)
        (daemon.socket.parent / over).touch()
        asked = [one.result() for one in waiting]
        attacks = [one.result() for one in attack]
    took = [took for one in asked for took in one.took_ms]
    late = sum(one > LATE_MS for one in took) + sum(one.lost for one in asked)
    _say(
        f"victims: {len(took)} requests, median {quantile(took, 0.5):.1f} ms, p99 {quantile(took, 0.99):.1f} ms; "
        f"the attack: {sum(len(one.took_ms) for one in attacks)} requests, {sum(one.lost for one in attacks)} refused, "
        f"median {quantile(attacks[0].took_ms, 0.5):.1f} ms"
    )
    return {"slow_victims_late": round(late / len(took), 4)}


# --- rss_mib_full_disk


def _hours_worth() -> int:
    """Return the number of requests of 246 KB that the daemon accepts from one uid in an hour."""
    return (ASKED_AT_ONCE + HOUR_S * ASKED_PER_S) // (1 + len(large(Words(1))) // INLINE_BYTES)


def _full_disk(place: Path) -> dict[str, float]:
    """Send the requests that one user may make in an hour at once, divided among all users so that none is refused."""
    everybody = users()
    count = _hours_worth()
    with _serving(
        place, "unshare", "--mount", "sh", "-c", ON_A_SMALL_DISK, str(place / "lib"), str(DISK_MIB)
    ) as daemon:
        name = daemon.socket.name
        attack = [
            Sender(uid, daemon.socket, partial(_send, large, number, name, count // len(everybody), 20))
            for number, uid in enumerate(everybody)
        ]
        answered = [one.result() for one in attack]
        peak = rss_mib(daemon, "VmHWM")
        full = daemon.log_contains("event=writes-wait .*file system is full")
        _say(
            f"an hour of flood: {count} requests of 246 KB, answered with {answered[:3]} ...; the disk was full: {full}"
        )
        daemon.kill()
    if not full:
        raise RuntimeError(f"the disk of {DISK_MIB} MiB was never full")
    return {"rss_mib_full_disk": round(peak, 1)}


# --- db_mib_per_uid_day


def _a_day(place: Path) -> dict[str, float]:
    """Send a day's flood within minutes, to a daemon that limits the data it stores but not the number of requests."""
    mallory = users()[0]
    with _serving(place, sys.executable, "-m", "bench.trust.without_rate") as daemon:
        before = size_on_disk(daemon.database)
        for make, count in ((large, 4_000), (small, 60_000), (forged, 40_000)):
            answered = Sender(mallory, daemon.socket, partial(_send, make, 1, daemon.socket.name, count, 20)).result()
            _say(f"{make.__name__}: {answered}, {(size_on_disk(daemon.database) - before) / 2**20:.1f} MiB")
    grown = (size_on_disk(daemon.database) - before) / 2**20
    exhausted = daemon.log_contains("event=not-stored")
    if not exhausted:
        raise RuntimeError("the flood did not reach the limit of a user's stored data")
    return {"db_mib_per_uid_day": round(grown * (AT_ONCE_BYTES + A_DAY_BYTES) / AT_ONCE_BYTES, 1)}


def main() -> None:
    """Measure the floods and print the JSON object."""
    with tempfile.TemporaryDirectory() as directory:
        sys.stdout.write(json.dumps(measure(Path(directory))) + "\n")


if __name__ == "__main__":
    if os.geteuid() != 0:
        raise SystemExit("bench.trust.floods: this benchmark acts as several users: run it as root")
    main()
