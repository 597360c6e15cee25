"""Einstein summation, written as sums, diagonals and products of two arrays at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, NoReturn

import numpy as np

from wengert.core.define import function
from wengert.core.dims import Dim, Size, product
from wengert.core.dtypes import float64, promote
from wengert.core.table import op
from wengert.errors import DTypeError, ShapeError
from wengert.interpret.mistakes.mixed_rows import note_summed_rows
from wengert.interpret.mistakes.widening import note_promotion

# The labels that arrays of numbers are given, in the order of Python's comparison of strings.
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class _Term(NamedTuple):
    """An array and a label for each axis; those of an ellipsis are '...2', '...1'."""

    x: Any
    labels: tuple[str, ...]


@function(array_function=(np.einsum,))
def einsum(subscripts: Any, *operands: Any, optimize: Any = True) -> Any:
    """Sums of products named by letters: one letter per axis, equal letters run together.

    Letters after `->` are the axes of the result, all others are summed; without `->` the result
    has the letters that occur once, in alphabetical order. A letter twice in one operand takes its
    diagonal, `...` stands for any further axes, which broadcast. `optimize` is accepted for NumPy's
    sake; the order is always chosen. Operands and lists of labels in turn mean the same:
    `einsum(x, [0, 1], y, [1, 2], [0, 2])`.

    >>> wg.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 4))).shape
    (2, 4)
    >>> wg.einsum("ii", np.array([[1.0, 2.0], [3.0, 4.0]]))
    array(5.)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _in_letters(subscripts, operands)
    arrays = [op.asarray(x) for x in operands]
    if len({x.dtype for x in arrays}) > 1:  # before anything is summed: integers would wrap around
        dtype = promote(*arrays)
        if dtype == float64:
            note_promotion("einsum", arrays)
        arrays = [x if x.dtype == dtype else op.astype(x, dtype) for x in arrays]
    terms, output = _parse(subscripts, arrays)
    sizes = _sizes(subscripts, terms)
    ready = [_with_each_label_once(term, sizes) for term in terms]
    counts = _counts(ready)
    ready = [
        _summed(term, {*output, *(name for name in counts if counts[name] > 1)}) for term in ready
    ]
    while len(ready) > 1:
        left, right = _next_pair(ready, sizes, output)
        rest = [term for term in ready if term is not left and term is not right]
        kept = {*output, *(label for term in rest for label in term.labels)}
        ready = [*rest, _contract(left, right, kept, sizes)]
    (x, labels), dtype = ready[0], arrays[0].dtype
    x = op.permute_dims(x, tuple(labels.index(label) for label in output))
    return x if x.dtype == dtype else op.astype(x, dtype)  # sums of small integers were wider


def _in_letters(first: Any, rest: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Operands and lists of labels in turn, with the labels as letters."""
    given = (first, *rest)
    pairs, result = given[: len(given) // 2 * 2], given[len(given) // 2 * 2 :]
    lists = [*pairs[1::2], *result]
    labels = {label for each in lists if isinstance(each, list | tuple) for label in each}
    numbers = labels - {Ellipsis}
    whole = all(isinstance(each, int | np.integer) and each >= 0 for each in numbers)
    if not rest or not all(isinstance(each, list | tuple) for each in lists) or not whole:
        raise DTypeError(
            f"einsum: given {type(first).__name__} as subscripts; a string is needed, or operands "
            "and lists of integers in turn. Write 'ij,jk->ik', or x, [0, 1], y, [1, 2], [0, 2]."
        )
    if len(numbers) > len(_LETTERS):
        raise ShapeError(
            f"einsum: {len(numbers)} labels were given; there are {len(_LETTERS)} letters. "
            "Take fewer products at a time."
        )
    # In order: where there is no result, its axes are in the order of the labels.
    letters = dict(zip(sorted(numbers), _LETTERS, strict=False))
    letters[Ellipsis] = "..."
    texts = ["".join(letters[label] for label in each) for each in lists]
    inputs = ",".join(texts[: len(pairs) // 2])
    return (f"{inputs}->{texts[-1]}" if result else inputs), pairs[::2]


def _refuse(subscripts: str, problem: str, repair: str) -> NoReturn:
    raise ShapeError(f"einsum: subscripts {subscripts!r} were given; {problem}. {repair}.")


def _parse(subscripts: str, arrays: Sequence[Any]) -> tuple[list[_Term], tuple[str, ...]]:
    inputs, arrow, result = subscripts.replace(" ", "").partition("->")
    texts = inputs.split(",")
    if len(texts) != len(arrays) or not arrays:
        _refuse(
            subscripts,
            f"they describe {len(texts)} operands, but there are {len(arrays)}",
            "Write one group of letters per operand",
        )
    terms = []
    for text, x in zip(texts, arrays, strict=True):
        letters = len(text.replace("...", ""))
        further = len(x.shape) - letters
        if further < 0 or (further and "..." not in text):
            _refuse(
                subscripts,
                f"{text!r} does not fit shape {tuple(x.shape)}, one letter per axis is needed",
                "Add letters, or ... for further axes",
            )
        terms.append(_Term(x, _labels(subscripts, text, further)))
    counts = _counts(terms)
    broadcast = tuple(
        sorted((label for label in counts if label[0] == "."), reverse=True, key=_place)
    )
    if not arrow:
        once = sorted(label for label, n in counts.items() if n == 1 and label[0] != ".")
        return terms, (*broadcast, *once)
    output = _labels(subscripts, result, len(broadcast))
    if len(set(output)) != len(output) or not set(output) <= counts.keys():
        _refuse(
            subscripts,
            "each letter of the result must occur in an operand, and once in the result",
            "Change the letters after ->",
        )
    if not set(broadcast) <= set(output):
        _refuse(
            subscripts, "the result must keep the axes of the ellipsis", "Write ... after -> too"
        )
    return terms, output


def _place(label: str) -> int:
    return int(label[3:])


def _labels(subscripts: str, text: str, further: int) -> tuple[str, ...]:
    head, dots, tail = text.partition("...")
    if not all(c.isascii() and c.isalpha() for c in head + tail):
        _refuse(
            subscripts,
            f"{text!r} holds something other than letters and one '...'",
            "Use letters from a to z and A to Z",
        )
    ellipsis = [f"...{i}" for i in range(further, 0, -1)] if dots else []
    return (*head, *ellipsis, *tail)


def _counts(terms: Iterable[_Term]) -> dict[str, int]:
    """How often each label occurs."""
    counts: dict[str, int] = {}
    for term in terms:
        for label in term.labels:
            counts[label] = counts.get(label, 0) + 1
    return counts


def _sizes(subscripts: str, terms: Sequence[_Term]) -> dict[str, Size]:
    sizes: dict[str, Size] = {}
    for x, labels in terms:
        own: dict[str, Size] = {}
        for label, size in zip(labels, x.shape, strict=True):
            if own.setdefault(label, size) != size:
                _refuse(
                    subscripts,
                    f"{label!r} has sizes {own[label]} and {size} in one operand, a diagonal has "
                    "equal ones",
                    "Use another letter",
                )
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size != 1 and size != known:
                note_summed_rows("einsum", [term.x for term in terms])
                name = repr(label) if label[0] != "." else "'...'"
                _refuse(
                    subscripts,
                    f"{name} has size {known} in one place and {size} in another, sizes must be "
                    "equal or 1",
                    "Check the order of the letters",
                )
    return sizes


def _with_each_label_once(term: _Term, sizes: dict[str, Size]) -> _Term:
    """The term without broadcast axes of size 1, and with the diagonal of a repeated label."""
    x, labels = term
    wide = [size == sizes[label] for label, size in zip(labels, x.shape, strict=True)]
    if not all(wide):
        x = op.reshape(x, tuple(size for size, keep in zip(x.shape, wide, strict=True) if keep))
        labels = tuple(label for label, keep in zip(labels, wide, strict=True) if keep)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = [axis for axis in range(len(labels)) if axis not in (first, second)]
            x = op.diagonal(op.permute_dims(x, (*rest, first, second)))
            labels = (*(labels[axis] for axis in rest), label)
    return _Term(x, labels)


def _summed(term: _Term, kept: set[str]) -> _Term:
    """The term, summed over the axes that no other term needs."""
    alone = tuple(axis for axis, label in enumerate(term.labels) if label not in kept)
    if not alone:
        return term
    return _Term(op.sum(term.x, axis=alone), tuple(n for n in term.labels if n in kept))


def _next_pair(
    terms: Sequence[_Term], sizes: dict[str, Size], output: Sequence[str]
) -> tuple[_Term, _Term]:
    """The two terms whose product is smallest; the first two where a size is a Dim."""
    if len(terms) == 2 or any(isinstance(size, Dim) for size in sizes.values()):
        return terms[0], terms[1]

    def cost(pair: tuple[_Term, _Term]) -> Any:
        others = {
            label for t in terms if t is not pair[0] and t is not pair[1] for label in t.labels
        }
        kept = {*pair[0].labels, *pair[1].labels} & {*output, *others}
        made = product(tuple(sizes[label] for label in kept))
        return made - sum(product(tuple(sizes[label] for label in t.labels)) for t in pair)

    return min(combinations(terms, 2), key=cost)


def _contract(a: _Term, b: _Term, kept: set[str], sizes: dict[str, Size]) -> _Term:
    """The product of two terms, summed over the labels that both have and no other term needs."""
    shared = [label for label in a.labels if label in b.labels]
    batch = [label for label in shared if label in kept]
    inner = [label for label in shared if label not in kept]
    left = [label for label in a.labels if label not in shared]
    right = [label for label in b.labels if label not in shared]
    names = (*batch, *left, *right)

    def arranged(term: _Term, order: list[str], *groups: list[str] | int) -> Any:
        """The term with its labels in this order, and the sizes of each group multiplied."""
        x = op.permute_dims(term.x, tuple(term.labels.index(label) for label in order))
        tail = (
            g if isinstance(g, int) else product(tuple(sizes[label] for label in g)) for g in groups
        )
        return op.reshape(x, (*(sizes[label] for label in batch), *tail))

    if not inner:
        x = op.multiply(arranged(a, batch + left, left, 1), arranged(b, batch + right, 1, right))
    elif not left and not right:
        x = op.vecdot(arranged(a, batch + inner, inner), arranged(b, batch + inner, inner))
    else:
        x = op.matmul(
            arranged(a, batch + left + inner, left, inner),
            arranged(b, batch + inner + right, inner, right),
        )
    return _Term(op.reshape(x, tuple(sizes[label] for label in names)), names)
