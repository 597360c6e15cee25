"""The Op record: everything known about one operation, and how a call of it is read."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from wengert.core.bind import bind, is_worded, located
from wengert.core.dtypes import CHARS, native, require_supported
from wengert.core.lowering import Lowering
from wengert.core.op_parts.batching import Batch
from wengert.core.op_parts.magnitude import Magnitude
from wengert.core.op_parts.samples import Sample
from wengert.core.signatures.declared import BEFORE_SLASH, NO_DEFAULT, PLAIN, REST, declared
from wengert.core.signatures.standard import call_with_keywords, with_keywords
from wengert.core.table import op as table
from wengert.core.tensor import Tensor
from wengert.core.types import Type, Value
from wengert.core.values.number import Number
from wengert.core.values.other_arrays import array_within
from wengert.core.words.arguments import (
    binding_refused,
    given_twice,
    no_parameter,
    not_given,
    refusal,
    too_many,
)
from wengert.core.words.not_arrays import require_array
from wengert.core.words.noticed.float_notices import told_again
from wengert.core.words.noticed.hidden import is_sparse, sparse_name
from wengert.errors import DTypeError, ShapeError, WengertWarning

OpKind: TypeAlias = Literal["source", "elementwise", "linear", "bilinear", "primitive", "composite"]
# (g, out, operands, params, wanted) -> one cotangent or None per operand
Vjp: TypeAlias = Callable[
    [Value, Value, Sequence[Value], dict[str, Any], Sequence[bool]], Sequence[Value]
]
# (tangents, out, operands, params) -> the tangent of out; None is a zero tangent
Jvp: TypeAlias = Callable[[Sequence[Value], Value, Sequence[Value], dict[str, Any]], Value]


class Call(NamedTuple):
    """How an op is called, read from its definition: operands stand before the slash, parameters
    after it.
    """

    operands: tuple[str, ...]
    optional: frozenset[str]  # operands that may be None
    variadic: bool  # the one operand is a sequence of arrays
    params: dict[str, Any]  # name -> default, or NO_DEFAULT
    least: int = 0  # arguments by position that leave none out
    definition: Callable[..., Any] | None = None  # whose signature it has

    @property
    def names(self) -> tuple[str, ...]:
        """What a call can name: operands, and parameters."""
        return (*self.operands, *self.params)

    def signature(self) -> inspect.Signature:
        """How it is called: operands may be given by name, and a sequence of them is one."""
        if self.definition is None:
            return inspect.Signature(return_annotation="Any")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            p.replace(
                kind=kind,
                annotation="Sequence[Any]" if p.kind is p.VAR_POSITIONAL else p.annotation,
            )
            for p in inspect.signature(self.definition).parameters.values()
        ]
        return inspect.Signature(parameters, return_annotation="Any")

    def arrange(
        self, name: str, args: Sequence[Any], kwargs: dict[str, Any], more: Sequence[str] = ()
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments of a call as operands and parameters, as Python would bind them. Messages
        name what `more` the op takes.
        """
        count = 1 if self.variadic else len(self.operands)
        if not kwargs and not self.variadic and self.least <= len(args) <= count + len(self.params):
            # The common case, without the questions below.
            if len(args) == count:
                return args, self.params.copy()
            return args[:count], self.params | dict(zip(self.params, args[count:], strict=False))
        given, rest = args[:count], args[count:]
        if len(rest) > len(self.params):
            raise too_many(name, len(args), count + len(self.params))
        params = self.params | dict(zip(self.params, rest, strict=False))
        taken = {*self.operands[: len(given)], *list(self.params)[: len(rest)]}
        for key, value in kwargs.items():
            if key not in self.names:
                raise no_parameter(name, key, (*self.names, *more))
            if key in taken:
                raise given_twice(name, key)
            if key in self.params:
                params[key] = value
        if len(given) < count:
            given = (
                *given,
                *(self._missing(name, key, kwargs) for key in self.operands[len(given) :]),
            )
        for key, value in params.items():
            if value is NO_DEFAULT:
                raise not_given(name, key)
        return list(given[0]) if self.variadic else given, params

    def _missing(self, name: str, key: str, kwargs: dict[str, Any]) -> Any:
        """An operand that was not given by position."""
        if key not in kwargs and key not in self.optional:
            raise TypeError(
                f"{name}: operand {key} was not given; it takes {', '.join(self.operands)}. "
                f"Pass {key} too."
            )
        return kwargs.get(key)

    @staticmethod
    def read(function: Callable[..., Any], kind: OpKind) -> Call:
        """From a definition. One of an elementwise op needs no slash: all it takes are operands."""
        parameters = declared(function)
        before = [each for each in parameters if each[1] in (BEFORE_SLASH, REST)]
        if kind == "elementwise" and not before:
            before = [each for each in parameters if each[1] == PLAIN]
        names = {name for name, _, _ in before}
        params = {name: default for name, _, default in parameters if name not in names}
        return Call(
            operands=tuple(name for name, _, _ in before),
            optional=frozenset(name for name, _, default in before if default is None),
            variadic=any(kind == REST for _, kind, _ in before),
            params=params,
            least=len(before) + sum(default is NO_DEFAULT for default in params.values()),
            definition=function,
        )


@dataclass(eq=False, repr=False, slots=True)  # slots: read in every call
class Op:
    """One operation. Made by the constructors in `define`; called like the function it is."""

    name: str
    kind: OpKind
    call: Call
    doc: str
    numpy: Callable[..., Any]  # the meaning: eager path and oracle
    # (*operands, **params) -> Type; operands need only shape and dtype. None: that of the body
    type: Callable[..., Type] | None
    # User's parameters -> canonical ones. Given canonical ones it gives them back; where those have
    # other names, `settled` does.
    canonical: Callable[..., dict[str, Any]] | None = None
    settled: Callable[..., dict[str, Any]] | None = None
    dtypes: Callable[[str, Sequence[Value]], Sequence[Any]] | None = (
        None  # dtype each operand is computed in
    )
    vjp: Vjp | None = None
    jvp: Jvp | None = None
    keeps_out: bool = True  # whether the backward pass reads the output
    keeps: tuple[bool, ...] | bool = True  # and which of the operands
    flat: bool = False  # derivative zero almost everywhere
    opaque: str | None = None  # no derivative, and why
    front: Callable[..., Any] | None = (
        None  # how users call it, where that is not operands and parameters
    )
    keywords: tuple[str, ...] = ()  # of the array API standard, which are no parameters of a node
    body: Callable[..., Any] | None = None  # of a composite: what it means in terms of other ops
    # On arrays alone: (output, what its backward step can use of the work already done, or None).
    # The rule gets that in the place of the output, and None wherever there are no arrays.
    remember: Callable[..., tuple[Any, Any]] | None = None
    # Where the backward pass reads more than the op returns: the parameters with which it returns
    # that too, behind its outputs, and the number of outputs without it.
    saving: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    asked: Callable[[dict[str, Any]], int] | None = None
    sized: bool = False  # its parameters may hold Dims
    space: str = (
        ""  # public namespace below wg: "" is wg itself, "linalg", "random"; "hidden" for none
    )
    commutative: bool = False
    nonempty: bool = False  # reduces axes, and refuses those of no elements
    several: bool = False  # its parameter `over` has sizes whose product is above 1
    # Correctly rounded, or only moving and comparing: every target gives the bits NumPy gives.
    exact: bool = False
    # Of an op with several outputs: (params, which outputs are read) -> the parameters of a call
    # that leaves out what it can of the others, and the numbers of the outputs it keeps.
    narrow: Callable[[dict[str, Any], Sequence[bool]], tuple[dict[str, Any], list[int]]] | None = (
        None
    )
    # How it is called for many examples at once. Elementwise ops broadcast and composites have a
    # body; any other op without it is called once for each example, in a loop.
    batch: Batch | None = None
    lower: Lowering | None = None  # how it becomes code
    magnitude: Magnitude | None = None  # how large and how small its results can be
    infix: str | None = None  # the method of Python's operator that means it
    samples: tuple[Sample, ...] = ()
    at: Sequence[tuple[Any, ...]] = ()
    tolerance: float = 1e-10  # relative error against the oracle in float64
    __name__: str = field(init=False, default="")
    drops: tuple[int, ...] = field(init=False, default=())  # operands the backward pass skips
    bare_count: int = field(init=False, default=-1)  # operands, where there is nothing else
    # Of an op made for one call: the recorded bodies, which are part of the program.
    recorded: dict[Any, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.__name__ = self.name
        each = self.keeps if isinstance(self.keeps, tuple) else ()
        self.drops = tuple(i for i, keep in enumerate(each) if not keep)
        # Operands alone can go to bind as they are, unless a body will ask them for their shapes.
        plain = self.front is None and self.body is None and not self.call.variadic
        self.bare_count = len(self.call.operands) if plain and not self.call.params else -1

    def __call__(self, *args: Any, **kwargs: Any) -> Value:
        if len(args) == self.bare_count and not kwargs:
            return bind(self, args, {})
        if kwargs and self.keywords and not kwargs.keys().isdisjoint(self.keywords):
            return call_with_keywords(self, self.name, self.call.operands[:1], args, kwargs)
        if self.front is not None:
            try:
                return self.front(*args, **kwargs)
            except RuntimeWarning:
                return told_again(self.front, *args, **kwargs)
            except TypeError as error:
                if not binding_refused(error):
                    raise
                raise refusal(self.name, self.signature(), args, kwargs) or error from None
        operands, params = self.read(args, kwargs)
        return bind(self, operands, params)

    def read(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Value], dict[str, Any]]:
        """The operands and canonical parameters of a call."""
        given, params = self.call.arrange(self.name, args, kwargs, self.keywords)
        operands = [self.operand(x) for x in given]
        for i, x in enumerate(operands):
            if x is None or (type(x) is np.ndarray and x.dtype.char not in CHARS):
                self.require_operands(operands)
            elif type(x) is np.ndarray and not x.dtype.isnative:
                operands[i] = native(x)
        if self.canonical is not None:
            try:
                params = self.canonical(*operands, **params)
            except RuntimeWarning:
                params = told_again(self.canonical, *operands, **params)
            except WengertWarning:  # a filter has made an error of it
                raise
            except Exception as error:
                clearer = located(error if is_worded(error) else self._unreadable(params), operands)
                if clearer is error:
                    raise
                raise clearer from (None if is_worded(error) else error)
        return operands, params

    def signature(self) -> inspect.Signature:
        """How users call it; inspect and editors find it as `__signature__`."""
        own = self.call.signature() if self.front is None else inspect.signature(self.front)
        return with_keywords(own, self.keywords)

    def _unreadable(self, params: dict[str, Any]) -> TypeError:
        given = ", ".join(f"{name}={reprlib.repr(value)}" for name, value in params.items())
        return TypeError(
            f"{self.name}: given {given}; one of these is of another kind than it takes. "
            "Compare its documentation."
        )

    def deciding(self) -> tuple[Any, ...]:
        """The fields that decide what a program with this op computes, and what becomes of it."""
        means = self.name, self.kind, self.numpy, self.type, self.body
        return *means, self.lower, self.narrow, self.commutative, self.exact

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self  # ops are compared by identity

    def __reduce__(self) -> tuple[Any, ...]:
        return _by_name, (self.name,)

    def rebind(self, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        """Call the op again with parameters that are canonical already."""
        return bind(self, operands, params)

    def operand(self, x: Any) -> Value:
        """An operand as a Tensor, a NumPy array or, where dtypes are promoted, a weak Python
        number.
        """
        kind = type(x)
        if kind is np.ndarray or kind is Tensor or x is None or isinstance(x, np.ndarray):
            return x
        if kind is Number:
            return x.tensor
        if self.kind == "elementwise" and isinstance(x, bool | int | float):
            return x
        held = array_within(x)
        if held is not x:
            return self.operand(held)  # perhaps a Tensor
        require_array(self.name, x)
        if isinstance(x, list | tuple) and holds_tensor(x):
            joined: Value = table.array(x)
            return joined
        try:
            return np.asarray(x)
        except (ValueError, TypeError) as error:
            if isinstance(x, list | tuple) and isinstance(error, ValueError):
                raise ShapeError(
                    f"{self.name}: given a {type(x).__name__} of arrays of different shapes as an "
                    "operand; it is joined to one array, and they must be equal. Join them with "
                    "wg.concat, or call it for each with wg.tree.map."
                ) from None
            raise DTypeError(
                f"{self.name}: given {type(x).__name__} as an operand; an operand is a Tensor, an "
                "array or a number. Convert it first."
            ) from None

    def require_operands(self, operands: Sequence[Value]) -> None:
        """Refuse an operand that is missing or has a dtype we do not have."""
        for position, x in enumerate(operands):
            if type(x) is Tensor:  # which `isinstance` would have to ask
                continue
            if isinstance(x, np.ndarray):
                if x.dtype == object and x.ndim == 0:
                    if is_sparse(x.item()):
                        raise DTypeError(
                            f"{self.name}: given a {sparse_name(x.item())} as operand {position}; "
                            "operands are dense. Convert it with x.toarray()."
                        )
                    require_array(self.name, x.item())
                require_supported(self.name, position, x.dtype)
            elif x is None and (
                self.call.variadic or self.call.operands[position] not in self.call.optional
            ):
                raise DTypeError(
                    f"{self.name}: given None as operand {position}; an operand is a Tensor, an "
                    "array or a number. Pass one."
                )

    def operand_dtypes(self, operands: Sequence[Value]) -> Sequence[Any]:
        """The dtype in which each operand enters the computation."""
        if self.dtypes is None:
            return [getattr(x, "dtype", None) for x in operands]
        return self.dtypes(self.name, operands)

    def inlined(self, params: dict[str, Any], rule: Vjp | Jvp | None) -> bool:
        """Whether a derivative goes through the body instead of `rule`.

        A rule of its own covers the call a derivative was asked for. Where that derivative made the
        call save values, derivatives around it go through the body that computes them.
        """
        return (
            self.body is not None
            and self.differentiable
            and (rule is None or params.get("save") is True)
        )

    @property
    def differentiable(self) -> bool:
        return not self.flat and self.opaque is None

    def __repr__(self) -> str:
        return f"<op {self.name}>"


class _OfOps:
    """An attribute that ops have and their class has not: inspect asks both for the same names."""

    def __init__(self, find: Callable[[Op], Any], of_class: Any = None) -> None:
        self._find, self._of_class = find, of_class

    def __get__(self, owner: Op | None, kind: type) -> Any:
        return self._of_class if owner is None else self._find(owner)


def _documentation(op: Op) -> str:
    """How it is called, and what it does: help has no other place for the former."""
    names = [p.replace(annotation=p.empty) for p in op.signature().parameters.values()]
    return f"{op.name}{inspect.Signature(names)}\n\n{op.doc}"


# help(wg.tanh) shows what tanh does; a slot cannot have these names.
Op.__doc__ = _OfOps(_documentation, Op.__doc__)  # type: ignore[assignment]
Op.__signature__ = _OfOps(Op.signature)  # type: ignore[attr-defined]


def holds_tensor(x: Any) -> bool:
    """Whether nested lists and tuples hold a Tensor."""
    if isinstance(x, list | tuple):
        return any(map(holds_tensor, x))
    return isinstance(x, Tensor)


def _by_name(name: str) -> Any:
    """An op that was pickled."""
    return table[name]
