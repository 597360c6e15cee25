"""Functions of JAX that are given a Tensor: the error names the function that was called, and what
to write instead. What JAX answers by shapes and dtypes, and its operators, go on to work.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.errors import TraceError

jax = pytest.importorskip("jax")
jnp = jax.numpy
stats = pytest.importorskip("jax.scipy.stats")
special = pytest.importorskip("jax.scipy.special")

X = np.array([0.5, 1.0, 2.0])
ARRAY = jnp.arange(3.0)
WAYS = {
    "compile": lambda f: wg.compile(f)(X),
    "grad": lambda f: wg.grad(lambda x: wg.sum(f(x)))(X),
}
# name -> (a call, what is written instead)
REFUSED = {
    "jnp.sin": (lambda x: jnp.sin(x), "Write wg.sin"),
    "jnp.sum": (lambda x: jnp.sum(x), "Write np.sum: it takes Tensors, too"),
    "jnp.where": (lambda x: jnp.where(x > 0, x, 0), "Write np.where: it takes Tensors, too"),
    "jnp.matmul": (lambda x: jnp.matmul(x, x), "Write wg.matmul"),
    "jnp.dot": (lambda x: ARRAY.dot(x), "Write np.dot: it takes Tensors, too"),
    "jnp.asarray": (lambda x: jnp.asarray(x), "Write wg.asarray"),
    "jnp.stack": (lambda x: jnp.stack([x, x]), "Write np.stack: it takes Tensors, too"),
    "jnp.unique": (lambda x: jnp.unique(x), "How many numbers differ is known only when"),
    "jnp.linalg.norm": (lambda x: jnp.linalg.norm(x), "Write wg.linalg.norm"),
    "jnp.fft.rfft": (lambda x: jnp.fft.rfft(x), "Write wg.fft.rfft"),
    "jax.nn.softmax": (lambda x: jax.nn.softmax(x), "Write wg.softmax"),
    "jax.lax.stop_gradient": (lambda x: jax.lax.stop_gradient(x), "Write wg.stop_gradient"),
    "jax.lax.cond": (
        lambda x: jax.lax.cond(True, lambda y: y, lambda y: -y, x),
        "Write wg.cond",
    ),
    "jax.scipy.special.logsumexp": (lambda x: special.logsumexp(x), "Write wg.logsumexp"),
    "jax.scipy.special.gammaln": (
        lambda x: special.gammaln(x),
        "Write scipy.special.gammaln: it takes Tensors, too",
    ),
    "jax.scipy.stats.norm.logpdf": (
        lambda x: stats.norm.logpdf(x),
        "Write wg.distributions.Normal(mean, std).log_prob(x)",
    ),
    "jax.jit": (lambda x: jax.jit(lambda y: 2 * y)(x), "Leave jax.jit out"),
    "jax.grad": (lambda x: jax.grad(lambda y: jnp.sum(2 * y))(x), "Write wg.grad"),
    "jax.vmap": (lambda x: jax.vmap(lambda y: 2 * y)(x), "Write wg.vmap"),
    "jax.Array.at[…].set": (
        lambda x: ARRAY.at[0].set(x[0]),
        "Write wg.at(np.asarray(x))[index].set(values)",
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", REFUSED)
def test_the_function_is_named_with_what_to_write_instead(name, way):
    function, instead = REFUSED[name]
    with pytest.raises(TraceError) as refused:
        WAYS[way](function)
    text = str(refused.value)
    assert text.startswith(f"{name}: given a Tensor of wengert, which is recorded; JAX computes")
    assert instead in text
    assert "(test_functions_of_jax.py:" in text


def test_what_is_written_instead_computes_the_same():
    def written(x):
        changed = wg.at(np.asarray(ARRAY))[0].set(x[0])
        return np.sum(x) + wg.linalg.norm(x) + np.dot(np.asarray(ARRAY), x) + wg.sum(changed)

    def theirs(x):
        changed = ARRAY.at[0].set(x[0])
        return jnp.sum(x) + jnp.linalg.norm(x) + ARRAY.dot(x) + jnp.sum(changed)

    np.testing.assert_allclose(wg.compile(written)(X), theirs(X), rtol=1e-6)
    np.testing.assert_allclose(wg.grad(written)(X), jax.grad(theirs)(X), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: ARRAY * x + x * ARRAY - (ARRAY + 1) / x,
        lambda x: (x > ARRAY) * x + (x == ARRAY) * x + (x != ARRAY) * x,
        lambda x: (ARRAY @ x) * x**ARRAY + ARRAY**x,
        lambda x: jax.tree.map(lambda y: 2 * y, {"a": x})["a"],
        lambda x: x * jnp.shape(x)[0] * jnp.ndim(x) * jnp.size(x),
        lambda x: x.astype(jnp.result_type(x)),
        lambda x: x * np.asarray(jnp.ones_like(x)),
        lambda x: x * jax.eval_shape(lambda y: 2 * y, x).shape[0],
        lambda x: x * (2.0 if isinstance(x, jax.Array) or jnp.isscalar(x) else 1.0),
        lambda x: x * np.asarray(jax.random.normal(jax.random.key(0), (3,))),
        lambda x: x * len(f"{x}" + str(x) + repr(x)),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_needs_no_numbers_goes_on_to_work(function, way):
    WAYS[way](function)


def test_a_primitive_in_a_recorded_function_is_told_what_to_write():
    """JAX words this one itself; the recording adds a note."""
    with pytest.raises(TypeError) as refused:
        wg.compile(lambda w: wg.sum(w * jax.lax.exp(w)))(np.ones(3))
    assert "wg.stop_gradient for jax.lax.stop_gradient" in "".join(refused.value.__notes__)
