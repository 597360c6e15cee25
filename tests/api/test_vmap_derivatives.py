"""vmap with derivatives around it and inside, and with loops and branches, as JAX has them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(3)
X, V, W = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3))


class Ours:
    m, vmap, grad, jvp = np, wg.vmap, wg.grad, wg.jvp
    jacobian, jacfwd, hessian = wg.jacobian, wg.jacfwd, wg.hessian
    scan, cond, checkpoint = wg.scan, wg.cond, wg.checkpoint

    @staticmethod
    def repeat(holds, step, x):
        return wg.while_loop(holds, step, x, max_steps=40)


class Theirs:
    m, vmap, grad, jvp = jnp, jax.vmap, jax.grad, jax.jvp
    jacobian, jacfwd, hessian = jax.jacobian, jax.jacfwd, jax.hessian
    scan, cond, checkpoint = jax.lax.scan, jax.lax.cond, jax.checkpoint

    @staticmethod
    def repeat(holds, step, x):
        """Steps that wait once the condition is false: JAX's own has no way back."""
        return jax.lax.fori_loop(0, 40, lambda _, c: jnp.where(holds(c), step(c), c), x)


def recurrent(lib):
    def f(x, w):
        def step(h, t):
            h = lib.m.tanh(w @ h + t * x)
            return h, lib.m.sum(h * h)

        last, ys = lib.scan(step, x, lib.m.arange(1.0, 4.0))
        return lib.m.sum(last) + lib.m.sum(ys)

    return f


def until_small(lib):
    """As many steps as an example needs."""
    m = lib.m
    return lambda x: lib.repeat(lambda c: m.sum(c * c) > 1e-2, lambda c: m.sin(c) * 0.5, x)


def branching(lib):
    m = lib.m

    def f(x, y):
        return m.sum(lib.cond(x[0] > 0, lambda a, b: m.sin(a) + b, lambda a, b: m.exp(a) * b, x, y))

    return f


def branching_for_all(lib):
    m = lib.m

    def f(p, x):
        return m.sum(lib.cond(p[0] > 0, lambda a: m.sin(a) * p, lambda a: m.exp(a), x))

    return f


def layer(lib):
    return lambda x, w: lib.m.sum(lib.m.tanh(w @ x) ** 2)


def of_batch(lib, f):
    """The sum over the examples of what is made of them, by all arguments."""
    return lambda x, y: lib.m.sum(lib.vmap(f)(x, y) ** 2)


PROGRAMS = {
    "grad": lambda l: l.vmap(l.grad(layer(l), argnums=(0, 1)), in_axes=(0, None)),
    "hessian": lambda l: l.vmap(l.hessian(layer(l)), in_axes=(0, None)),
    "jacobian": lambda l: l.vmap(l.jacobian(lambda x, w: l.m.tanh(w @ x)), in_axes=(0, None)),
    "jacfwd": lambda l: l.vmap(l.jacfwd(lambda x, w: l.m.tanh(w @ x)), in_axes=(0, None)),
    "jacobian of": lambda l: l.jacobian(lambda x, w: l.vmap(lambda r: l.m.tanh(w @ r))(x)),
    "grad of": lambda l: l.grad(
        lambda x, w: l.m.sum(l.vmap(layer(l), in_axes=(0, None))(x, w) ** 2), argnums=(0, 1)
    ),
    "grad of grad": lambda l: l.grad(
        lambda w: l.m.sum(l.vmap(l.grad(layer(l)), in_axes=(0, None))(X, w) ** 2)
    ),
    "nested": lambda l: l.vmap(l.vmap(l.grad(layer(l)), (None, 0)), (0, None)),
    "checkpoint": lambda l: l.vmap(l.grad(l.checkpoint(layer(l))), in_axes=(0, None)),
    "scan": lambda l: l.vmap(recurrent(l), in_axes=(0, None)),
    "grad, scan": lambda l: l.vmap(l.grad(recurrent(l), argnums=(0, 1)), in_axes=(0, None)),
    "grad of, scan": lambda l: l.grad(
        lambda x, w: l.m.sum(l.vmap(recurrent(l), in_axes=(0, None))(x, w) ** 2), argnums=(0, 1)
    ),
    "while": lambda l: l.vmap(until_small(l)),
    "grad, while": lambda l: l.vmap(l.grad(lambda x: l.m.sum(until_small(l)(x)))),
    "grad of, while": lambda l: l.grad(lambda x: l.m.sum(l.vmap(until_small(l))(x) ** 2)),
    "jvp, while": lambda l: l.vmap(lambda x, v: l.jvp(until_small(l), (x,), (v,))[1]),
    "hessian, while": lambda l: l.vmap(l.hessian(lambda x: l.m.sum(until_small(l)(x)))),
    "cond": lambda l: l.vmap(branching(l)),
    "grad, cond": lambda l: l.vmap(l.grad(branching(l), argnums=(0, 1))),
    "grad of, cond": lambda l: l.grad(of_batch(l, branching(l)), argnums=(0, 1)),
    "cond for all": lambda l: l.vmap(l.grad(branching_for_all(l), argnums=(0, 1)), (None, 0)),
}
ARGUMENTS = {
    "grad of grad": (W,),
    **dict.fromkeys(("while", "grad, while", "grad of, while", "hessian, while"), (X,)),
    **dict.fromkeys(("jvp, while", "cond", "grad, cond", "grad of, cond"), (X, V)),
    "nested": (X, np.stack([W, -W])),
    "cond for all": (V[0], X),
}


def same(found, expected, name):
    ours, theirs = jax.tree.leaves(found), jax.tree.leaves(expected)
    for x, y in zip(ours, theirs, strict=True):
        assert x.shape == y.shape, name
        assert np.allclose(x, y, rtol=1e-10, atol=1e-11), name


@pytest.fixture(scope="module")
def expected():
    given = {name: ARGUMENTS.get(name, (X, W)) for name in PROGRAMS}
    return jax.jit(lambda given: {n: make(Theirs)(*given[n]) for n, make in PROGRAMS.items()})(
        given
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_numpy(name, expected):
    same(PROGRAMS[name](Ours)(*ARGUMENTS.get(name, (X, W))), expected[name], name)


def test_step_by_step(expected):
    """In eager mode loops run in Python, but those that go on for some examples only."""
    with wg.eager():
        for name in ("grad, scan", "grad, while", "cond"):
            program = wg.compile(PROGRAMS[name](Ours))
            same(program(*ARGUMENTS.get(name, (X, W))), expected[name], name)


def test_compiled(expected):
    """All in one program."""
    programs = {name: make(Ours) for name, make in PROGRAMS.items()}
    given = {name: ARGUMENTS.get(name, (X, W)) for name in PROGRAMS}

    def run(given):
        return {name: programs[name](*given[name]) for name in given}

    found = wg.compile(run)(given)
    for name in PROGRAMS:
        same(found[name], expected[name], name)


def test_a_finished_example_keeps_its_value():
    def halve(x):
        return wg.while_loop(lambda c: c[0] > 1, lambda c: (c[0] / 2, c[1] + 1), (x, 0))

    last, steps = wg.vmap(halve)(np.array([1.0, 8.0, 5.0, 0.5]))
    assert last.tolist() == [1.0, 1.0, 0.625, 0.5]
    assert steps.tolist() == [0, 3, 3, 0]


def test_the_bound_of_a_loop_is_that_of_each_example():
    def halve(x):
        return wg.while_loop(lambda c: c > 1, lambda c: c / 2, x, max_steps=3)

    assert wg.vmap(halve)(np.array([8.0, 2.0])).tolist() == [1.0, 1.0]
    with pytest.raises(wg.errors.LoopError, match="max_steps=3"):
        wg.vmap(halve)(np.array([8.0, 9.0]))


def test_untaken_sides_leave_no_nan():
    f = wg.grad(lambda x: wg.cond(x > 0, lambda a: wg.log(a), lambda a: a * 2, x))
    assert wg.vmap(f)(np.array([4.0, 0.0, -1.0])).tolist() == [0.25, 2.0, 2.0]


def test_own_derivatives_hold_for_each_example():
    @wg.custom_vjp
    def clipped(x):
        return x * 1.0

    clipped.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g / wg.maximum(1.0, wg.sum(g * g)),))
    expected = np.stack([wg.grad(lambda x: np.sum(clipped(x) ** 2))(x) for x in X])
    assert np.allclose(wg.vmap(wg.grad(lambda x: np.sum(clipped(x) ** 2)))(X), expected)
    around = wg.grad(lambda x: np.sum(wg.vmap(clipped)(x) ** 2))
    assert np.allclose(around(X), expected)
    assert np.allclose(wg.compile(around)(X), expected)


def test_a_composite_for_many_examples_is_no_op_of_the_table():
    """A graph that reads back would mean another thing by its name."""
    graph = wg.trace(wg.vmap(lambda x, i: wg.at(x)[i].max(0.0)), X, np.zeros((4, 1), int))
    names = [node.op.name for node in graph.nodes]
    assert "largest_at_of_each" in names
    assert "largest_at" not in names


def test_gradients_of_a_composite_with_a_rule_of_its_own():
    """Ties share evenly, which its body alone would not do."""
    x, at = np.array([[1.0, 1.0], [3.0, 1.0]]), np.array([[0, 0], [1, 1]])

    def f(x, i):
        return np.sum(wg.at(x)[i].max(np.ones(2)))

    alone = np.stack([wg.grad(f)(x[n], at[n]) for n in (0, 1)])
    assert np.allclose(wg.vmap(wg.grad(f))(x, at), alone)
    assert np.allclose(wg.grad(lambda x: np.sum(wg.vmap(f)(x, at)))(x), alone)
