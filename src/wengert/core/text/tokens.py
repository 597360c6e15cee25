"""Tokens: a place in a text that moves on, and errors that name the line of that place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from wengert.errors import CheckError

BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
COMMENT = re.compile(r"[ \t]*#[ \t]*([^\n]*)")
WORD = re.compile(r"[^\W\d]\w*")
STRING = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')
TOKEN = re.compile(r"<\w+|[%@$]?\w+|[^\n]")

SHOWN = 40  # characters of a token in a message
DEEPEST = 64  # brackets and graphs inside each other; Python's own stack ends later

T = TypeVar("T")


class Tokens:
    """Reads a text from its beginning; blanks, line breaks and comments separate tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0  # how many brackets and graphs are open here

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        """Raise the error that shows the token here (or at `at`) and says what is wrong with it."""
        at = self.here() if at is None else at
        token = TOKEN.match(self.text, at)
        text = token[0] if token else ""
        short = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        shown = repr(short) if token else "the end of the text"
        raise CheckError(f"read: line {self.line(at)} has {shown}; {reason}.")

    def here(self) -> int:
        """Where the next token begins."""
        match = BLANK.match(self.text, self.at)
        assert match is not None  # the pattern also matches nothing
        self.at = match.end()
        return self.at

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.here())
        if match is not None:
            self.at = match.end()
        return match

    def need_match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = self.match(pattern)
        if match is None:
            self.fail(f"expected {what}")
        return match

    def take(self, symbol: str) -> bool:
        if not self.text.startswith(symbol, self.here()):
            return False
        self.at += len(symbol)
        return True

    def need(self, symbol: str, otherwise: str = "") -> None:
        if not self.take(symbol):
            self.fail(f"expected {symbol!r}{otherwise}")

    def keyword(self, word: str) -> bool:
        match = WORD.match(self.text, self.here())
        if match is None or match[0] != word:
            return False
        self.at = match.end()
        return True

    def items(self, item: Callable[[], T], closing: str) -> list[T]:
        """Items between commas up to the closing symbol; a comma may stand after the last one."""
        items: list[T] = []
        self.enter()
        while not self.take(closing):
            items.append(item())
            if not self.take(","):
                self.need(closing, " or ','")
                break
        self.depth -= 1
        return items

    def enter(self) -> None:
        """Go one level deeper; the caller counts back when it comes out."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"brackets and graphs lie in each other at most {DEEPEST} deep")

    def comment(self) -> str:
        """The comment on the rest of this line, if there is one; the place does not move."""
        match = COMMENT.match(self.text, self.at)
        return match[1].rstrip() if match else ""

    def string(self) -> str:
        at = self.here()
        match = self.need_match(STRING, "a text in double quotes")
        try:
            text = str(json.loads(match[0]))
            text.encode()  # half of a pair of surrogates is no character
        except ValueError:
            self.fail("its escapes must be those of JSON", at)
        return text
