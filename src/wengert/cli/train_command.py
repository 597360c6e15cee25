"""The command line of `wengert train`: flags of other programs, and words that are too many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from typer.core import TyperCommand

from wengert.cli.datasets.builtin_sets import SETS
from wengert.cli.datasets.data_source import ENDINGS
from wengert.cli.train_settings import called_here, flag

_EXTRA = re.compile(r"Got unexpected extra argument\S* \((.*)\)$")
_ONE_COLUMN = ("--categorical", "--ignore", "--keep")  # each time that it is given


class TrainCommand(TyperCommand):  # type: ignore[misc]  # typer has no types here
    """Knows what other programs call its flags, and what is meant by words that are too many."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given_words = tuple(args)  # which parsing takes away
        try:
            return cast("list[str]", super().parse_args(ctx, args))
        except Exception as error:  # typer has this class from click, or from a copy of it
            name = getattr(error, "option_name", None)
            if isinstance(name, str) and hasattr(error, "possibilities"):
                given = name.lstrip("-").replace("-", "_").lower()
                here = called_here(given)
                if here != given:
                    error.possibilities = [flag(here)]
            extra = _EXTRA.match(str(getattr(error, "message", "")))
            if extra is not None:
                about = _about_extra_words(given_words, extra[1].split())
                error.message += f". {about}"  # type: ignore[attr-defined]
            raise


def _about_extra_words(arguments: Sequence[str], extra: Sequence[str]) -> str:
    """What to write for the words that are too many among the arguments of `wengert train`."""
    sizes = _behind("--layers", arguments)
    if len(sizes) > 1 and all(each.replace(",", "").isdigit() for each in sizes[:2]):
        numbers = takewhile(lambda each: each.replace(",", "").isdigit(), sizes)
        joined = ",".join(each.strip(",") for each in numbers)
        return f"Sizes of layers are one word, with commas: --layers {joined}"
    for option in _ONE_COLUMN:
        columns = _behind(option, arguments)
        if len(columns) > 1 and columns[1] in extra and not _is_data(columns[1]):
            written = " ".join(f"{option} {each}" for each in columns if not _is_data(each))
            return f"{option} takes one column, and may repeat: {written}"
    data = [each for each in extra if _is_data(each)]
    if data:
        return (
            "One file or set is trained on; join files for more rows. wengert predict RUN "
            f"{data[0]} predicts its rows, and says how many are right"
        )
    if not any(each.partition("=")[0] == "--target" for each in arguments):
        return "The column to learn is an option: --target NAME"
    return "An option takes one word; one with spaces stands in quotes"


def _behind(option: str, arguments: Sequence[str]) -> list[str]:
    """The words between an option and the next one."""
    if option not in arguments:
        return []
    rest = arguments[arguments.index(option) + 1 :]
    return list(takewhile(lambda each: not each.startswith("-"), rest))


def _is_data(word: str) -> bool:
    return Path(word).suffix.lower() in ENDINGS or word in SETS
