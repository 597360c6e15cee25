"""Means, norms, activations and losses where they are easily wrong.

That values and derivatives are right on ordinary operands is tested for every op of the table; here
are the extremes, the conventions and the refusals.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg
from wengert.core.types import ArrayType
from wengert.interpret.replay import replay
from wengert.interpret.trace import composite_body, trace_flat

LOSSES = [wg.mse, wg.mae, wg.huber, wg.bce_with_logits, wg.cross_entropy, wg.kl_div]
RNG = np.random.default_rng(0)


def traced(function, *types):
    graph, _ = trace_flat(lambda *xs: [function(*xs)], types, [f"x{i}" for i in range(len(types))])
    return lambda *xs: replay(graph, xs)[0]


# Statistics.


def test_mean_divides_by_the_count_of_the_call():
    batch = wg.Dim("batch")
    mean = traced(wg.mean, ArrayType((batch, 3), np.dtype("float32")))
    spread = traced(
        lambda x: wg.std(x, axis=0, correction=1), ArrayType((batch, 3), np.dtype("float32"))
    )
    for count in (2, 5):
        x = RNG.normal(size=(count, 3)).astype(np.float32)
        assert mean(x).dtype == np.float32
        np.testing.assert_allclose(mean(x), x.mean(), rtol=1e-6)
        np.testing.assert_allclose(spread(x), x.std(axis=0, ddof=1), rtol=1e-5)


def test_mean_of_integers_and_of_nothing():
    assert wg.mean(np.array([1, 2], np.int32)).dtype == np.float64
    with np.errstate(all="ignore"):
        assert np.isnan(wg.mean(np.zeros((0, 3)), axis=0)).all()
    assert wg.mean(np.zeros((0, 3)), axis=1).shape == (0,)


def test_std_of_equal_elements_has_gradient_zero_to_any_order():
    x = np.full(3, 0.1)  # its mean is rounded, and so the spread is not quite 0
    assert np.abs(wg.grad(wg.std)(x)).max() < 1e-15
    assert (wg.grad(wg.std)(np.full(3, 2.0)) == 0).all()
    assert (wg.hessian(wg.std)(np.full(3, 2.0)) == 0).all()
    assert wg.jvp(wg.std, (np.full(3, 2.0),), (np.arange(3.0),))[1] == 0


def test_logsumexp_at_infinity():
    x = np.array([[-np.inf, 0.0], [-np.inf, -np.inf], [1e300, 1e300], [np.inf, 0.0]])
    with np.errstate(all="ignore"):
        found = wg.logsumexp(x, axis=1)
    assert found.tolist() == [0.0, -np.inf, 1e300, np.inf]
    np.testing.assert_array_equal(
        wg.grad(lambda x: wg.logsumexp(x))(np.array([-np.inf, 0.0, 0.0])), [0, 0.5, 0.5]
    )
    assert wg.logsumexp(np.zeros((2, 0)), axis=1).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("statistic", [wg.mean, wg.var, wg.std, wg.logsumexp])
def test_a_statistic_that_is_not_used_passes_no_gradient(statistic):
    x = np.array([[1.0, 2.0], [np.nan, np.inf]])
    used = np.array([True, False])
    with np.errstate(all="ignore"):
        gradient = wg.grad(lambda x: wg.sum(wg.where(used, statistic(x, axis=1), 0.0)))(x)
    assert (gradient[1] == 0).all()
    assert np.isfinite(gradient[0]).all()


# Softmax and norms.


def test_softmax_of_an_excluded_row_passes_no_gradient():
    """A fully masked row is NaN, but where it is not used, the gradient is 0, not NaN."""
    x = np.array([[1.0, 2.0, -np.inf], [-np.inf, -np.inf, -np.inf]])
    used = np.array([[True], [False]])
    for normalized in (wg.softmax, wg.log_softmax, lambda x: wg.standardize(x, eps=0.0)):

        def loss(x, normalized=normalized):
            squared = wg.square(wg.where(np.isfinite(x), normalized(x), 0.0))
            return wg.sum(wg.where(used, squared, 0.0))

        with np.errstate(all="ignore"):
            gradient = wg.grad(lambda z: loss(wg.where(used, x, z)))(x)
            assert (gradient[1] == 0).all()


@pytest.mark.parametrize("function", [wg.softmax, wg.log_softmax])
def test_softmax_of_huge_logits(function):
    x = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4 + 1, 1e4]])
    reference = jax.nn.softmax if function is wg.softmax else jax.nn.log_softmax
    np.testing.assert_allclose(function(x), reference(x), rtol=1e-12)
    g = RNG.normal(size=x.shape)
    found = wg.grad(lambda x: wg.sum(function(x) * g))(x)
    expected = jax.grad(lambda x: jnp.sum(reference(x) * g))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-15)


def test_layer_norm_is_invariant_and_its_gradient_orthogonal():
    """Shifting or stretching a row changes nothing, so the gradient has no such part."""
    x, g = RNG.normal(size=(2, 4, 6))
    np.testing.assert_allclose(wg.layer_norm(3 * x + 2, eps=0.0), wg.layer_norm(x, eps=0.0))
    gx = wg.grad(lambda x: wg.sum(wg.layer_norm(x, eps=0.0) * g))(x)
    np.testing.assert_allclose(gx.sum(axis=-1), 0, atol=1e-12)
    np.testing.assert_allclose((gx * x).sum(axis=-1), 0, atol=1e-12)


def test_layer_norm_takes_scale_and_shift_by_name():
    x = RNG.normal(size=(2, 3))
    shift = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(wg.layer_norm(x, shift=shift), wg.layer_norm(x) + shift)


def test_norms_over_other_axes_place_their_scale():
    x, scale = RNG.normal(size=(2, 3, 4)), np.array([1.0, 2.0, 3.0])
    found = wg.rms_norm(x, scale, axis=1)
    np.testing.assert_allclose(found, wg.rms_norm(x, axis=1) * scale[:, None])
    found = wg.batch_norm(x, scale[:, None])
    np.testing.assert_allclose(found, wg.batch_norm(x) * scale[:, None])


def test_batch_norm_is_per_feature_over_the_first_axis():
    x = RNG.normal(size=(6, 2, 3)) * 4 + 1
    y, mean, var = wg.batch_norm_with_statistics(x, eps=0.0)
    np.testing.assert_allclose(y, (x - x.mean(axis=0)) / x.std(axis=0))
    np.testing.assert_allclose(mean, x.mean(axis=0))
    np.testing.assert_allclose(var, x.var(axis=0))


# Activations.


def test_activations_keep_their_digits_in_the_tail():
    np.testing.assert_allclose(wg.gelu(np.array([-10.0])), [-7.61985302416e-23], rtol=1e-10)
    np.testing.assert_allclose(wg.softplus(np.array([-100.0])), [np.exp(-100.0)], rtol=1e-14)
    np.testing.assert_allclose(wg.elu(np.array([-1e-20])), [-1e-20], rtol=1e-14)


@pytest.mark.parametrize(
    "function", [wg.silu, wg.gelu, wg.elu, wg.selu, wg.softplus, wg.mish, wg.softsign]
)
@pytest.mark.filterwarnings("error")
def test_activations_at_extremes(function):
    x = np.array([-1e4, -800.0, 0.0, 800.0, 1e4])
    value, gradient = function(x), wg.grad(lambda x: wg.sum(function(x)))(x)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    assert function(np.float32([0.5])).dtype == np.float32
    assert function(2).dtype == np.float64


# Losses.


def test_cross_entropy_of_huge_and_excluded_logits():
    logits = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4 - 1], [0.0, -np.inf, 1.0]])
    targets = np.array([1, 1, 2])
    found = wg.cross_entropy(logits, targets, reduction="none")
    np.testing.assert_allclose(found, [2e4, np.log1p(np.exp(-1)), np.log1p(np.exp(-1))])
    gradient = wg.grad(wg.cross_entropy)(logits, targets)
    p = np.exp(-1) / (1 + np.exp(-1))
    np.testing.assert_allclose(
        3 * gradient, [[1, -1, 0], [0, -p, p], [p, 0, -p]], rtol=1e-12, atol=1e-15
    )


def test_cross_entropy_of_dense_targets_ignores_classes_of_probability_zero():
    logits = np.array([[0.0, -np.inf, 1.0]])
    targets = np.array([[0.25, 0.0, 0.75]])
    value, gradient = wg.value_and_grad(wg.cross_entropy)(logits, targets)
    assert np.isfinite(value)
    p = 1 / (1 + np.e)
    np.testing.assert_allclose(gradient, [[p - 0.25, 0, 0.25 - p]], rtol=1e-12)


def test_indices_and_one_hot_targets_are_the_same_loss():
    logits, targets = RNG.normal(size=(4, 5, 3)), RNG.integers(0, 5, (4, 3))
    dense = np.moveaxis(np.eye(5)[targets], -1, 1)
    for params in ({}, {"label_smoothing": 0.2}, {"reduction": "none"}, {"reduction": "sum"}):
        found, expected = (
            wg.vjp(lambda x, t=t, p=params: wg.cross_entropy(x, t, axis=1, **p), logits)
            for t in (targets, dense)
        )
        np.testing.assert_allclose(found[0], expected[0])
        g = RNG.normal(size=found[0].shape)
        np.testing.assert_allclose(found[1](g), expected[1](g), atol=1e-15)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_class_that_does_not_exist_is_an_index_error(wrong):
    logits, targets = np.zeros((2, 3)), np.array([0, wrong])
    message = rf"cross_entropy: class {wrong} was given at position \(1,\) for logits of 3 classes"
    for smoothing in (0.0, 0.1):
        with pytest.raises(IndexError, match=message):
            wg.cross_entropy(logits, targets, label_smoothing=smoothing)
    with pytest.raises(IndexError, match=message):
        wg.grad(wg.cross_entropy)(logits, targets)
    types = [ArrayType((2, 3), np.dtype(float)), ArrayType((2,), np.dtype(int))]
    with pytest.raises(IndexError, match=message):
        traced(wg.cross_entropy, *types)(logits, targets)
    for smoothing in (0.0, 0.1):  # where a compiler has replaced the node by its body
        params = {"axis": 1, "reduction": "mean", "label_smoothing": smoothing}
        with pytest.raises(IndexError):
            replay(composite_body(wg.cross_entropy, types, params), [logits, targets])


def test_bce_with_logits_is_exact_at_zero_and_far_away():
    x = np.array([0.0, 0.0, 100.0, -100.0, np.inf, -np.inf])
    targets = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    tail = np.exp(-100.0)
    found = wg.bce_with_logits(x, targets, reduction="none")
    np.testing.assert_allclose(found, [np.log(2), np.log(2), tail, tail, 0, 0], rtol=1e-12)
    gradient = wg.grad(lambda x: wg.bce_with_logits(x, targets, reduction="sum"))(x)
    np.testing.assert_allclose(gradient, [0.5, -0.5, -tail, tail, 0, 0], rtol=1e-12)


def test_huber_has_its_curvature_at_zero_and_does_not_overflow():
    target = np.zeros(3)
    curvature = wg.hessian(lambda x: wg.huber(x, target, reduction="sum"))(
        np.array([0.0, 0.5, 3.0])
    )
    assert curvature.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    with np.errstate(all="raise"):
        assert wg.huber(np.float32([1e30]), np.zeros(1, np.float32)) == np.float32(1e30)


def test_kl_div_of_a_distribution_with_zeros():
    log_q = np.log(np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]))
    p = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    expected = [0.5 * np.log(2), -np.log(0.1)]
    np.testing.assert_allclose(wg.kl_div(log_q, p, reduction="none"), expected)
    np.testing.assert_allclose(wg.kl_div(log_q, p), np.mean(expected))
    np.testing.assert_allclose(wg.grad(wg.kl_div)(log_q, p), -p / 2)
    by_p = wg.grad(wg.kl_div, argnums=1)(log_q, p)
    np.testing.assert_allclose(by_p[0, 1], (np.log(2) + 1) / 2)
    assert by_p[0, 2] == -np.inf


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_reductions(loss):
    x, y = wg.log_softmax(RNG.normal(size=(4, 5))), RNG.dirichlet(np.ones(5), 4)
    each = loss(x, y, reduction="none")
    np.testing.assert_allclose(loss(x, y, reduction="sum"), each.sum())
    np.testing.assert_allclose(loss(x, y), each.mean())
    found = loss(x.astype(np.float32), y.astype(np.float32))
    assert (found.dtype, found.shape) == (np.float32, ())


def test_integer_and_bool_targets_do_not_widen_a_loss():
    x = np.float32([0.5, -1.0])
    for targets in (np.array([1, 0]), np.array([True, False])):
        for loss in (wg.mse, wg.mae, wg.huber, wg.bce_with_logits):
            assert loss(x, targets).dtype == np.float32


# Dropout.


def test_dropout_without_a_generator_is_the_identity():
    x = RNG.normal(size=(3, 4))
    assert wg.dropout(x, 0.9) is x
    assert wg.dropout(x, 0.0, wg.random.Generator(wg.random.key(0))) is x


def test_dropout_keeps_the_mean_and_drops_the_gradient_with_the_element():
    key = wg.random.key(3)
    x = RNG.uniform(1, 2, 20_000)

    def drop(x):
        return wg.dropout(x, 0.25, wg.random.Generator(key))

    y = drop(x)
    assert abs((y == 0).mean() - 0.25) < 0.02
    assert abs(y.mean() / x.mean() - 1) < 0.02
    assert y.dtype == x.dtype
    np.testing.assert_allclose(wg.grad(lambda x: wg.sum(drop(x)))(x), y / x)


def test_two_dropouts_of_one_generator_differ():
    rng = wg.random.Generator(wg.random.key(0))
    x = np.ones(100)
    assert (wg.dropout(x, 0.5, rng) != wg.dropout(x, 0.5, rng)).any()


# Refusals.


REFUSED = {
    "mse: operands have shapes (3, 1) and (3,)": lambda x: wg.mse(x, np.ones(3)),
    "mse: reduction='avg' was given": lambda x: wg.mse(x, x, reduction="avg"),
    "huber: delta=0 was given": lambda x: wg.huber(x, x, delta=0),
    "huber: delta=nan was given": lambda x: wg.huber(x, x, delta=float("nan")),
    "cross_entropy: targets have dtype bool": lambda x: wg.cross_entropy(x, x > 0),
    "cross_entropy: logits have shape (3, 1)": lambda x: wg.cross_entropy(x, np.ones(3)),
    "cross_entropy: label_smoothing=2 was": lambda x: wg.cross_entropy(x, x, label_smoothing=2),
    "cross_entropy: axis 2 was given": lambda x: wg.cross_entropy(x, x, axis=2),
    "kl_div: p has dtype int64": lambda x: wg.kl_div(x, np.ones((3, 1), int)),
    "layer_norm: scale has shape (3,)": lambda x: wg.layer_norm(x, np.ones(3)),
    "layer_norm: shift has dtype int64": lambda x: wg.layer_norm(x, None, np.ones(1, int)),
    "layer_norm: eps=-1 was given": lambda x: wg.layer_norm(x, eps=-1),
    "batch_norm: scale has shape (3,)": lambda x: wg.batch_norm(x, np.ones(3)),
    "rms_norm: axis 5 was given": lambda x: wg.rms_norm(x, axis=5),
    "softmax: axis 2 was given": lambda x: wg.softmax(x, axis=2),
    "std: correction 'a' was given": lambda x: wg.std(x, correction="a"),
    "gelu: approximate='fast' was given": lambda x: wg.gelu(x, approximate="fast"),
    "elu: alpha='a' was given": lambda x: wg.elu(x, alpha="a"),
    "glu: given shape (3, 1)": lambda x: wg.glu(x),
    "dropout: rate=1 was given": lambda x: wg.dropout(x, 1),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals_are_worded_the_same_eagerly_and_traced(message):
    errors = []
    for call in (REFUSED[message], traced_call(REFUSED[message])):
        with pytest.raises((ValueError, TypeError)) as caught:
            call(np.ones((3, 1)))
        errors.append(caught.value)
    for error in errors:
        assert str(error).startswith(message)
        assert ";" in str(error)
        assert "." in str(error)
    assert type(errors[0]) is type(errors[1])


def traced_call(function):
    return lambda x: traced(function, ArrayType(x.shape, x.dtype))(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x @ [1.0, 2.0, 3.0]),
        lambda x: np.sum([1.0, 2.0, 3.0] @ x),
        lambda x: np.sum(x @ [[1.0, 0.5], [2.0, 0.0], [3.0, 1.0]]),
        lambda x: np.sum((1.0, 2.0, 3.0) @ x),
        lambda x: np.sum(x * [1.0, 2.0, 3.0] + (1.0, 2.0, 3.0) - x / [1.0, 2.0, 4.0]),
        lambda x: np.sum([1.0, 2.0, 3.0] ** x) + np.matmul([1.0, 2.0, 3.0], x),
    ],
)
def test_lists_are_operands_of_operators(f):
    x = np.array([0.5, 2.0, 1.5])
    expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    for gradient in (wg.grad(f), wg.compile(wg.grad(f)), lambda x: wg.jacobian(f)(x)):
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-7)
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-14)
