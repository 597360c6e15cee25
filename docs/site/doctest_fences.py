"""An extension of griffe: the examples of a docstring become blocks of code.

Docstrings here are prose with examples in it, as Python shows them. Markdown takes `>>>` for a
quotation in a quotation in a quotation.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^( *)>>> .*?(?=\n *\n|\Z)", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r" +# doctest: .*$", re.MULTILINE)


class DoctestFences(griffe.Extension):
    """Puts fences around the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring with its examples in fences.

    >>> print(fenced("Twice x.\\n\\n>>> 2 * 2\\n4"))
    Twice x.
    <BLANKLINE>
    ```pycon
    >>> 2 * 2
    4
    ```
    """
    return EXAMPLE.sub(
        lambda example: f"{example[1]}```pycon\n{DIRECTIVE.sub('', example[0])}\n{example[1]}```",
        text,
    )
