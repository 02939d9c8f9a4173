# SPDX-License-Identifier: Apache-2.0
"""Hooks for mkdocs (`mkdocs.yml`) that add pages from the repository's root to the site and order the navigation.

Pages of docs/ link to CHANGELOG.md, CONTRIBUTING.md and SECURITY.md, which are outside of mkdocs' `docs_dir`. These
three files become pages in the folder `project` of the site, and links to them are changed accordingly.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
KINDS = {"tutorial": "Tutorial", "how-to": "How-to guides", "reference": "Reference", "explanation": "Explanation"}
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)]*)?\)")
DOCS, PLACE = PurePosixPath("docs"), PurePosixPath("docs/project")


def _source(page: str) -> PurePosixPath:
    """Return a page's source file, as a path relative to the repository's root."""
    path = DOCS / page
    return PurePosixPath(path.name) if path.parent == PLACE else path


def _destination(target: str) -> PurePosixPath:
    """Return the path below docs/ that the site uses for a file of the repository."""
    return PLACE / target if target in PROJECT else PurePosixPath(target)


def _indented(markdown: str) -> str:
    """Indent the contents of list items by four columns, and separate items of several paragraphs by empty lines.

    mkdocs requires both. On GitHub, contents may be indented by the marker's width, and no empty line is necessary.
    """
    lines: list[str] = []
    width, in_code, has_paragraphs = 0, False, False
    for line in markdown.splitlines():
        indent = len(line) - len(line.lstrip())
        if not in_code and line.strip() and indent < width:
            width = 0
        if width and line.strip():
            line = " " * (4 - width) + line
        has_paragraphs = has_paragraphs or (bool(width) and not line.strip())
        if not in_code and (marker := re.match(r"(- |\d\. )", line)):
            if has_paragraphs and lines and lines[-1].strip():
                lines.append("")
            width, has_paragraphs = len(marker[0]), False
        if re.match(r"\s*```", line):
            in_code = not in_code
        lines.append(line)
    return "\n".join(lines)


def _contents(config: MkDocsConfig, kind: str) -> list[str]:
    """Return the pages of one kind in the order of the links in docs/index.md; mkdocs reports a page without a link."""
    index = (Path(config.docs_dir) / "index.md").read_text(encoding="utf-8")
    return list(dict.fromkeys(re.findall(rf"\(({kind}/[a-z-]+\.md)\)", index)))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the navigation: the index, one tab for each kind of page, and the project's own pages."""
    sections: list[Any] = [{"Home": "index.md"}]
    sections += [{name: _contents(config, kind)} for kind, name in KINDS.items()]
    config.nav = [*sections, {"Project": [f"project/{page}" for page in PROJECT]}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the project's pages from the repository's root."""
    for page in PROJECT:
        text = (ROOT / page).read_text(encoding="utf-8")
        files.append(File.generated(config, f"project/{page}", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Change links between docs/ and the repository's root to links within the site, and indent lists."""
    source = _source(page.file.src_uri)
    here = _destination(source.as_posix()).parent

    def within(link: re.Match[str]) -> str:
        if re.match(r"[a-z]+:", link[2]):
            return link[0]
        target = posixpath.normpath(posixpath.join(source.parent.as_posix(), link[2]))
        found = posixpath.relpath(_destination(target).as_posix(), here.as_posix())
        return f"{link[1]}{found}{link[3] or ''})"

    return _indented(LINK.sub(within, markdown))


def on_post_build(config: MkDocsConfig) -> None:
    """Remove files that no page loads: search support for other languages, and source maps of the theme."""
    scripts = Path(config.site_dir, "assets")
    shutil.rmtree(scripts / "javascripts/lunr", ignore_errors=True)
    for path in scripts.rglob("*.map"):
        path.unlink()
