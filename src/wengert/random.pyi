# Written from the table of ops by tests/test_stubs.py, which says how to write it again.
"""Random numbers from explicit keys: the same key gives the same numbers."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from wengert.ops.drawing.draws import beta as beta
from wengert.ops.drawing.draws import categorical as categorical
from wengert.ops.drawing.draws import choice as choice
from wengert.ops.drawing.draws import dirichlet as dirichlet
from wengert.ops.drawing.draws import exponential as exponential
from wengert.ops.drawing.draws import gamma as gamma
from wengert.ops.drawing.draws import gumbel as gumbel
from wengert.ops.drawing.draws import loggamma as loggamma
from wengert.ops.drawing.draws import poisson as poisson
from wengert.ops.drawing.draws import split as split
from wengert.ops.drawing.draws import truncated_normal as truncated_normal
from wengert.ops.drawing.generator import Generator as Generator
from wengert.ops.random import bernoulli as bernoulli
from wengert.ops.random import key as key
from wengert.ops.random import normal as normal
from wengert.ops.random import permutation as permutation
from wengert.ops.random import randint as randint
from wengert.ops.random import uniform as uniform

__all__ = [
    "random_bits",
    "fold_in",
    "Generator",
    "key",
    "uniform",
    "normal",
    "bernoulli",
    "randint",
    "permutation",
    "split",
    "exponential",
    "gumbel",
    "categorical",
    "loggamma",
    "gamma",
    "beta",
    "dirichlet",
    "poisson",
    "truncated_normal",
    "choice",
]

def random_bits(key: Any, shape: Any, dtype: Any = ..., stream: int = 0) -> Any:
    r"""Random unsigned integers; element i, counted row by row, depends on key, stream and i only.

    >>> wg.random.random_bits(wg.random.key(0), (2, 2))
    array([[1713891541, 3781805453],
           [3159862348, 2600524760]], dtype=uint32)
    """

def fold_in(key: Any, number: Any) -> Any:
    r"""A new key from a key and a number: different numbers give unrelated keys.

    The number may be a value of the program, such as the index of a training step.

    >>> key = wg.random.key(7)
    >>> wg.random.fold_in(key, 0).tolist() != wg.random.fold_in(key, 1).tolist()
    True
    """
