"""What MkDocs calls while it builds the site (`make docs`).

The pages of docs/ are written to be read as files, on any host of the repository. Here they become
a site: the navigation takes up new pages by itself, files beside docs/ that pages point at become
pages, and so does the reference, from the public names of the package.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import outside_pages
import reference_pages
from mkdocs.structure.files import File
from site_nav import filled_in

ROOT = Path(__file__).resolve().parents[2]
NO_RUN = re.compile(r"^( *```python) no-run$", re.MULTILINE)
EXAMPLES = re.compile(r"^( *)```python\n(?= *>>> )", re.MULTILINE)


def on_config(config: Any) -> Any:
    docs = ROOT / "docs"
    written = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    config["nav"] = filled_in(config["nav"], [*written, *_made()])
    config["mdx_configs"]["toc"]["slugify"] = slug
    return config


def on_files(files: Any, config: Any) -> Any:
    for path, text in _made().items():
        files.append(File.generated(config, path, content=text))
    return files


@cache
def _made() -> dict[str, str]:
    """The pages that are no files of docs/, by their paths."""
    return outside_pages.pages(ROOT) | reference_pages.pages()


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fences tell the tests what to run, and here how to colour; links to files beside docs/ go to
    their pages.
    """
    if page.file.src_uri.startswith("from/"):
        page.meta["hide"] = ["toc"]  # room for two programs beside each other
    coloured = EXAMPLES.sub(r"\1```pycon\n", NO_RUN.sub(r"\1", markdown))
    return outside_pages.relinked(coloured, page.file.src_uri, ROOT)


def slug(heading: str, separator: str) -> str:
    """A heading in addresses, as hosts of repositories write it and as tests of links expect."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_post_build(config: Any) -> None:
    """The index of the search as a script: pages that are opened from a folder look for it. Their
    search stays empty, as browsers start no worker there, but nothing fails.
    """
    folder = Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
