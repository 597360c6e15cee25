"""Arrays in objects that are no nodes of a tree: refused, as nothing would train or save them."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import wengert as wg
from wengert.errors import TraceError

x = np.ones((2, 3))


class Plain:
    """A model as one writes it for another library."""

    def __init__(self, w: Any) -> None:
        self.size, self.w = 3, w

    def __call__(self, x: Any) -> Any:
        return x * self.w


class Slotted:
    __slots__ = ("unset", "w")

    def __init__(self, w: Any) -> None:
        self.w = w


class PrivatelySlotted:
    __slots__ = ("__w",)

    def __init__(self, w: Any) -> None:
        self.__w = w


class Derived(Slotted):
    pass


class Dict(dict):  # type: ignore[type-arg]
    pass


class List(list):  # type: ignore[type-arg]
    pass


@dataclass
class Undeclared:
    def __init__(self, w: Any) -> None:
        self.w = w


HIDING = {
    "an attribute": Plain,
    "a slot": Slotted,
    "a private slot": PrivatelySlotted,
    "a slot of the class above": Derived,
    "a list": lambda w: Plain([0, w]),
    "a dict": lambda w: Plain({"w": w}),
    "a list of tuples": lambda w: Plain([("w", w)]),
    "a layer": lambda w: Plain(wg.nn.Linear.of(w)),
    "a list of layers": lambda w: Plain([wg.nn.Linear.of(w)]),
    "an object": lambda w: Plain(Slotted(w)),
    "a Sequential": lambda w: Plain(wg.nn.Sequential(wg.nn.Linear.of(w), "relu")),
    "a Sequential in a Sequential": lambda w: Plain(
        wg.nn.Sequential("relu", wg.nn.Sequential("relu", wg.nn.Linear.of(w)))
    ),
    "a Sequential of an object": lambda w: Plain(
        Slotted(Plain(wg.nn.Sequential(wg.nn.Linear.of(w))))
    ),
    "an Mlp": lambda w: Plain(wg.nn.Mlp((2, 3, 1))),
    "a TransformerBlock": lambda w: Plain(wg.nn.TransformerBlock(4, 2)),
    "a dict of lists of Sequentials": lambda w: Plain(
        {"heads": [None, wg.nn.Sequential(wg.nn.Linear.of(w))]}
    ),
    "a dict of lists of dicts of lists": lambda w: Plain({"a": [0, {"b": [({"w": [w]},)]}]}),
    "a dict behind many settings": lambda w: Plain({**dict.fromkeys(range(50), 0), "w": w}),
    "a kind of dict": lambda w: Dict(w=w),
    "a dict for reading": lambda w: MappingProxyType({"w": w}),
    "a kind of list": lambda w: List([w]),
    "a dataclass without fields": Undeclared,
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "leaves": lambda m: wg.tree.leaves({"net": m, "b": np.zeros(3)}),
    "grad": lambda m: wg.grad(lambda m: wg.sum(m["b"]))({"net": m, "b": np.zeros(3)}),
    "compile": lambda m: wg.compile(lambda x, m: x)(x, m),
    "compile, eagerly": lambda m: _eagerly(lambda: wg.compile(lambda x, m: x)(x, m)),
    "trace": lambda m: wg.trace(lambda x, m: x, x, m),
    "TrainStep": lambda m: wg.TrainStep(
        lambda m: wg.sum(m["b"]), {"net": m, "b": np.zeros(3)}, wg.optim.SGD(0.1)
    ),
    "a state": lambda m: wg.TrainStep(
        lambda w, s: (wg.sum(w), s), np.zeros(3), wg.optim.SGD(0.1), state={"net": m}
    ),
    "a batch": lambda m: wg.TrainStep(lambda w, m: wg.sum(w), np.zeros(3), wg.optim.SGD(0.1))(m),
    "summary": lambda m: wg.nn.summary({"net": m}),
    "init": lambda m: wg.optim.Adam(0.1).init({"net": m, "b": np.zeros(3)}),
    "scan": lambda m: wg.scan(lambda c, x: (c, x), {"net": m}, x),
    "a Sequential": lambda m: wg.tree.leaves(wg.nn.Sequential(np.tanh, m, np.tanh)),
}


def _eagerly(call: Callable[[], Any]) -> Any:
    with wg.eager():
        return call()


@pytest.mark.parametrize("name", HIDING)
def test_an_object_with_arrays_is_refused_by_name(name):
    made = HIDING[name](np.ones(3))
    with pytest.raises(TraceError, match=rf"class {type(made).__name__}.*dataclass|Declare"):
        wg.tree.flatten({"net": made})


@pytest.mark.parametrize("way", WAYS)
def test_wherever_a_tree_is_taken(way):
    with pytest.raises(TraceError, match=r"class Plain.*Write @dataclass above class Plain"):
        WAYS[way](Plain(np.ones(3)))


def test_saving(tmp_path):
    path = tmp_path / "model.safetensors"
    with pytest.raises(TraceError, match=r"class Plain at 'net'|class Plain, with"):
        wg.save(path, {"net": Plain(np.ones(3))})
    assert not path.exists()


def test_objects_of_one_class_are_looked_at_one_by_one():
    """One that holds nothing says nothing about the next one of its class."""
    for harmless in (None, [], wg.nn.Sequential("relu")):
        wg.tree.leaves({"net": Plain(harmless), "b": np.zeros(3)})
    with pytest.raises(TraceError, match="class Plain at 'net'"):
        wg.tree.leaves({"net": Plain(wg.nn.Sequential(wg.nn.Linear(3, 1))), "b": np.zeros(3)})


def test_a_plain_object_as_the_whole_model_is_refused_by_name():
    with pytest.raises(TraceError, match=r"class Plain, .*'w'.*Write @dataclass above class Plain"):
        wg.TrainStep(
            lambda m, x: wg.mean(m(x)), Plain(wg.nn.Sequential("relu", _mlp())), wg.optim.Adam(1e-2)
        )


def _mlp() -> Any:
    return wg.nn.Mlp((3, 4, 1))


def test_it_is_looked_at_a_bounded_part_of_what_an_object_holds():
    looked: list[int] = []

    class Lists(list):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            looked.append(1)
            return super().__iter__()

    cycle: list[Any] = Lists()
    cycle += [Lists([Lists(range(1000)) for _ in range(1000)]), cycle]
    wg.tree.leaves({"w": table, "static": Plain(cycle)})
    assert len(looked) < 100


def test_a_function_that_returns_one():
    with pytest.raises(TraceError, match="compile: the function returned a Plain that holds"):
        wg.compile(lambda x: Plain(x))(x)
    with pytest.raises(TraceError, match=r"class Plain"):
        wg.vjp(lambda x: Plain(x), x)


def test_the_repaired_class_is_a_tree():
    Repaired = dataclass(type("Repaired", (), {"__annotations__": {"w": Any}}))
    assert len(wg.tree.leaves(Repaired(np.ones(3)))) == 1


class Config:
    """Static: it holds no arrays of floats."""

    def __init__(self) -> None:
        self.rate, self.table, self.eps = 0.5, np.arange(3), np.float64(1e-5)
        self.me, self.names, self.big = self, ["a", {"b": (1.0, None)}], list(range(10_000))
        self.activation = lambda x: x * table


table = np.ones(3)
STATIC = {
    "a function that closes over arrays": lambda x: x * table,
    "a partial": functools.partial(np.multiply, table),
    "a method": Plain(table).__call__,
    "a ufunc": np.tanh,
    "a class": Plain,
    "an op": wg.tanh,
    "a compiled function": wg.compile(lambda x: x * table),
    "a settled object": Config(),
    "a generator": wg.random.Generator(wg.random.key(0)),
    "an optimizer": wg.optim.Adam(0.1),
    "an object without attributes": object(),
    "a range": range(3),
    "text": "abc",
}


@pytest.mark.parametrize("name", STATIC)
def test_static_values_stay_static(name):
    given = STATIC[name]
    leaves, structure = wg.tree.flatten({"w": table, "static": given})
    assert leaves == [table]
    assert wg.tree.unflatten(structure, leaves)["static"] is given
    wg.TrainStep(lambda m, x: wg.sum(m["w"] * x), {"w": table, "static": given}, wg.optim.SGD(0.1))(
        x
    )


def test_what_is_said_to_be_static_may_hold_arrays():
    net = Plain(np.full(3, 2.0))
    f = wg.compile(lambda net, x: net(x), static=("net",))
    np.testing.assert_array_equal(f(net, x), 2 * x)
    g = wg.grad(lambda x: wg.sum(net(x)))  # and so may what a function closes over
    np.testing.assert_array_equal(g(x), 2 * x)


def test_containers_of_pythons_own_are_nodes():
    assert len(wg.tree.leaves(OrderedDict(w=table))) == 1


@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
@pytest.mark.parametrize("way", ["leaves", "compile", "a batch", "TrainStep"])
def test_a_sparse_matrix_is_told_apart(make, way):
    with pytest.raises(TraceError, match=r"scipy\.sparse\.\w+ of shape \(2, 3\).*toarray"):
        WAYS[way](make(x))


class Foreign:
    """An array of another library: NumPy can read it, and it is none of NumPy's."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype)


@pytest.mark.parametrize("make", [jnp.asarray, Foreign], ids=["jax", "foreign"])
@pytest.mark.parametrize(
    "way", ["leaves", "grad", "compile", "trace", "TrainStep", "a state", "init"]
)
def test_an_array_of_another_library_is_no_constant(make, way):
    """In a model it would not be trained, and in a gradient stand for itself."""
    with pytest.raises(
        TraceError, match=r"tree: given an array of \w+ \(.*Convert it with np\.asarray"
    ):
        WAYS[way](make(np.ones(3)))


@pytest.mark.parametrize("make", [jnp.asarray, Foreign], ids=["jax", "foreign"])
def test_in_a_batch_it_is_converted(make):
    def losses(wrap: Callable[[Any], Any]) -> list[float]:
        step = wg.TrainStep(lambda w, b: wg.sum(w * b["x"][0]), np.ones(3), wg.optim.SGD(0.1))
        given = [{"x": [wrap(k * np.ones((2, 3)))]} for k in (1.0, 2.0)]
        found = [step(each) for each in given]
        return [*found, *step.run(given[0], batch_size=1).loss]

    assert losses(make) == losses(np.asarray)


class Headed(wg.nn.Sequential):
    def __init__(self, head: Any) -> None:
        super().__init__(wg.nn.Linear(3, 4), "relu")
        self.head = head


@dataclass
class Extended:
    w: Any

    def __post_init__(self) -> None:
        self.extra = wg.nn.Linear(3, 1)

    def __call__(self, x: Any) -> Any:
        return self.extra(x * self.w)


@dataclass
class Unannotated:
    w: Any
    bias = np.zeros(1)

    def __call__(self, x: Any) -> Any:
        return x * self.w + self.bias


class Inherited(Unannotated):
    pass


def _given_later() -> Any:
    layer = wg.nn.Linear(3, 1)
    layer.gain = np.ones(1)  # type: ignore[attr-defined]
    return layer


UNDECLARED = {
    "a layer of a Sequential": (lambda: Headed(wg.nn.Linear(4, 1)), "Headed", "head"),
    "a list of layers": (lambda: Headed([wg.nn.Linear(4, 1)]), "Headed", "head"),
    "after __init__": (lambda: Extended(np.ones(3)), "Extended", "extra"),
    "given later": (_given_later, "Linear", "gain"),
    "in the class": (lambda: Unannotated(np.ones(3)), "Unannotated", "bias"),
    "in the class above": (lambda: Inherited(np.ones(3)), "Inherited", "bias"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", UNDECLARED)
def test_what_a_dataclass_holds_beside_its_fields_is_refused(name, way):
    make, kind, attribute = UNDECLARED[name]
    with pytest.raises(
        TraceError, match=rf"class {kind}, .*{attribute!r}.*eclare it as a field.*{attribute}: Any"
    ):
        WAYS[way](make())


def test_one_that_is_given_between_calls_is_refused():
    layer = wg.nn.Linear(3, 1)
    layer.gain = None  # type: ignore[attr-defined]
    f = wg.compile(lambda layer, x: layer(x))
    f(layer, x.astype(np.float32))
    layer.gain = np.ones(1)  # type: ignore[attr-defined]
    with pytest.raises(TraceError, match="'gain'"):
        f(layer, x.astype(np.float32))


def test_a_class_that_is_no_dataclass_itself_is_told_to_become_one():
    with pytest.raises(TraceError, match=r"Write @dataclass above class Headed, and declare"):
        wg.tree.leaves(Headed(wg.nn.Linear(4, 1)))

    @dataclass
    class Declared(Headed):
        head: Any

        def __init__(self, head: Any) -> None:
            super().__init__(head)

    assert len(wg.tree.leaves(Declared(wg.nn.Linear(4, 1)))) == 4


@dataclass
class Settled:
    """Beside its fields: nothing that could be trained."""

    w: Any
    MEAN: ClassVar[Any] = np.ones(3)
    table = np.arange(3)
    rate = 0.5

    def __post_init__(self) -> None:
        self.size, self.names, self.order = 3, ["a"], np.arange(3)
        self.activation = np.tanh

    @functools.cached_property
    def count(self) -> int:
        return len(self.w)


def test_other_attributes_stay_allowed():
    given = Settled(np.ones(3))
    assert given.count == 3
    leaves, structure = wg.tree.flatten(given)
    assert len(leaves) == 1
    found = wg.tree.unflatten(structure, leaves)
    assert (found.size, found.names, found.count) == (3, ["a"], 3)
    wg.TrainStep(lambda m, x: wg.sum(m.w * m.MEAN * x), given, wg.optim.SGD(0.1))(x)
