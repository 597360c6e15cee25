"""Random keys x[key] of every kind that NumPy takes: its elements, gradients and refusals."""

import numpy as np
import pytest
from levels import pullback, require_same, traced

import wengert as wg
from wengert.core.table import op

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TRUTHS = (True, False, np.True_, np.False_, np.array(True), np.array(False))
COUNT = 2500  # keys per seed


class Keys:
    """Draws arrays and keys for them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def chance(self, probability):
        return self.rng.random() < probability

    def below(self, n):
        return int(self.rng.integers(n))

    def array(self):
        least = 0 if self.chance(0.2) else 1
        shape = tuple(self.rng.integers(least, 5, self.below(6)).tolist())
        dtype = ("float64", "float32", "int8", "uint64", "bool")[self.below(5)]
        return np.asarray(self.rng.integers(0, 100, shape)).astype(dtype)

    def key(self, shape):
        block = tuple(self.rng.integers(0 if self.chance(0.3) else 1, 4, self.below(4)).tolist())
        parts, axis = [], 0
        for _ in range(self.below(len(shape) + 3)):
            kind = self.below(11)
            if kind == 0:
                parts.append(None)
            elif kind == 1 and not any(part is Ellipsis for part in parts):
                parts.append(Ellipsis)
                axis += self.below(len(shape) - axis + 1)
            elif kind == 2 and self.chance(0.3):
                parts.append(TRUTHS[self.below(6)])
            elif axis < len(shape):
                part, used = self.part(kind, shape[axis:], block)
                parts.append(part)
                axis += used
        return parts[0] if len(parts) == 1 and self.chance(0.5) else tuple(parts)

    def part(self, kind, shape, block):
        """Something for the first of these axes, or the first few, and for how many."""
        n = shape[0] + self.chance(0.01)  # now and then it asks for too much
        if kind in (6, 7) and n:
            return self.position(n), 1
        if kind in (8, 9):
            return self.positions(n, block), 1
        if kind == 10:
            used = 1 + self.below(min(3, len(shape)))
            return self.mask(shape[:used]), used
        return self.slice(n), 1

    def slice(self, n):
        ends = [None if self.chance(0.3) else self.below(2 * n + 5) - n - 2 for _ in range(2)]
        if self.chance(0.2):
            ends = [end if end is None else np.int32(end) for end in ends]
        return slice(*ends, (None, 1, 2, 3, -1, -2, -3, 7, -7)[self.below(9)])

    def position(self, n):
        number = self.below(2 * n) - n
        as_unsigned = np.uint64 if number >= 0 else np.int64
        return (int, np.int8, np.array, as_unsigned)[self.below(4)](number)

    def positions(self, n, block):
        dtype = np.dtype(INTEGERS[self.below(8)])
        shape = tuple(1 if self.chance(0.25) else m for m in block[self.below(len(block) + 1) :])
        if n == 0 and 0 not in shape:
            shape = (0,)
        lowest = 0 if dtype.kind == "u" else -n
        found = np.asarray(self.rng.integers(lowest, max(n, 1), shape)).astype(dtype)
        return found.tolist() if shape and self.chance(0.2) else found

    def mask(self, shape):
        found = self.rng.random(shape) < 0.5
        if found.size and self.chance(0.3):  # of one element: it broadcasts
            found = np.arange(found.size).reshape(shape) == self.below(found.size)
        return found.tolist() if found.size and self.chance(0.1) else found


def drawn(seed):
    keys = Keys(seed)
    for _ in range(COUNT):
        x = keys.array()
        yield keys.rng, x, keys.key(x.shape)


@pytest.mark.parametrize("seed", [0, 1])
def test_keys(seed):
    """Eager and traced, each key has NumPy's elements, or is refused where NumPy refuses it."""
    refused = 0
    for _, x, key in drawn(seed):
        about = f"shape {x.shape}, {x.dtype}, key {key}"
        try:
            expected = np.asarray(x[key])
        except IndexError:
            refused += 1
            for way in (op.getitem, lambda x, key: traced(lambda x: x[key], x)):
                with pytest.raises((IndexError, wg.errors.ShapeError)):
                    way(x, key)
            continue
        for found in (op.getitem(x, key), traced(lambda x, key=key: x[key], x)):
            assert found.shape == expected.shape, about
            assert found.dtype == expected.dtype, about
            assert np.array_equal(found, expected), about
    assert refused > 10


def test_gradients():
    """The gradient of x[key] is what was asked for, added where the elements came from."""
    compared = 0
    for rng, x, key in drawn(2):
        if x.dtype.kind != "f":
            continue
        try:
            shape = x[key].shape
        except IndexError:
            continue
        g = np.asarray(rng.integers(-9, 10, shape)).astype(x.dtype)
        expected = np.zeros_like(x)
        np.add.at(expected, key, g)
        require_same(pullback(lambda x, key=key: x[key], x, g)[1], expected)
        compared += 1
    assert compared > 500


def test_compiled():
    """A few compiled, with integer arrays as constants and as arguments."""
    for number, (_, x, key) in enumerate(drawn(3)):
        if number % 150:
            continue
        parts = key if isinstance(key, tuple) else (key,)
        places = [
            place
            for place, part in enumerate(parts)
            if isinstance(part, np.ndarray) and part.dtype != bool
        ]

        def with_arguments(x, *indices, parts=parts, places=places):
            given = dict(zip(places, indices, strict=True))
            return x[tuple(given.get(place, part) for place, part in enumerate(parts))]

        try:
            expected = np.asarray(x[key])
        except IndexError:
            continue
        require_same(wg.compile(lambda x, key=key: x[key])(x), expected)
        indices = [parts[place] for place in places]
        require_same(wg.compile(with_arguments)(x, *indices), expected)


def test_a_wrong_index_is_refused_where_rows_have_no_elements():
    for x in (np.zeros((3, 0)), np.zeros((0, 3))):
        for way in (lambda x: wg.take(x, np.array([5]), axis=0), lambda x: x[np.array([5])]):
            with pytest.raises(IndexError, match="index 5 was given"):
                traced(way, x)
        with pytest.raises(IndexError, match="take: index 5 was given for axis 0"):
            wg.take(x, np.array([5]), axis=0)
