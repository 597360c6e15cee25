"""What to write in the place of what needs an open size as a number, by its text."""

from __future__ import annotations

import linecache
import re

from wengert.core.words.source import Line
from wengert.ops.indexing.getitem import MASKED

_CREATED = {"arange", "empty", "eye", "full", "linspace", "ones", "zeros"}
_OF_NUMPY = re.compile(r"(?:np|numpy)\.(\w+)\(")
_END = r"[^:,\[\]]+(?:\[[^\[\]]*\])?"
_PART = re.compile(rf"([\w.]+)\[((?!\s*-){_END})?:({_END})\]")  # x[:3], x[1:-n]
_ONE_PART = re.compile(rf"([\w.]+)\[\s*(?:({_END})\s*:|:({_END}))\s*\]")  # z[n:], z[:n]
_NEAR = 8  # lines
_IN_STEPS = re.compile(r"\[[^,\[\]]*:[^:,\[\]]*:[^:,\[\]]+\]|split\(")
_DIVIDED = r"\s*(?://|%)"
_BACKWARDS = (
    " A loop from the last to the first needs the number: wg.scan(body, carry, x, reverse=True), "
    "whose results stay in the order of x, would leave it open; discounted returns are "
    "wg.linear_recurrence(discount, rewards, reverse=True)."
)
_QUOTIENT = re.compile(rf"[^'\"]*[\w)\]]{_DIVIDED}")  # not of texts


def left_open(expression: str, line: Line | None) -> str:
    """What to write in the place of what asked for the size, where that leaves it open."""
    created, sliced = _OF_NUMPY.match(expression), _PART.fullmatch(expression)
    if created and created[1] in _CREATED:
        if _is_mask_in(expression, line):
            return f" {MASKED}"
        written = _written_as(created[1], expression)
        return f" {written} in the place of np.{created[1]} would leave it open."
    parted = _parted(expression, line)
    if parted:
        return (
            f" {parted} needs the number: cut the array before the call, and pass the parts as "
            "arguments, joined with wg.concat inside."
        )
    if sliced:
        array, first, end = sliced[1], sliced[2], sliced[3].strip()
        end = f"{array}.shape[0] {end}" if end.startswith("-") else end
        places = end if first is None else f"{first.strip()}, {end}"
        return (
            f" wg.take({array}, wg.arange({places}), axis=0) in the place of {expression} would "
            "leave it open, where there are as many."
        )
    if _runs_backwards(expression, line):
        return _BACKWARDS
    if _is_quotient(expression, line):
        return (
            " Quotients as n // 2, slices in steps and equal parts need the number: cut the array "
            "before the call, and pass the parts as arguments."
        )
    if re.match(r"len\(", expression):
        return _of_len(expression, line)
    if re.match(r"(?:np|numpy)\.(?:convolve|correlate)\(", expression):
        return (
            " NumPy slides the shorter of the two along the longer, and needs the number: "
            "wg.conv(x[None, None], wg.flip(w)[None, None])[0, 0], which is np.convolve(x, w, "
            "'valid'), would leave it open."
        )
    if re.search(r"(?:pool|conv)\w*\(", expression):
        return (
            " Pools, and convolutions with a stride, need the number: pad inputs to a few sizes, "
            "each of which has a program."
        )
    if re.match(r"(?:np|numpy)\.gradient\(", expression):
        return (
            " np.gradient has other formulas at the ends, and needs the number: give batches of "
            "one size; or slopes between neighbours, np.diff(y) / np.diff(x), would leave it open."
        )
    if re.match(r"range\(", expression):
        return f" wg.scan in the place of a loop over {expression} would leave it open."
    return ""


def _parted(expression: str, line: Line | None) -> str:
    """z[n:], or z[:n] where z[n:] stands near: what goes on from an open size has no other form."""
    part = _ONE_PART.fullmatch(expression)
    if part is None or line is None or re.match(r"-|\d+$", part[3] or part[2]):
        return ""
    if part[2]:
        return expression
    array, end = part[1], part[3].strip()
    around = linecache.getlines(line.file)[max(line.number - _NEAR, 0) : line.number + _NEAR]
    other = f"{array}[{end}:]"
    return other if other.replace(" ", "") in "".join(around).replace(" ", "") else ""


def _runs_backwards(expression: str, line: Line | None) -> bool:
    """Whether a loop goes over x[::-1], which needs no number by itself, reversed(x) or
    reversed(range(len(x))), range(len(x) - 1, -1, -1).
    """
    written = re.escape(expression)
    around = rf"reversed\((?:range\()?{written}\)|range\({written} *- *1, *-1, *-1\)"
    return (
        # Python names the whole loop for what it goes over, or that alone.
        re.match(r"(?:.*\bin\b)?[^:]*\[::-1\]|reversed\(|range\(.*, *-1, *-1\)$", expression)
        is not None
        or re.search(around, _text(line)) is not None
    )


def _is_quotient(expression: str, line: Line | None) -> bool:
    """Whether that is n // 2, len(x) // 2, x[::2] or split(x, 2)."""
    divided = re.escape(expression) + _DIVIDED
    return (
        _QUOTIENT.match(expression) is not None
        or _IN_STEPS.search(expression) is not None
        or (expression.startswith("len(") and re.search(divided, _text(line)) is not None)
    )


def _text(line: Line | None) -> str:
    return "" if line is None else linecache.getline(line.file, line.number)


def _of_len(expression: str, line: Line | None) -> str:
    """What to write for len(x), and besides where NumPy makes an array of it: np.eye(len(x))."""
    loop = _range_of(expression, line)
    if loop:
        return f" wg.scan in the place of a loop over {loop} would leave it open."
    plain = re.fullmatch(r"len\(([.\w]+)\)", expression)
    size = f"{plain[1] if plain else 'x'}.shape[0]"
    name, call = _made_with(expression, _text(line))
    if not name:
        return f" {size} in the place of {expression} would leave it open."
    if _is_mask_in(call, line):
        return f" {MASKED}"
    written = _written_as(name, call.replace(expression, size))
    return (
        f" {size} in the place of {expression}, and {written} in the place of np.{name}, would "
        "leave it open."
    )


def _range_of(expression: str, line: Line | None) -> str:
    """The range that a loop goes over, where it is one of this length: range(len(x) - 1), or
    range(n) near n = len(x).
    """
    text, written = _text(line), re.escape(expression)
    direct = re.search(rf"\brange\([^()]*{written}[^()]*\)", text)
    if direct:
        return direct[0]
    assigned = re.match(rf"\s*(\w+)\s*=\s*{written}\s*(?:#.*)?$", text)
    if assigned is None or line is None:
        return ""
    below = "".join(linecache.getlines(line.file)[line.number : line.number + _NEAR])
    later = re.search(rf"\brange\([^()]*\b{assigned[1]}\b[^()]*\)", below)
    return later[0] if later else ""


def _made_with(expression: str, text: str) -> tuple[str, str]:
    """The call of NumPy's around an expression that makes an array: its name, and all of it."""
    for start in reversed([*_OF_NUMPY.finditer(text)]):
        depth = 1
        end = start.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        call = text[start.start() : end].rstrip()
        if start[1] in _CREATED and expression in call:
            return start[1], call
    return "", ""


_WITH_DTYPE = re.compile(r"dtype|\b(?:bool|u?int|float)\d*_?\b(?!\()")
_OF_INTEGERS = re.compile(r"arange\((?!.*(?:\d\.|\.\d))|full\(.*,\s*(?:-?\d+|True|False)\s*\)$")


def _written_as(name: str, call: str) -> str:
    """What makes an open array as a call of NumPy's: with the dtype that is written there, or that
    NumPy gives integers; what has none is float64 there, and has that of the data here.
    """
    arguments = call.partition("(")[2]
    with_dtype = _WITH_DTYPE.search(arguments) or _OF_INTEGERS.match(f"{name}({arguments}")
    if with_dtype and call.endswith(")"):
        return f"wg.{name}({arguments}"
    return f"wg.{name}(…, dtype=x.dtype)"


def _is_mask_in(expression: str, line: Line | None) -> bool:
    """Whether that makes bools which an array is indexed with: x[~np.eye(n, dtype=bool)]."""
    is_index = re.search(rf"[\w)\]]\[[^\[\]]*{re.escape(expression)}", _text(line))
    return is_index is not None and re.search(r"\bbool_?\b", expression) is not None
