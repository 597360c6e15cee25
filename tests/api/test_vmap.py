"""vmap: which axes are mapped, what may be in trees, and what it does with Python and NumPy."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg
from wengert.errors import AxisError, RandomnessWarning, ShapeError, TraceError

RNG = np.random.default_rng(17)
ROWS, OTHERS, MATRIX = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3))
BLOCKS = RNG.normal(size=(4, 5, 3))


def same(found, expected):
    """Equal trees of arrays, as close as the table's ops are to JAX's."""
    ours, theirs = jax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        assert x.shape == y.shape
        assert np.allclose(x, y, rtol=1e-10, atol=1e-12)


CALLS = {
    "an axis for all": (lambda v, m: v(lambda x, y: x * m.sum(y)), (ROWS, OTHERS)),
    "another axis": (lambda v, m: v(lambda x: m.sin(x), in_axes=1), (ROWS,)),
    "counted from the end": (lambda v, m: v(lambda x: m.cumsum(x, axis=0), in_axes=-2), (BLOCKS,)),
    "a tuple with None": (lambda v, m: v(lambda w, x: w @ x, in_axes=(None, 0)), (MATRIX, ROWS)),
    "a list": (lambda v, m: v(lambda w, x: x @ w, in_axes=[None, 0]), (MATRIX, ROWS)),
    "a tree of axes": (
        lambda v, m: v(lambda d: d["a"] * d["b"][0], in_axes=({"a": 0, "b": [None]},)),
        ({"a": ROWS, "b": [MATRIX[0]]},),
    ),
    "axes in another order than the tree": (
        lambda v, m: v(
            lambda d: d["a"].sum() + 10 * d["n"]["b"].sum(),
            in_axes=({"n": {"c": None, "b": 1}, "a": 0},),
            out_axes=0,
        ),
        ({"a": MATRIX, "n": {"b": MATRIX, "c": ROWS}},),
    ),
    "places of results in another order": (
        lambda v, m: v(lambda x: {"a": x, "b": 2 * x}, out_axes={"b": 1, "a": 0}),
        (ROWS,),
    ),
    "a tree that ends early": (
        lambda v, m: v(lambda d: d["a"] @ d["b"][0], in_axes=({"a": 0, "b": None},)),
        ({"a": ROWS, "b": [MATRIX]},),
    ),
    "axes of the result": (
        lambda v, m: v(lambda x, y: (m.outer(x, y), x), out_axes=(-1, 1)),
        (ROWS, OTHERS),
    ),
    "a tree of them": (
        lambda v, m: v(
            lambda x, c: {"s": (x, x.sum()), "c": c}, (0, None), {"s": (1, 0), "c": None}
        ),
        (ROWS, MATRIX),
    ),
    "a constant result": (lambda v, m: v(lambda x: (x, m.ones(2))), (ROWS,)),
    "nested": (
        lambda v, m: v(v(lambda x, y: x @ y, in_axes=(0, None)), out_axes=1),
        (BLOCKS, ROWS),
    ),
    "nested, the outer value inside": (
        lambda v, m: v(lambda x: v(lambda y: x * y.sum(), in_axes=1)(MATRIX)),
        (ROWS,),
    ),
    "functions of NumPy": (
        lambda v, m: v(
            lambda x, y: (
                m.concatenate([m.sin(x), m.sort(y)])[::-1] * m.mean(x) + m.linalg.norm(y),
                m.einsum("i,j->ij", x, y),
                m.where(x > y, x, 0.0).max(),
                m.stack([x, y]).T.reshape(-1)[1:4],
            )
        ),
        (ROWS, OTHERS),
    ),
    "indices of each": (
        lambda v, m: v(lambda x, i: (x[i], m.take_along_axis(x, i, axis=0), m.argsort(x)[i])),
        (ROWS, np.array([[0, 2], [1, 1], [2, 0], [0, 0]])),
    ),
    "linear algebra": (
        lambda v, m: v(
            lambda x: (
                m.linalg.solve(m.outer(x, x) + 3 * m.eye(3), x),
                m.linalg.eigh(m.outer(x, x) + MATRIX @ MATRIX.T)[0],
                m.linalg.slogdet(m.outer(x, x) + 3 * m.eye(3))[1],
            )
        ),
        (ROWS,),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_is_what_jax_computes(name):
    make, args = CALLS[name]
    theirs = jax.vmap
    expected = make(theirs, jnp)(*jax.tree.map(jnp.asarray, args))
    same(make(wg.vmap, np)(*args), expected)


def test_arguments_by_name_are_mapped_along_axis_0():
    f = wg.vmap(lambda x, *, scale, twice=False: x.sum() * scale * (2 if twice else 1))
    scale = np.arange(4.0)
    assert np.allclose(f(ROWS, scale=scale), ROWS.sum(axis=1) * scale)
    assert np.allclose(f(ROWS, scale=3.0, twice=True), ROWS.sum(axis=1) * 6)  # numbers are static
    assert np.allclose(wg.vmap(lambda *xs, **ys: xs[0] + ys["y"])(ROWS, y=OTHERS), ROWS + OTHERS)


def test_decorators():
    @wg.vmap
    def total(x):
        """The sum."""
        return x.sum()

    @wg.vmap(in_axes=1, out_axes=0)
    def of_columns(x):
        return x.sum()

    assert np.allclose(total(ROWS), ROWS.sum(axis=1))
    assert np.allclose(of_columns(ROWS), ROWS.sum(axis=0))
    assert (total.__name__, total.__doc__) == ("total", "The sum.")


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    power: int = 2
    name: str = "layer"
    bias: np.ndarray | None = None


def test_trees_keep_their_classes_and_static_values():
    layer = Layer(MATRIX)
    assert wg.vmap(lambda m, x: x @ m.w**m.power, in_axes=(None, 0))(layer, ROWS).shape == (4, 3)
    axes = Layer(0, None, None, None)
    found = wg.vmap(lambda m: m, in_axes=(axes,))(Layer(ROWS))
    assert type(found) is Layer
    assert (found.power, found.name, found.bias) == (2, "layer", None)
    assert np.array_equal(found.w, ROWS)
    pair = wg.vmap(
        lambda p: Pair(p.right, p.left), in_axes=(Pair(0, None),), out_axes=Pair(None, 0)
    )
    assert np.array_equal(pair(Pair(ROWS, MATRIX)).left, MATRIX)
    gradient = wg.vmap(wg.grad(lambda m, x: np.sum((x @ m.w) ** m.power)), (None, 0))(layer, ROWS)
    assert gradient.w.shape == (4, 3, 3)


@pytest.mark.filterwarnings("ignore::wengert.errors.TiedWarning")
@pytest.mark.parametrize("axis", [None, 0])
def test_tied_arrays_stay_tied(axis):
    one = MATRIX if axis is None else BLOCKS[:, :3]

    def f(m, x):
        return np.sum(np.tanh(x @ m["a"]) @ m["b"])

    found = wg.vmap(wg.grad(f), in_axes=(axis, 0))({"a": one, "b": one}, ROWS)
    alone = one if axis is None else one[1]
    expected = wg.grad(f)({"a": alone, "b": alone}, ROWS[1])
    assert np.allclose(found["a"][1], expected["a"])
    assert np.array_equal(found["a"], found["b"])


def test_python_may_branch_on_what_all_examples_share():
    def f(x, limits):
        return x * 2 if limits[0] > 0 else -x

    assert np.array_equal(wg.vmap(f, in_axes=(0, None))(ROWS, np.ones(2)), ROWS * 2)
    assert np.array_equal(wg.vmap(f, in_axes=(0, None))(ROWS, -np.ones(2)), -ROWS)


def test_a_branch_on_an_example_names_the_line_and_the_repair():
    def f(x):
        return x if x[0] > 0 else -x

    with pytest.raises(TraceError, match=r"bool: given a Tensor that is batched .* wg.where") as e:
        wg.vmap(f)(ROWS)
    line = f.__code__.co_firstlineno + 1
    assert str(e.value).endswith(f"(test_vmap.py:{line})")
    # On the levels inside, too.
    with pytest.raises(TraceError, match="batched"):
        wg.vmap(wg.grad(lambda x: np.sum(f(x))))(ROWS)


def test_tables_are_indexed_by_examples():
    places = np.array([[0, 2], [1, 1]])
    f = wg.vmap(lambda i, table: table[i] + wg.asarray(MATRIX)[i], in_axes=(0, None))
    assert np.array_equal(f(places, MATRIX), 2 * MATRIX[places])
    assert type(wg.vmap(lambda i, table: table, (0, None), None)(places, MATRIX)) is np.ndarray


def test_results_are_new_arrays():
    given = ROWS.copy()
    found = wg.vmap(lambda x: x)(given)
    found += 1
    assert np.array_equal(given, ROWS)
    repeated = wg.vmap(lambda x: np.ones(2))(given)
    repeated[0] = 7  # rows of their own
    assert np.array_equal(repeated[1], np.ones(2))


@pytest.mark.parametrize("count", [0, 1])
def test_few_examples(count):
    def f(x):
        matrix = wg.outer(x, x) + 3 * np.eye(3)
        return wg.scan(lambda c, r: (c + r, c @ r), x, wg.linalg.inv(matrix))

    last, steps = wg.vmap(f)(ROWS[:count])
    assert (last.shape, steps.shape) == ((count, 3), (count, 3))
    if count:
        same((last[0], steps[0]), f(ROWS[0]))


def test_what_it_prints(capsys):
    def f(x):
        print(x)
        return wg.debug(x * 2, "twice")

    wg.vmap(f)(np.arange(2.0))
    assert capsys.readouterr().out.splitlines() == [
        "Tensor(float64[] of each in array([0., 1.]))",
        "twice: float64[2] = [0. 2.]",
    ]


REFUSED = {
    "in_axes that end elsewhere": (
        lambda: wg.vmap(abs, in_axes=({"b": 0},))({"a": ROWS}),
        ShapeError,
    ),
    "as many as arguments": (lambda: wg.vmap(abs, in_axes=(0, 0))(ROWS), ShapeError),
    "no axes": (lambda: wg.vmap(abs, in_axes="batch"), TypeError),
    "truths": (lambda: wg.vmap(abs, in_axes=True), TypeError),
    "a dict": (lambda: wg.vmap(abs, in_axes={"a": 0})({"a": ROWS}), TypeError),
    "sizes": (lambda: wg.vmap(lambda x, y: x)(ROWS, MATRIX), ShapeError),
    "axis": (lambda: wg.vmap(abs, in_axes=2)(ROWS), AxisError),
    "axis from the end": (lambda: wg.vmap(abs, in_axes=-3)(ROWS), AxisError),
    "0-d": (lambda: wg.vmap(abs)(np.array(1.0)), AxisError),
    "a number": (lambda: wg.vmap(lambda x, y: x * y)(ROWS, 2.0), ShapeError),
    "nothing to map": (lambda: wg.vmap(abs, in_axes=None)(ROWS), ShapeError),
    "lists": (lambda: wg.vmap(lambda x: x)([1.0, 2.0]), ShapeError),
    "out_axes": (lambda: wg.vmap(abs, out_axes=2)(ROWS), AxisError),
    "out_axes of another tree": (lambda: wg.vmap(abs, out_axes=(0, 0))(ROWS), ShapeError),
    "None for what differs": (lambda: wg.vmap(abs, out_axes=None)(ROWS), TraceError),
    "a number returned": (lambda: wg.vmap(lambda x: 1.0)(ROWS), TraceError),
    "a number beside": (lambda: wg.vmap(lambda x: {"x": x, "n": 3})(ROWS), TraceError),
    "no function": (lambda: wg.vmap(ROWS), TypeError),
    "axis_name": (lambda: wg.vmap(abs, axis_name="i"), TypeError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_words(name):
    program, kind = REFUSED[name]
    with pytest.raises(kind, match=r"^vmap: .+; .+\. .+\.$"):
        program()


def test_errors_speak_of_one_example():
    with pytest.raises(ShapeError, match=r"left has shape \(3,\) and right has shape \(4, 2\)"):
        wg.vmap(lambda x: x @ np.ones((4, 2)))(ROWS)
    with pytest.raises(IndexError, match=r"index 7 .* axis 0 of size 3.* This is example 2"):
        wg.vmap(lambda x, i: x[i])(ROWS, np.array([0, 1, 7, 2]))
    with pytest.raises(np.linalg.LinAlgError, match=r"shape \(3, 3\).* This is example 1"):
        wg.vmap(wg.linalg.inv)(np.stack([np.eye(3), np.zeros((3, 3))]))


def test_a_tensor_does_not_outlive_its_call():
    kept = []
    wg.vmap(lambda x: kept.append(x) or x)(ROWS)
    with pytest.raises(TraceError, match="outlived"):
        kept[0] + 1


def test_numpy_draws_the_same_for_all_examples_with_a_warning():
    generator = np.random.default_rng(0)
    ways = {
        "np.random": lambda x: x + np.random.normal(),
        "a generator of NumPy": lambda x: x + generator.normal(),
    }
    for used, f in ways.items():
        for mapped in (wg.vmap(f), wg.vmap(wg.vmap(f))):
            with pytest.warns(
                RandomnessWarning, match=rf"vmap: {used} was .* same for each"
            ) as got:
                mapped(ROWS)
            assert len(got) == 1
    through_grad = wg.vmap(wg.grad(lambda x: np.sum(x * np.random.normal())))
    with pytest.warns(RandomnessWarning, match="vmap: np.random was used"):
        through_grad(ROWS)


@pytest.mark.filterwarnings("error")
def test_what_is_drawn_before_is_not_warned_of():
    generator = np.random.default_rng(0)
    noise = generator.normal(size=ROWS.shape)
    wg.vmap(lambda x, e: x + e)(ROWS, noise)


def test_axes_of_other_keys_are_refused():
    for axes in ({"w": 0, "b": 0}, {"w": 0}, {"w": 0, "c": 0, "d": None}, [0, 0]):
        with pytest.raises(ShapeError, match="in_axes has"):
            wg.vmap(lambda d: d["w"] + d["c"], in_axes=(axes,))({"w": ROWS, "c": ROWS})


def test_a_compiled_vmap_matches_axes_by_key():
    mapped = wg.vmap(lambda d: d["w"].sum() + 10 * d["c"].sum(), in_axes=({"c": 1, "w": 0},))
    given = {"w": MATRIX, "c": OTHERS[:3] ** 2}
    expected = MATRIX.sum(1) + 10 * (OTHERS[:3] ** 2).sum(0)
    assert np.allclose(wg.compile(mapped)(given), expected, rtol=1e-12)
