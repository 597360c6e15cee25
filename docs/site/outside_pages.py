"""Pages of the site that are files beside docs/: CONTRIBUTING, the changelog, the license, and
every source file that a page points at.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

NAMED = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "license.md",
    "README.md": "index.md",
}
LINK = re.compile(r"\]\(((?!\w+:)[^)#\s]+)(#[^)\s]*)?\)")


def pages(root: Path) -> dict[str, str]:
    """The text of each such page, by its path on the site."""
    made = {page: _text(root / file) for file, page in NAMED.items() if page != "index.md"}
    for path in sorted((root / "docs").rglob("*.md")):
        for file in _outside(path.read_text(encoding="utf-8"), _source(path, root), root):
            if file not in NAMED:
                made[page_of(file)] = _listing(root / file, file)
    return made


def page_of(file: str) -> str:
    """Where a file beside docs/ is on the site."""
    return NAMED.get(file) or f"source/{file}.md"


def relinked(text: str, page: str, root: Path) -> str:
    """The text of a page of the site, in which links between docs/ and what is beside it lead to
    the site's pages. What leads to no file, as calls in code may seem to, stays.
    """
    source = {there: here for here, there in NAMED.items()}.get(page, f"docs/{page}")
    source = "docs/index.md" if page == "index.md" else source

    def led(link: re.Match[str]) -> str:
        file = _target(link[1], source)
        inside = file.startswith("docs/")
        if (inside and source.startswith("docs/")) or not (root / file).is_file():
            return link[0]
        there = file.removeprefix("docs/") if inside else page_of(file)
        return f"]({posixpath.relpath(there, posixpath.dirname(page) or '.')}{link[2] or ''})"

    return LINK.sub(led, text)


def _target(link: str, source: str) -> str:
    """The file that a link in a source file leads to, from the root of the project."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def _source(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _outside(text: str, source: str, root: Path) -> list[str]:
    """The files beside docs/ that a page points at."""
    targets = (_target(link[1], source) for link in LINK.finditer(text))
    return [file for file in targets if not file.startswith("docs/") and (root / file).is_file()]


def _text(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".md" else f"# {path.name.capitalize()}\n\n```text\n{text}\n```\n"


def _listing(path: Path, file: str) -> str:
    language = {".py": "python", ".toml": "toml"}.get(path.suffix, "text")
    return f"# {file}\n\n```{language}\n{path.read_text(encoding='utf-8')}\n```\n"
