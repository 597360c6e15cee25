"""The navigation: mkdocs.yml with its patterns filled in.

An entry with a star takes every page that matches it and that no other entry names, so that a new
page is found without a change of mkdocs.yml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any


def filled_in(nav: list[Any], pages: Iterable[str]) -> list[Any]:
    """The navigation with the pages that there are; a section without any is left out."""
    return list(_filled(nav, sorted(set(pages) - set(_paths(nav)))))


def _paths(entry: Any) -> Iterator[str]:
    """Every path that an entry names."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for inner in entry.values():
            yield from _paths(inner)
    else:
        for inner in entry:
            yield from _paths(inner)


def _filled(entries: list[Any], unnamed: list[str]) -> Iterator[Any]:
    for entry in entries:
        if isinstance(entry, str) and "*" in entry:
            yield from (page for page in unnamed if PurePosixPath("/", page).match(f"/{entry}"))
        elif isinstance(entry, dict):
            ((title, inner),) = entry.items()
            inner = list(_filled(inner, unnamed)) if isinstance(inner, list) else inner
            if inner:  # a section whose pages are not written yet is left out
                yield {title: inner}
        else:
            yield entry
