"""Generator: an object that counts its draws, and what takes one in the place of a key."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from wengert.core.bind import at_line
from wengert.core.dtypes import uint32
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.words.arguments import worded, worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.repairs_of_objects import OF_GENERATORS
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import DTypeError, RandomnessWarning, TraceError
from wengert.interpret.bodies.loops import indices, open_loops
from wengert.interpret.mistakes.called_again import called_again, looked_at
from wengert.interpret.trace import recorded_program
from wengert.ops.drawing.draw_bounds import shape_first

F = TypeVar("F", bound=Callable[..., Any])
_FOR_NUMBERS = -1  # no site has it: keys of numbers are never those of sites, nor of their loops


def _note_constant(key: Any, message: str) -> None:
    """Warn where every step of a training, or every call of a bound function, draws the same."""
    if called_again() and type(key) is not Tensor and recorded_program() is not None:
        warn_user(message, RandomnessWarning)


def _note_same_in_steps(what: str, key: Any) -> None:
    """Warn where every step of a loop over time draws the same."""
    loops = open_loops()
    if loops and loops[-1].is_same_in_steps(key):
        warn_user(
            f"{what}: draws in the body of a scan, under a key from outside of it; its numbers are "
            "the same in every step. Split the key in the carry, key, now = wg.random.split(key), "
            "or pass wg.random.split(key, n) as xs. If they shall be the same, draw before the "
            "loop.",
            RandomnessWarning,
        )


_ELSEWHERE = ("Generator", "RandomState", "Random")  # classes of those of other libraries
_NEVER_KEYS = {bool, int, float, str, tuple, list, type(None)}


def _no_key(name: str, given: Any) -> DTypeError:
    """The refusal of what stands where the key belongs: a seed, or NumPy's first argument."""
    if given is None:
        return DTypeError(
            f"{name}: None was given as the key; a key is two uint32 numbers, or a Generator. A "
            "parameter rng with a default keeps it in functions that are bound or evaluated: write "
            "rng without a default there."
        )
    if _is_generator_elsewhere(given):
        kind = type(given)
        return DTypeError(
            f"{name}: a generator of {kind.__module__.partition('.')[0]} ({kind.__name__}) was "
            "given as the key; a key is two uint32 numbers, or a wg.random.Generator. Write "
            "wg.random.Generator(wg.random.key(seed)); in a loss, name a parameter rng and pass "
            "that."
        )
    is_array = bool(getattr(given, "shape", ()))
    called = f"an array of {given.dtype}, {tuple(given.shape)}," if is_array else repr(given)
    key = "rng" if called_again() else "wg.random.key(seed)"
    where = ", with a parameter rng of the function" if called_again() else ""
    return DTypeError(
        f"{name}: {called} was given as the key; a key is two uint32 numbers, and comes first. "
        f"Write wg.random.{name}({key}, …){where}."
    )


def _is_never_key(x: Any) -> bool:
    """Whether something is a number, a generator of others, or an array of other numbers than a
    key's: the logits of somebody who has forgotten the key.
    """
    other_numbers = getattr(x, "dtype", uint32) != uint32
    return type(x) in _NEVER_KEYS or other_numbers or _is_generator_elsewhere(x)


def _is_generator_elsewhere(x: Any) -> bool:
    """Whether something is a generator of NumPy, torch or Python."""
    return any(kind.__name__ in _ELSEWHERE for kind in type(x).__mro__)


def drawn(draw: F) -> F:
    """A function of a key that takes a Generator in its place, and draws under its next key."""
    checked = worded(draw)

    @wraps(draw)
    def call(*args: Any, **kwargs: Any) -> Any:
        key = args[0] if args else kwargs.get("key", draw)  # without one, `checked` says so
        if isinstance(key, Generator):
            others = {name: value for name, value in kwargs.items() if name != "key"}
            return key._draw(checked, *args[1:], **others)
        if _is_never_key(key):
            raise _no_key(draw.__name__, key)
        if draw.__name__ != "split":  # of many keys from outside, each step may take its own
            _note_same_in_steps(f"random.{draw.__name__}", key)
        if not called_again():
            return checked(*args, **kwargs)
        _note_constant(
            key,
            f"random.{draw.__name__}: a constant key is used in {called_again()}; its numbers are "
            "the same in every call. Give the function a parameter rng, and pass that in place of "
            "the key; what shall stay the same, draw outside of it.",
        )
        with looked_at():
            return checked(*args, **kwargs)

    return cast("F", call)


@worded_methods(
    "__init__", "fold_in", "bits", "uniform", "normal", "bernoulli", "randint", "permutation"
)
class Generator(Explained):
    """Draws under one key; each call is a new site with a key of its own, numbered from 0.

    In a traced program the sites are numbered once; every run repeats them under its own key. A
    compiled function makes its generator itself, of a key that is an argument: numbers of one from
    outside would be the same in every call, and are refused.
    Inside a scan, the numbers of a generator from outside also depend on the index of the step.

    >>> rng = wg.random.Generator(wg.random.key(0))
    >>> bool((rng.normal((3,)) == rng.normal((3,))).any())
    False
    """

    __slots__ = ("_around", "_key", "_program", "sites", "used")
    _repairs = OF_GENERATORS
    _nature = (
        "a generator draws uniform, normal, bernoulli, randint, categorical, choice and others"
    )

    def __init__(self, key: Any) -> None:
        if isinstance(key, int | np.integer):
            raise TypeError(
                f"Generator: given the number {key}; it draws under a key. Write "
                f"wg.random.Generator(wg.random.key({key}))."
            )
        if _is_generator_elsewhere(key):
            raise _no_key("Generator", key)
        self._key = key
        self.sites = 0
        self.used = False
        self._around = open_loops()  # its key may depend on these
        self._program = recorded_program()  # which it is a part of

    def next_key(self) -> Any:
        """The key of the next site."""
        return self._draw(lambda key: key)

    def _draw(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call with the key of the next site, which is used up only if that succeeds."""
        self._require_inside()
        _note_constant(
            self._key,
            f"random.Generator: one of a constant key draws in {called_again()}; its numbers are "
            "the same in every call. Give the function a parameter rng and use that, or pass "
            "the key as an argument.",
        )
        self.used = True
        if open_loops()[-1:] == self._around[-1:]:  # made in this very body
            _note_same_in_steps("random.Generator", self._key)
        inside = [loop for loop in open_loops() if loop not in self._around]
        site = self.sites
        for loop in inside:
            site = loop.site(self, site)
        key = op.fold_in(self._key, site)
        for index in indices(inside):
            key = op.fold_in(key, index)
        with looked_at():
            out = function(key, *args, **kwargs)
        self.sites = site + 1
        return out

    def _require_inside(self) -> None:
        """Refuse to draw for a program that this generator is no part of."""
        program = recorded_program()
        if program is not None and program is not self._program and type(self._key) is not Tensor:
            raise at_line(
                TraceError(
                    "random.Generator: one from outside draws in a function that is compiled; its "
                    "numbers would be the same in every call. In the loss of a TrainStep, name a "
                    "parameter rng; elsewhere, make it inside, wg.random.Generator(key), of a key "
                    "that is an argument, and pass wg.random.fold_in(key, i) in call i."
                ),
                user_line(),
            )

    def fold_in(self, number: Any) -> Generator:
        """A generator of its own for this number, for example the index of a step: its draws are
        unrelated to those of this one, in loops and `vmap`, too.
        """
        self.used = True
        return Generator(op.fold_in(op.fold_in(self._key, _FOR_NUMBERS), number))

    def bits(self, shape: Any = (), dtype: Any = np.uint32) -> Any:
        return self._draw(op.random_bits, shape, dtype)

    def uniform(
        self, shape: Any = (), dtype: Any = np.float32, low: Any = 0.0, high: Any = 1.0
    ) -> Any:
        return self._draw(op.uniform, shape, dtype, low, high)

    def normal(self, shape: Any = (), dtype: Any = np.float32) -> Any:
        return self._draw(op.normal, shape, dtype)

    def bernoulli(self, p: Any = 0.5, shape: Any = None) -> Any:
        return self._draw(op.bernoulli, p, shape)

    def randint(self, shape: Any, low: Any, high: Any, dtype: Any = np.int64) -> Any:
        return self._draw(op.randint, shape=shape, low=low, high=high, dtype=dtype)

    def permutation(self, count: Any) -> Any:
        return self._draw(op.permutation, count)

    def exponential(self, shape: Any = (), dtype: Any = np.float32) -> Any:
        return self._draw(op.exponential, shape, dtype)

    def gumbel(self, shape: Any = (), dtype: Any = np.float32) -> Any:
        return self._draw(op.gumbel, shape, dtype)

    def categorical(self, logits: Any, shape: Any = None, axis: int = -1) -> Any:
        return self._draw(op.categorical, logits, shape, axis)

    def gamma(self, a: Any, shape: Any = None, dtype: Any = None) -> Any:
        return self._draw(op.gamma, a, shape, dtype)

    def beta(self, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
        return self._draw(op.beta, a, b, shape, dtype)

    def dirichlet(self, alpha: Any, shape: Any = None, dtype: Any = None) -> Any:
        return self._draw(op.dirichlet, alpha, shape, dtype)

    def poisson(self, rate: Any, shape: Any = None, dtype: Any = np.int64) -> Any:
        return self._draw(op.poisson, rate, shape, dtype)

    def truncated_normal(self, low: Any, high: Any, shape: Any = None, dtype: Any = None) -> Any:
        return self._draw(op.truncated_normal, low, high, shape, dtype)

    def choice(self, options: Any, shape: Any = (), replace: bool = True, p: Any = None) -> Any:
        return self._draw(op.choice, options, shape, replace, p)

    def __repr__(self) -> str:
        return f"Generator({self._key!r}, sites={self.sites})"


# Around the words about arguments, which know what was given by position.
Generator.randint = shape_first(Generator.randint)  # type: ignore[method-assign]
op.enter_function("Generator", Generator, space="random")  # the class itself
