# SPDX-License-Identifier: Apache-2.0
"""Check that SECURITY.md states the modes that files really have, and that only this page lists who may do what."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from reprise.config import Config
from reprise.database import store
from reprise.matcher.wire import tokens
from reprise.tuner.model import artifacts, private_files
from tests.places import ROOT

PAGE = (ROOT / "SECURITY.md").read_text()
SOCKET = (ROOT / "etc/systemd/reprise-matcher.socket").read_text()


def unit_mode(setting: str) -> int:
    (found,) = re.findall(rf"^{setting}=(\d+)$", SOCKET, re.MULTILINE)
    return int(found, 8)


def test_the_modes_on_the_page_are_those_of_the_files(tmp_path: Path) -> None:
    config = Config.model_validate({"database": {"path": str(tmp_path / "reprise.db")}})
    tokens.key_of(config)
    rows = dict(re.findall(r"^\| (.*?) \| (0\d{3}) \|", PAGE, re.MULTILINE))
    assert {what: int(mode, 8) for what, mode in rows.items()} == {
        "`/var/lib/reprise/reprise.db`, its `-wal` and `-shm`, backups, exports": store.FILE_MODE,
        "`database.snapshot`, `matcher.publish`": store.SHARED_MODE,
        "`web.key` next to the database": stat.S_IMODE(tokens.key_path(config).stat().st_mode),
        "directories below `tuner.work`": private_files.DIRECTORY_MODE,
        "files below `tuner.work`": private_files.FILE_MODE,
        "files in `artifacts.directory`": artifacts.FILE_MODE,
        "`/run/reprise/matcher.sock`": unit_mode("SocketMode"),
        "`/run/reprise`": unit_mode("DirectoryMode"),
    }


def test_the_table_of_rights_is_only_on_this_page() -> None:
    head = "| who | can | cannot |"
    pages = [path for path in (ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")) if head in path.read_text()]
    assert pages == [ROOT / "SECURITY.md"]
    for page in ("docs/how-to/admin.md", "docs/explanation/security.md"):
        assert "(../../SECURITY.md)" in (ROOT / page).read_text(), page


def test_the_page_invents_no_address() -> None:
    assert re.findall(r"[\w.]+@[\w.]+|https?://", PAGE) == []
